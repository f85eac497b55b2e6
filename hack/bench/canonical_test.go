// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// BenchmarkCanonical canonicalises and hashes a Spec, and marshals and hashes the
// same one with encoding/json, by turns, so that both see the same machine. The
// metric "ratio" is the time of the former by that of the latter.
func BenchmarkCanonical(b *testing.B) {
	for _, size := range []int{4 << 10, 256 << 10} {
		spec := agentSpec(b, size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				hashCanonical(b, spec)
				between := time.Now()
				hashMarshalled(b, spec)
				ours += between.Sub(start)
				theirs += time.Since(between)
			}
			b.ReportMetric(float64(ours)/float64(theirs), "ratio")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "canonical-ns/op")
			b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "marshal-ns/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCanonicalAllocations shows what one canonicalisation allocates.
func BenchmarkCanonicalAllocations(b *testing.B) {
	spec := agentSpec(b, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		hashCanonical(b, spec)
	}
}

func hashCanonical(b *testing.B, spec *v1alpha1.AgentSpec) canonical.Digest {
	b.Helper()
	body, err := canonical.Typed(spec)
	if err != nil {
		b.Fatal(err)
	}
	return canonical.Hash(canonical.VersionDomain, body)
}

func hashMarshalled(b *testing.B, spec *v1alpha1.AgentSpec) [sha256.Size]byte {
	b.Helper()
	body, err := json.Marshal(spec)
	if err != nil {
		b.Fatal(err)
	}
	return sha256.Sum256(body)
}

// agentSpec makes a Spec whose JSON has about size bytes: an agent with tools of
// the three kinds, grants, skills and subagents, its sets and schemas in no order.
func agentSpec(b *testing.B, size int) *v1alpha1.AgentSpec {
	b.Helper()
	spec := &v1alpha1.AgentSpec{
		Instructions: "You look after the incidents of one team.\n\n" + prose(size/16),
		Models: []v1alpha1.Model{
			{Grant: "primary", Model: "large", Parameters: freeJSON(`{"temperature": 0.20, "maxOutputTokens": 4096}`)},
			{Grant: "fallback", Model: "small"},
		},
		MCP: []v1alpha1.MCPGrant{{
			Grant:   "tickets",
			Tools:   []v1alpha1.ToolLiteral{"search", "read", "comment"},
			Enable:  []v1alpha1.AccessSelector{"@read-only", "comment"},
			Preload: []v1alpha1.AccessSelector{"search"},
		}},
		Builtins: []v1alpha1.Builtin{v1alpha1.BuiltinRunCode, v1alpha1.BuiltinAskUser},
		Sandbox:  v1alpha1.Sandbox{Enabled: true},
		Limits:   v1alpha1.Limits{Steps: 32, Deadline: metav1.Duration{Duration: time.Hour}, FailureStreak: 5},
	}
	for n := 999; marshalledSize(b, spec) < size; n-- {
		spec.Tools = append(spec.Tools, tools(n)...)
		if n%4 == 0 {
			spec.Skills = append(spec.Skills, v1alpha1.Skill{
				Name: v1alpha1.Slug(fmt.Sprintf("skill-%d", n)), Description: prose(100), Body: "# Skill\n\n" + prose(size/64),
			})
		}
	}
	return spec
}

func tools(n int) []v1alpha1.Tool {
	return []v1alpha1.Tool{{
		Name:        fmt.Sprintf("http_%d", n),
		Kind:        v1alpha1.ToolHTTP,
		Description: prose(120),
		InputSchema: schema(6),
		Idempotent:  new(true),
		Attempts:    3,
		Timeout:     metav1.Duration{Duration: 30 * time.Second},
		HTTP: &v1alpha1.HTTPTool{
			Grant: "api", Method: "POST", URL: "https://api.example.com/v1/incidents/{id}",
			Headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
			Body:    freeJSON(`{"text": "{text}", "labels": ["a", "b"], "id": "{id}"}`),
		},
	}, {
		Name:        fmt.Sprintf("code_%d", n),
		Kind:        v1alpha1.ToolCode,
		Description: prose(80),
		InputSchema: schema(3),
		Attempts:    1,
		Timeout:     metav1.Duration{Duration: time.Minute},
		Code:        &v1alpha1.CodeTool{Language: v1alpha1.CodeStarlark, Source: strings.Repeat("def run(x):\n\treturn x[\"n\"] + 1\n", 10)},
	}}
}

func schema(properties int) *apiextensionsv1.JSON {
	var b strings.Builder
	b.WriteString(`{"type": "object", "properties": {`)
	for i := range properties {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `"field%d": {"type": "string", "description": "What to look for, in words", "maxLength": %d}`, properties-i, 100*i)
	}
	b.WriteString(`}, "required": ["field2", "field1"], "additionalProperties": false}`)
	return freeJSON(b.String())
}

func freeJSON(raw string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(raw)} }

// prose gives at least n bytes of text with what text has in it.
func prose(n int) string {
	const paragraph = "Read the *newest* ticket first; don't guess.\nIf it says \"urgent\", page <on-call> – and wait.\n\n"
	return strings.TrimRight(strings.Repeat(paragraph, 1+n/len(paragraph)), "\n")
}

func marshalledSize(b *testing.B, spec *v1alpha1.AgentSpec) int {
	b.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		b.Fatal(err)
	}
	return len(raw)
}
