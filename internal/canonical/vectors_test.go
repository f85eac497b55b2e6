// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	kubernetesjson "sigs.k8s.io/json"

	"remit.dev/remit/api/v1alpha1"
)

// goldenVectors are computed apart from this package, by hack/vectors.
type goldenVectors struct {
	FreeForm  []goldenVector
	AgentSpec []goldenVector
	Numbers   []struct {
		Literal, Canonical string
		Rounded            bool
	}
	Refused []struct {
		Name  string
		Input string
		Bytes []byte `json:"base64"`
		Rule  Rule
		Path  *string
	}
}

type goldenVector struct {
	Name, Canonical, Digest, Version string
	Inputs                           []string
}

const vectorsFile = "testdata/vectors.json"

func readVectors(t testing.TB) goldenVectors {
	t.Helper()
	raw, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var vectors goldenVectors
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// TestVectorsAreCurrent reruns the script that computes the vectors.
func TestVectorsAreCurrent(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is needed to compute the golden vectors: ", err)
		}
		t.Skip("node is not installed: the golden vectors are not recomputed")
	}
	var stderr bytes.Buffer
	script := exec.CommandContext(t.Context(), node, "../../hack/vectors/vectors.mjs")
	script.Stderr = &stderr
	got, err := script.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what hack/vectors/vectors.mjs prints; run it again: %s", vectorsFile, cmp.Diff(string(want), string(got)))
	}
}

// C2, C5, C6, C9, C11, P3, P4, P5, P8.
func TestFreeFormVectors(t *testing.T) {
	vectors := readVectors(t).FreeForm
	if len(vectors) < 30 {
		t.Errorf("%d vectors, want at least 30", len(vectors))
	}
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			for _, input := range vector.Inputs {
				got, err := JSON([]byte(input))
				checkVector(t, vector, input, got, err)
			}
		})
	}
}

// C2, C5, C6, C9, C10, C11, C12, P2, P3, P4, P5, P8.
func TestAgentSpecVectors(t *testing.T) {
	vectors := readVectors(t).AgentSpec
	if len(vectors) < 30 {
		t.Errorf("%d vectors, want at least 30", len(vectors))
	}
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			for _, input := range vector.Inputs {
				var spec v1alpha1.AgentSpec
				if err := kubernetesjson.UnmarshalCaseSensitivePreserveInts([]byte(input), &spec); err != nil {
					t.Fatal(err)
				}
				if err := NormalizeTextFields(&spec); err != nil {
					t.Fatal(err)
				}
				got, err := Typed(&spec)
				checkVector(t, vector, input, got, err)
				again, err := JSON(got)
				checkVector(t, vector, string(got), again, err)
			}
		})
	}
}

func checkVector(t *testing.T, vector goldenVector, input string, got []byte, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", input, err)
		return
	}
	if diff := cmp.Diff(vector.Canonical, string(got)); diff != "" {
		t.Errorf("%s: canonical form (-want +got):\n%s", input, diff)
	}
	digest := Hash(VersionDomain, got)
	if digest.String() != vector.Digest || VersionName(digest) != vector.Version {
		t.Errorf("%s: got %s and %s, want %s and %s", input, digest, VersionName(digest), vector.Digest, vector.Version)
	}
}

// P4.
func TestNumberVectors(t *testing.T) {
	for _, vector := range readVectors(t).Numbers {
		t.Run(vector.Literal, func(t *testing.T) {
			got, err := JSON([]byte(vector.Literal))
			if err != nil || string(got) != vector.Canonical {
				t.Errorf("got %s, %v, want %s", got, err, vector.Canonical)
			}
			err = CheckText([]byte(vector.Literal))
			var rounded *Error
			if errors.As(err, &rounded) != vector.Rounded || vector.Rounded && rounded.Rule != RuleNumberRounded {
				t.Errorf("got %v, want rounded: %t", err, vector.Rounded)
			}
		})
	}
}

// C2.
func TestRefusedVectors(t *testing.T) {
	for _, vector := range readVectors(t).Refused {
		t.Run(vector.Name, func(t *testing.T) {
			input := vector.Bytes
			if input == nil {
				input = []byte(vector.Input)
			}
			got, err := JSON(input)
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("got %s, %v, want %s", got, err, vector.Rule)
			}
			if refusal.Rule != vector.Rule || vector.Path != nil && refusal.Path != *vector.Path {
				t.Errorf("got %s at %q, want %s at %q: %v", refusal.Rule, refusal.Path, vector.Rule, *vector.Path, err)
			}
		})
	}
}
