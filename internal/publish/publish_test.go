// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/publish"
)

func publishAgent(spec agent) (publish.Result, []finding) { return published(spec) }

func TestPublish(t *testing.T) {
	spec := minimal(func(a *agent) {
		a.Instructions = "Hi.  \r\nThere.\r\n\r\n"
		a.Tools = []v1alpha1.Tool{httpTool("refund", "POST"), httpTool("find", "GET")}
		a.Limits.Deadline = metav1.Duration{Duration: 90 * time.Minute}
	})
	before := spec.DeepCopy()
	result, findings := publishAgent(spec)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	// Keys and sets are sorted, defaults are there, line endings are not.
	want := `{"instructions":"Hi.  \nThere.","limits":{"deadline":"1h30m0s","failureStreak":5,"steps":32},` +
		`"models":[{"grant":"openai","model":"gpt"}],"tools":[` +
		`{"attempts":1,"http":{"grant":"shop","method":"GET","url":"https://shop.example/orders"},"kind":"HTTP","name":"find","timeout":"30s"},` +
		`{"attempts":1,"http":{"grant":"shop","method":"POST","url":"https://shop.example/orders"},"kind":"HTTP","name":"refund","timeout":"30s"}]}`
	if diff := cmp.Diff(want, string(result.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	digest := canonical.Hash(canonical.VersionDomain, []byte(want)).String()
	if string(result.Hash) != digest || result.Name != "v-"+strings.TrimPrefix(digest, "sha256:")[:20] {
		t.Errorf("hash %s and name %s, want those of %s", result.Hash, result.Name, digest)
	}
	if diff := cmp.Diff(before, &spec); diff != "" {
		t.Errorf("Publish changed its argument:\n%s", diff)
	}
}

// The body of a Version published again is the same Version (C1).
func TestPublishIsAFixedPoint(t *testing.T) {
	spec := minimal(func(a *agent) {
		a.Tools = []v1alpha1.Tool{httpTool("refund", "POST"), httpTool("find", "GET")}
		a.Tools[0].InputSchema = raw(`{"type": "object", "default": {"b": 1.0, "a": null}}`)
		a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: "0 9 * * *"}}
	})
	first, findings := publishAgent(spec)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	second, findings := publishAgent(decode(t, first.Body))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("second Version (-first +second):\n%s", diff)
	}
}

func TestTooLargeForAVersion(t *testing.T) {
	spec := minimal(func(a *agent) {
		for i := range 32 {
			body := strings.Repeat("x", 32768)
			a.Skills = append(a.Skills, skill(v1alpha1.Slug("s"+string(rune('a'+i%26))+string(rune('a'+i/26))), body))
		}
	})
	_, findings := publishAgent(spec)
	if len(findings) != 1 || findings[0].Rule != "too_large" || findings[0].Path != "spec" ||
		!strings.HasSuffix(findings[0].Message, "a Version holds 1048576 at most: shorten the texts or split the agent") {
		t.Errorf("findings: %v", findings)
	}
	spec.Builtins = []v1alpha1.Builtin{"run_code"}
	if _, both := publishAgent(spec); len(both) != 2 || both[0].Rule != "too_large" || both[1].Rule != "sandbox_disabled" {
		t.Errorf("findings with another one: %v", both)
	}
}

func TestInvalidText(t *testing.T) {
	_, findings := publishAgent(minimal(func(a *agent) { a.Models[0].Model = "gpt\xff" }))
	if len(findings) != 1 || findings[0].Rule != "not_canonical" || findings[0].Path != "spec.models[0].model" {
		t.Errorf("findings: %v", findings)
	}
}

// zones.txt lists what the Go distribution knows: regenerate it with go generate.
func TestTimeZonesAreThoseOfTheDatabase(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, file := range archive.File {
		name := file.Name
		if strings.HasSuffix(name, "/") || name == "Factory" {
			continue
		}
		_, findings := publishAgent(minimal(func(a *agent) {
			a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: "0 9 * * *", TimeZone: name}}
		}))
		if len(findings) > 0 {
			t.Errorf("%s: %v", name, findings)
		}
	}
}
