// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fullTool(t testing.TB) *Tool {
	return makeTool(t, func(d *Definition) {
		no, yes := false, true
		d.Title, d.Target, d.Access, d.ResultKind = "All rows", "cluster", AccessRemote, ResultArtifact
		d.ReadOnlyHint, d.DestructiveHint, d.IdempotentHint = &no, &yes, &no
		d.Deprecated, d.Tags = true, []string{TagAdvanced, "network"}
		d.Meta = map[string]any{MetaAliasOf: "rows", MetaMinAPIVersion: "2.10", "size": json.Number("9007199254740993")}
		d.OutputSchema = json.RawMessage(`{"type":"object","properties":{"artifact":{"type":"object"}}}`)
	})
}

// TestToMCPTool (J8 to J16, J24): the keys are exact, and those that say nothing new
// are left out.
func TestToMCPTool(t *testing.T) {
	for name, test := range map[string]struct {
		tool *Tool
		want string
	}{
		"defaults": {makeTool(t, func(d *Definition) { d.Tags, d.OutputSchema = nil, nil }), `{
			"name":"list_rows","description":"Lists the rows of a table. It returns them in the order of their keys.",
			"inputSchema":` + noArguments + `,
			"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true},
			"_meta":{"com.opscogs.octools/spec_version":"1.3","com.opscogs.octools/access":"local","com.opscogs.octools/result_kind":"records",
				"com.opscogs.octools/deprecated":false,"com.opscogs.octools/meta":{}}}`},
		"everything": {fullTool(t), `{
			"name":"list_rows","title":"All rows","description":"Lists the rows of a table. It returns them in the order of their keys.",
			"inputSchema":` + noArguments + `,"outputSchema":{"type":"object","properties":{"artifact":{"type":"object"}}},
			"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false},
			"_meta":{"com.opscogs.octools/spec_version":"1.3","com.opscogs.octools/access":"remote","com.opscogs.octools/result_kind":"artifact",
				"com.opscogs.octools/deprecated":true,"com.opscogs.octools/target":"cluster","com.opscogs.octools/tags":["advanced","network"],
				"com.opscogs.octools/meta":{"alias_of":"rows","min_api_version":"2.10","size":9007199254740993}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(ToMCPTool(test.tool))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(compacted(t, test.want), compacted(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if name == "everything" && !strings.Contains(string(got), "9007199254740993") {
				t.Errorf("a number was rounded: %s", got)
			}
		})
	}
}

func TestToAnthropicTool(t *testing.T) {
	got, err := json.Marshal(ToAnthropicTool(fullTool(t)))
	want := `{"name":"list_rows","description":"Lists the rows of a table. It returns them in the order of their keys.","input_schema":` + noArguments + `}`
	if err != nil || string(got) != want {
		t.Errorf("J24: got %s and %v, want %s", got, err, want)
	}
}

// metaOf is the _meta of a tool as a client receives it.
func metaOf(t testing.TB, tool *Tool) map[string]json.RawMessage {
	t.Helper()
	text, err := json.Marshal(ToMCPTool(tool))
	if err != nil {
		t.Fatal(err)
	}
	var received struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(text, &received); err != nil {
		t.Fatal(err)
	}
	return received.Meta
}

// TestReadMetaReadsWhatWasWritten: a descriptor comes back as it was.
func TestReadMetaReadsWhatWasWritten(t *testing.T) {
	got, notices := ReadMeta(metaOf(t, fullTool(t)))
	want := Described{
		Present: true, SpecVersion: SpecVersion, Access: AccessRemote, ResultKind: ResultArtifact, Target: "cluster", Deprecated: true,
		Tags: []string{TagAdvanced, "network"},
		Meta: map[string]json.RawMessage{
			MetaAliasOf: json.RawMessage(`"rows"`), MetaMinAPIVersion: json.RawMessage(`"2.10"`), "size": json.RawMessage(`9007199254740993`)},
	}
	if diff := cmp.Diff(want, got); diff != "" || notices != nil {
		t.Errorf("(-want +got):\n%s%v", diff, notices)
	}
}

// TestReadMetaFallsBack (K70, K72, L1 to L3): what is absent, unknown, malformed or
// too much is read with caution, and the rest is read all the same.
func TestReadMetaFallsBack(t *testing.T) {
	const prefix = "com.opscogs.octools/"
	pointer := "/com.opscogs.octools~1"
	cautious := Described{Present: true, Access: AccessRemote, ResultKind: ResultRecords}
	with := func(change func(*Described)) Described {
		d := cautious
		change(&d)
		return d
	}
	many := `["` + strings.Repeat(`a","`, MaxTags) + `b"]`
	for name, test := range map[string]struct {
		meta    map[string]string
		want    Described
		notices []Notice
	}{
		"no _meta":          {nil, Described{Access: AccessRemote, ResultKind: ResultRecords}, nil},
		"somebody else's":   {map[string]string{"com.example/access": `"local"`, "access": `"local"`}, Described{Access: AccessRemote, ResultKind: ResultRecords}, nil},
		"L3 an unknown key": {map[string]string{prefix + "latency": `{"deep":[]}`, prefix + "access": `"local"`}, with(func(d *Described) { d.Access = AccessLocal }), nil},
		"K70 an unknown access": {map[string]string{prefix + "access": `"orbital"`, prefix + "target": `"cluster"`},
			with(func(d *Described) { d.Target = "cluster" }), []Notice{{pointer + "access", `"orbital"`, "remote"}}},
		"K70 an unknown kind": {map[string]string{prefix + "result_kind": `"stream"`, prefix + "access": `"local"`},
			with(func(d *Described) { d.Access = AccessLocal }), []Notice{{pointer + "result_kind", `"stream"`, "records"}}},
		"K70 words that are none": {map[string]string{prefix + "access": `["local"]`, prefix + "result_kind": `null`}, cautious,
			[]Notice{{pointer + "access", "an array", "remote"}, {pointer + "result_kind", "null", "records"}}},
		"a hint that is text":   {map[string]string{prefix + "deprecated": `"true"`}, cautious, []Notice{{pointer + "deprecated", "a string", "false"}}},
		"a target without end":  {map[string]string{prefix + "target": `"` + strings.Repeat("x", MaxTargetBytes) + `"`}, cautious, []Notice{{pointer + "target", "258 bytes, more than 256", "dropped"}}},
		"a word without end":    {map[string]string{prefix + "access": `"` + strings.Repeat("x", 100) + `"`}, cautious, []Notice{{pointer + "access", "102 bytes, more than 64", "remote"}}},
		"J29 tags":              {map[string]string{prefix + "tags": `["recommended","from_tomorrow"]`}, with(func(d *Described) { d.Tags = []string{"recommended", "from_tomorrow"} }), nil},
		"tags that are not all": {map[string]string{prefix + "tags": `["a",1," ","b"]`}, with(func(d *Described) { d.Tags = []string{"a", "b"} }), []Notice{{pointer + "tags/1", "a number", "dropped"}, {pointer + "tags/2", "a tag of 1 bytes", "dropped"}}},
		"tags that are a word":  {map[string]string{prefix + "tags": `"recommended"`}, cautious, []Notice{{pointer + "tags", "a string", "dropped"}}},
		"too many tags": {map[string]string{prefix + "tags": many}, with(func(d *Described) { d.Tags = strings.Split(strings.Repeat("a ", MaxTags-1)+"a", " ") }),
			[]Notice{{pointer + "tags", "more than 32 tags", "the rest dropped"}}},
		"facts that are a list":  {map[string]string{prefix + "meta": `[]`}, cautious, []Notice{{pointer + "meta", "an array", "dropped"}}},
		"facts with a key twice": {map[string]string{prefix + "meta": `{"alias_of":"a","alias_of":"b"}`}, cautious, []Notice{{pointer + "meta", "malformed", "dropped"}}},
		"facts without end":      {map[string]string{prefix + "meta": `{"a":"` + strings.Repeat("x", MaxMetaBytes) + `"}`}, cautious, []Notice{{pointer + "meta", "16392 bytes, more than 16384", "dropped"}}},
		"facts without depth":    {map[string]string{prefix + "meta": `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`}, cautious, []Notice{{pointer + "meta", "malformed", "dropped"}}},
		"no JSON at all":         {map[string]string{prefix + "access": `local`}, cautious, []Notice{{pointer + "access", "malformed", "remote"}}},
		"L1 a later minor":       {map[string]string{prefix + "spec_version": `"1.99"`, prefix + "access": `"local"`}, with(func(d *Described) { d.Access, d.SpecVersion = AccessLocal, "1.99" }), nil},
		"L1 another major": {map[string]string{prefix + "spec_version": `"2.0"`, prefix + "access": `"local"`}, with(func(d *Described) { d.SpecVersion = "2.0" }),
			[]Notice{{pointer + "spec_version", `"2.0"`, "another major: all at its fallbacks"}}},
		"L1 a version that is a number": {map[string]string{prefix + "spec_version": `1.3`, prefix + "access": `"local"`}, cautious,
			[]Notice{{pointer + "spec_version", "a number", "another major: all at its fallbacks"}}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := map[string]json.RawMessage{}
			for key, value := range test.meta {
				meta[key] = json.RawMessage(value)
			}
			got, notices := ReadMeta(meta)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notices, notices); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

// TestALaterMinorIsReadable (L2, L3, L4): a descriptor with additions of a later
// minor reads as it would without them.
func TestALaterMinorIsReadable(t *testing.T) {
	today := metaOf(t, fullTool(t))
	later := maps.Clone(today)
	later[MetaPrefix+"spec_version"] = json.RawMessage(`"1.4"`)
	for i := range 100 {
		later[fmt.Sprintf("%snew_%d", MetaPrefix, i)] = json.RawMessage(`{"any":["thing"]}`)
	}
	want, _ := ReadMeta(today)
	got, notices := ReadMeta(later)
	want.SpecVersion = "1.4"
	if diff := cmp.Diff(want, got); diff != "" || notices != nil {
		t.Errorf("(-want +got):\n%s%v", diff, notices)
	}
}
