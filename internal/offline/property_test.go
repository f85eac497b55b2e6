// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/publish"
	"remit.dev/remit/internal/publish/publishtest"
)

// casesVariable sets how many Specs are generated, and firstVariable the number
// of the first, which is the seed that a failure names.
const (
	casesVariable = "REMIT_PROPERTY_CASES"
	firstVariable = "REMIT_PROPERTY_FIRST"
	defaultCases  = 500
)

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// C2, C5 to C12, P2 to P5: however a Spec is written its hash is the same, and
// with any one change in what it means its hash is another.
func TestHashIsOfTheMeaning(t *testing.T) {
	properties, err := offline.NewChecker(sets.New(publishtest.Function))
	if err != nil {
		t.Fatal(err)
	}
	first := number(t, firstVariable, 1)
	last := first + number(t, casesVariable, defaultCases)
	var next, failed atomic.Uint64
	next.Store(first)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < last && failed.Load() == 0; seed = next.Add(1) - 1 {
				if err := hashesByMeaning(t, properties, seed); err != nil {
					failed.Store(seed)
					t.Errorf("Spec %d (run it alone with %s=%d %s=1): %v", seed, firstVariable, seed, casesVariable, err)
				}
			}
		})
	}
	workers.Wait()
}

func hashesByMeaning(t *testing.T, c *offline.Checker, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	agent := publishtest.New(r)
	texts := [][]byte{agent.JSON(r, "a"), agent.Rewrite(r).YAML(r, "b"), agent.Change(r).YAML(r, "a")}
	if seed%2 == 0 {
		texts = [][]byte{agent.YAML(r, "a"), agent.Rewrite(r).JSON(r, "b"), agent.Change(r).JSON(r, "a")}
	}
	var hashes []v1alpha1.Digest
	for _, text := range texts {
		hash, err := hashOf(t, c, text)
		if err != nil {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		hashes = append(hashes, hash)
	}
	if hashes[0] != hashes[1] {
		return fmt.Errorf("%s and %s for one meaning:\n%s\n\n%s", hashes[0], hashes[1], texts[0], texts[1])
	}
	if hashes[0] == hashes[2] {
		return fmt.Errorf("%s for two meanings:\n%s\n\n%s", hashes[0], texts[0], texts[2])
	}
	return nil
}

func hashOf(t *testing.T, c *offline.Checker, text []byte) (v1alpha1.Digest, error) {
	report := c.Check(t.Context(), offline.Source{Name: "spec", Content: text})
	if err := report.Err(); err != nil {
		return "", err
	}
	if len(report.Objects) != 1 || report.Objects[0].Hash == "" {
		return "", fmt.Errorf("no hash: %v", lines(report.Objects))
	}
	return report.Objects[0].Hash, nil
}

// C7: the defaults that publication fills in are those of the CRD.
func TestDefaultsAreThoseOfTheCRD(t *testing.T) {
	const spec = `instructions: You help.
models: [{grant: openai, model: gpt}]
sandbox: {enabled: true}
tools:
- {name: sum, kind: Code, code: {source: "def main(): pass"}}
schedules:
- {name: daily, cron: 0 9 * * *}
`
	var bare v1alpha1.AgentSpec
	if err := yaml.UnmarshalStrict([]byte(spec), &bare); err != nil {
		t.Fatal(err)
	}
	result, findings := publish.Publish(bare, sets.New[string]())
	if publish.Refused(findings) {
		t.Fatal(findings)
	}
	defaulted := check(t, "apiVersion: remit.dev/v1alpha1\nkind: Spec\nmetadata: {name: a}\nspec:\n  "+strings.ReplaceAll(spec, "\n", "\n  "))[0]
	if diff := cmp.Diff(string(defaulted.Body), string(result.Body)); diff != "" {
		t.Errorf("without an API server (-CRD +publication):\n%s", diff)
	}
}
