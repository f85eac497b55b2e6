// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// at is a finding as the tables write it: its rule and its place.
type at struct{ Rule, Path string }

func placesOf(found []Finding) []at {
	var places []at
	for _, finding := range found {
		places = append(places, at{finding.Rule, finding.Path})
	}
	return places
}

// argument is a schema of one argument, which is required.
func argument(schema string) string {
	return `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
}

// withDefinitions adds $defs to a schema of one argument.
func withDefinitions(schema, definitions string) string {
	return strings.TrimSuffix(argument(schema), "}") + `,"$defs":` + definitions + `}`
}

// TestStrictCleanRules holds for each rule what breaks it and what does not (P29,
// J44 to J54).
func TestStrictCleanRules(t *testing.T) {
	const a = "/properties/a"
	closed := `{"type":"object","properties":{},"additionalProperties":false}`
	optional := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"additionalProperties":false}`
	}
	for name, test := range map[string]struct {
		schema string
		want   []at
	}{
		"J45 no arguments":                   {closed, nil},
		"J45 no properties":                  {`{"type":"object","additionalProperties":false}`, nil},
		"J45 the root is an array":           {`{"type":"array","items":{"type":"string"}}`, []at{{RuleRootNotObject, ""}}},
		"J45 the root has no type":           {`{"properties":{},"additionalProperties":false}`, []at{{RuleRootNotObject, ""}}},
		"J45 the root is several types":      {`{"type":["object"],"additionalProperties":false}`, []at{{RuleRootNotObject, ""}}},
		"J45 the root is true":               {`true`, []at{{RuleRootNotObject, ""}}},
		"J45 the root is null":               {`null`, []at{{RuleRootNotObject, ""}}},
		"J45 no JSON":                        {`{"type":"object"`, []at{{RuleRootNotObject, ""}}},
		"J45 nothing":                        {``, []at{{RuleRootNotObject, ""}}},
		"J45 two values":                     {closed + closed, []at{{RuleRootNotObject, ""}}},
		"J45 a key twice":                    {`{"type":"object","type":"object"}`, []at{{RuleRootNotObject, ""}}},
		"J45 a key twice, escaped":           {`{"type":"object","\u0074ype":"object"}`, []at{{RuleRootNotObject, ""}}},
		"J45 the root lacks it":              {`{"type":"object","properties":{}}`, []at{{RuleAdditionalProperties, ""}}},
		"J45 the root is open":               {`{"type":"object","additionalProperties":true}`, []at{{RuleAdditionalProperties, "/additionalProperties"}}},
		"J45 every object":                   {argument(`{"type":"object","properties":{}}`), []at{{RuleAdditionalProperties, a}}},
		"J45 an object by its properties":    {argument(`{"properties":{}}`), []at{{RuleAdditionalProperties, a}}},
		"J45 an object among types":          {argument(`{"type":["object","null"]}`), []at{{RuleAdditionalProperties, a}}},
		"J45 a closed object within":         {argument(closed), nil},
		"J53 a free-form dict":               {argument(`{"type":"object","additionalProperties":{"type":"string"}}`), []at{{RuleAdditionalProperties, a + "/additionalProperties"}}},
		"J45 what a dict holds is checked":   {argument(`{"type":"object","additionalProperties":{"type":"string","title":"A"}}`), []at{{RuleAdditionalProperties, a + "/additionalProperties"}, {RuleKeyword, a + "/additionalProperties/title"}}},
		"J45 an object in an array":          {argument(`{"type":"array","items":{"type":"object"}}`), []at{{RuleAdditionalProperties, a + "/items"}}},
		"J45 an object in anyOf":             {argument(`{"anyOf":[{"type":"string"},{"type":"object"}]}`), []at{{RuleAdditionalProperties, a + "/anyOf/1"}}},
		"J45 an object that is never used":   {withDefinitions(`{"type":"string"}`, `{"D":{"type":"object"}}`), []at{{RuleAdditionalProperties, "/$defs/D"}}},
		"J45 a property named like keywords": {argument(`{"type":"object","properties":{"title":{"type":"string"},"pattern":{"type":"string"}},"required":["title","pattern"],"additionalProperties":false}`), nil},

		"J46 all keywords": {withDefinitions(`{"description":"A","anyOf":[{"type":"array","items":{"$ref":"#/$defs/D"},"minItems":1},{"allOf":[{"type":"string","format":"uuid"}]},{"const":{"k":[1]}},{"enum":["x",1]}],"default":{"k":1}}`,
			`{"D":{"type":"string"}}`), nil},
		"J47 title":                      {argument(`{"type":"string","title":"A"}`), []at{{RuleKeyword, a + "/title"}}},
		"J47 title at the root":          {`{"type":"object","title":"T","additionalProperties":false}`, []at{{RuleKeyword, "/title"}}},
		"J47 an x- key":                  {argument(`{"type":"string","x-sensitivity":"secret"}`), []at{{RuleKeyword, a + "/x-sensitivity"}}},
		"J47 minimum":                    {argument(`{"type":"integer","minimum":1}`), []at{{RuleKeyword, a + "/minimum"}}},
		"J47 maximum":                    {argument(`{"type":"integer","maximum":1}`), []at{{RuleKeyword, a + "/maximum"}}},
		"J47 minLength":                  {argument(`{"type":"string","minLength":1}`), []at{{RuleKeyword, a + "/minLength"}}},
		"J47 maxLength":                  {argument(`{"type":"string","maxLength":1}`), []at{{RuleKeyword, a + "/maxLength"}}},
		"J47 J54 pattern":                {argument(`{"type":"string","format":"date-time","pattern":"^x$"}`), []at{{RuleKeyword, a + "/pattern"}}},
		"J54 a format alone":             {argument(`{"type":"string","format":"date-time"}`), nil},
		"J47 oneOf":                      {argument(`{"oneOf":[{"type":"string","title":"not looked at"}]}`), []at{{RuleKeyword, a + "/oneOf"}}},
		"J46 $schema":                    {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}`, []at{{RuleKeyword, "/$schema"}}},
		"J46 a keyword as in a pointer":  {argument(`{"type":"string","x/~y":1}`), []at{{RuleKeyword, a + "/x~1~0y"}}},
		"J46 properties is a list":       {`{"type":"object","properties":[],"additionalProperties":false}`, []at{{RuleKeyword, "/properties"}}},
		"J46 $defs is a list":            {`{"type":"object","$defs":[],"additionalProperties":false}`, []at{{RuleKeyword, "/$defs"}}},
		"J46 required is a name":         {`{"type":"object","required":"a","additionalProperties":false}`, []at{{RuleKeyword, "/required"}}},
		"J46 required holds a number":    {`{"type":"object","required":[1],"additionalProperties":false}`, []at{{RuleKeyword, "/required"}}},
		"J46 anyOf is empty":             {argument(`{"anyOf":[]}`), []at{{RuleKeyword, a + "/anyOf"}}},
		"J46 allOf is an object":         {argument(`{"allOf":{}}`), []at{{RuleKeyword, a + "/allOf"}}},
		"J46 the description is no text": {argument(`{"type":"string","description":1}`), []at{{RuleKeyword, a + "/description"}}},

		"J48 an unknown type":         {argument(`{"type":"tuple"}`), []at{{RuleType, a + "/type"}}},
		"J48 each of several types":   {argument(`{"type":["string","any"]}`), []at{{RuleType, a + "/type"}}},
		"J48 several known types":     {argument(`{"type":["string","null"]}`), nil},
		"J48 no types":                {argument(`{"type":[]}`), []at{{RuleType, a + "/type"}}},
		"J48 a type that is a number": {argument(`{"type":1}`), []at{{RuleType, a + "/type"}}},
		"J48 any value at all":        {argument(`true`), []at{{RuleType, a}}},
		"J48 items of a tuple":        {argument(`{"type":"array","items":[{"type":"string"}]}`), []at{{RuleType, a + "/items"}}},
		"J48 every type": {argument(`{"anyOf":[` + closed + `,{"type":"array","items":{"type":"string"}},{"type":"string"},{"type":"integer"},
			{"type":"number"},{"type":"boolean"},{"type":"null"}]}`), nil},

		"J49 the form":                    {optional(`{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`), nil},
		"J49 the form, null first":        {optional(`{"anyOf":[{"type":"null"},{"type":"string"}],"default":null}`), nil},
		"J49 the form, of a union":        {optional(`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}],"default":null}`), nil},
		"J49 a plain type":                {optional(`{"type":"string"}`), []at{{RuleOptionalField, a}}},
		"J49 a list of types":             {optional(`{"type":["string","null"],"default":null}`), []at{{RuleOptionalField, a}}},
		"J49 no default":                  {optional(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), []at{{RuleOptionalField, a}}},
		"J49 another default":             {optional(`{"anyOf":[{"type":"string"},{"type":"null"}],"default":"x"}`), []at{{RuleOptionalField, a}}},
		"J49 a default of a plain type":   {optional(`{"type":"integer","default":10}`), []at{{RuleOptionalField, a}}},
		"J49 no null":                     {optional(`{"anyOf":[{"type":"string"},{"type":"integer"}],"default":null}`), []at{{RuleOptionalField, a}}},
		"J49 null alone":                  {optional(`{"anyOf":[{"type":"null"}],"default":null}`), []at{{RuleOptionalField, a}}},
		"J49 the form, yet required":      {argument(`{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`), []at{{RuleOptionalField, a}}},
		"J49 required, and may be null":   {argument(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), nil},
		"J49 of an object within":         {argument(`{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":false}`), []at{{RuleOptionalField, a + "/properties/b"}}},
		"J49 a required name that is not": {`{"type":"object","properties":{},"required":["b"],"additionalProperties":false}`, nil},

		"J50 an unknown format":             {argument(`{"type":"string","format":"ip"}`), []at{{RuleFormat, a + "/format"}}},
		"J50 K17 a kind is no format":       {argument(`{"type":"string","format":"fqdn"}`), []at{{RuleFormat, a + "/format"}}},
		"J50 a format that is no text":      {argument(`{"type":"string","format":1}`), []at{{RuleFormat, a + "/format"}}},
		"J51 minItems 0":                    {argument(`{"type":"array","items":{"type":"string"},"minItems":0}`), nil},
		"J51 minItems 1":                    {argument(`{"type":"array","items":{"type":"string"},"minItems":1}`), nil},
		"J51 minItems 1.0":                  {argument(`{"type":"array","items":{"type":"string"},"minItems":1.0}`), nil},
		"J51 minItems 2":                    {argument(`{"type":"array","items":{"type":"string"},"minItems":2}`), []at{{RuleMinItems, a + "/minItems"}}},
		"J51 minItems barely above 1":       {argument(`{"type":"array","minItems":1.00000000000000000000000001}`), []at{{RuleMinItems, a + "/minItems"}}},
		"J51 minItems beyond float64":       {argument(`{"type":"array","minItems":1e400}`), []at{{RuleMinItems, a + "/minItems"}}},
		"J51 minItems is text":              {argument(`{"type":"array","minItems":"1"}`), []at{{RuleMinItems, a + "/minItems"}}},
		"J51 primitive values":              {argument(`{"enum":["x",1,1.5,true,null,123456789012345678901234567890]}`), nil},
		"J51 an object as a value":          {argument(`{"enum":["x",{"k":1},[2]]}`), []at{{RuleEnumValue, a + "/enum/1"}, {RuleEnumValue, a + "/enum/2"}}},
		"J51 an enum that is no list":       {argument(`{"enum":"x"}`), []at{{RuleEnumValue, a + "/enum"}}},
		"J52 a $ref to $defs":               {withDefinitions(`{"$ref":"#/$defs/D"}`, `{"D":{"type":"string"}}`), nil},
		"J52 an escaped name":               {withDefinitions(`{"$ref":"#/$defs/a~1b%20~0c"}`, `{"a/b ~c":{"type":"string"}}`), nil},
		"J52 K14 a table":                   {withDefinitions(`{"$ref":"#/$defs/TabularEnvelope"}`, `{"TabularEnvelope":`+closed+`}`), nil},
		"J52 a $ref to nothing":             {withDefinitions(`{"$ref":"#/$defs/E"}`, `{"D":{"type":"string"}}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 a $ref to the root":            {argument(`{"$ref":"#"}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 a $ref into a definition":      {withDefinitions(`{"$ref":"#/$defs/D/items"}`, `{"D":{"type":"array","items":{"type":"string"}}}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 a $ref to a property":          {`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}},"required":["a","b"],"additionalProperties":false}`, []at{{RuleRefTarget, "/properties/b/$ref"}}},
		"J52 a $ref to a file":              {argument(`{"$ref":"file:///etc/passwd"}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 a $ref to old definitions":     {argument(`{"$ref":"#/definitions/D"}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 a $ref that is no text":        {argument(`{"$ref":{}}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 $defs that are not the root's": {argument(`{"$ref":"#/$defs/D","$defs":{"D":{"type":"string"}}}`), []at{{RuleRefTarget, a + "/$ref"}}},
		"J52 allOf":                         {argument(`{"allOf":[{"type":"string"},{"description":"A"}]}`), nil},
		"J52 a $ref in allOf":               {withDefinitions(`{"allOf":[{"$ref":"#/$defs/D"}]}`, `{"D":{"type":"string"}}`), []at{{RuleRefInAllOf, a + "/allOf/0/$ref"}}},
		"J52 a $ref deep in allOf":          {withDefinitions(`{"allOf":[{"type":"array","items":{"$ref":"#/$defs/D"}}]}`, `{"D":{"type":"string"}}`), []at{{RuleRefInAllOf, a + "/allOf/0/items/$ref"}}},
		"J52 it contains itself": {withDefinitions(`{"$ref":"#/$defs/N"}`,
			`{"N":{"type":"array","items":{"$ref":"#/$defs/N"}}}`), []at{{RuleRefRecursive, "/$defs/N/items/$ref"}}},
		"J52 two contain each other": {withDefinitions(`{"$ref":"#/$defs/A"}`,
			`{"A":{"type":"array","items":{"$ref":"#/$defs/B"}},"B":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/C"}]},"C":{"type":"string"}}`),
			[]at{{RuleRefRecursive, "/$defs/A/items/$ref"}, {RuleRefRecursive, "/$defs/B/anyOf/0/$ref"}}},
		"J52 one is used twice": {withDefinitions(`{"$ref":"#/$defs/A"}`,
			`{"A":{"anyOf":[{"$ref":"#/$defs/B"},{"$ref":"#/$defs/C"}]},"B":{"$ref":"#/$defs/D"},"C":{"$ref":"#/$defs/D"},"D":{"type":"string"}}`), nil},
		"J52 a cycle that nothing uses": {withDefinitions(`{"type":"string"}`, `{"A":{"$ref":"#/$defs/A"}}`), []at{{RuleRefRecursive, "/$defs/A/$ref"}}},
		"J44 in the order of names, whatever theirs": {
			`{"properties":{"z":{"type":"tuple"},"b":{"type":"string","pattern":"","minLength":1}},"additionalProperties":false,"required":["z","b"],"title":"T","type":"object"}`,
			[]at{{RuleKeyword, "/title"}, {RuleKeyword, "/properties/b/minLength"}, {RuleKeyword, "/properties/b/pattern"}, {RuleType, "/properties/z/type"}}},
	} {
		t.Run(name, func(t *testing.T) {
			found := StrictClean(json.RawMessage(test.schema))
			if diff := cmp.Diff(test.want, placesOf(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, finding := range found {
				if finding.Message == "" || finding.Tool != "" {
					t.Errorf("want a message and no tool: %+v", finding)
				}
			}
		})
	}
}

// TestStrictCleanIsBounded: hostile schemas cost no more than reading them, and
// end in one finding, or in a last one that counts the rest.
func TestStrictCleanIsBounded(t *testing.T) {
	nested := func(depth int, opening, closing string) string {
		return argument(strings.Repeat(opening, depth) + `{"type":"string"}` + strings.Repeat(closing, depth))
	}
	chain := func(length int) string {
		var definitions strings.Builder
		for i := range length {
			fmt.Fprintf(&definitions, `"%d":{"$ref":"#/$defs/%d"},`, i, (i+1)%length)
		}
		return withDefinitions(`{"$ref":"#/$defs/0"}`, "{"+strings.TrimSuffix(definitions.String(), ",")+"}")
	}
	wide := strings.TrimSuffix(strings.Repeat(`{"type":"x"},`, 15_000), ",")
	for name, test := range map[string]struct {
		schema string
		count  int
		last   string
	}{
		"as deep as it may be":     {nested((MaxSchemaDepth-3)/2, `{"anyOf":[`, `]}`), 0, ""},
		"deeper":                   {nested(MaxSchemaDepth, `{"items":`, `}`), 1, RuleRootNotObject},
		"very deep":                {nested(20_000, `{"anyOf":[`, `]}`), 1, RuleRootNotObject},
		"very deep and unclosed":   {strings.Repeat(`[`, MaxSchemaBytes), 1, RuleRootNotObject},
		"longer than what is read": {argument(`{"type":"string","description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`), 1, RuleRootNotObject},
		"a long cycle":             {chain(6000), MaxSchemaFindings, RuleMoreFindings},
		"many findings":            {argument(`{"anyOf":[` + wide + `]}`), MaxSchemaFindings, RuleMoreFindings},
	} {
		t.Run(name, func(t *testing.T) {
			found := StrictClean(json.RawMessage(test.schema))
			if len(found) != test.count {
				t.Fatalf("got %d findings, want %d, of which the first is %+v", len(found), test.count, found[:min(1, len(found))])
			}
			if test.count > 0 && found[test.count-1].Rule != test.last {
				t.Errorf("the last finding is %+v", found[test.count-1])
			}
		})
	}
	t.Run("it says how many more", func(t *testing.T) {
		found := StrictClean(json.RawMessage(argument(`{"anyOf":[` + wide + `]}`)))
		if got, want := found[len(found)-1].Message, "14001 more findings are not shown: correct these first"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("long names", func(t *testing.T) {
		key := strings.Repeat("k", 100_000)
		found := StrictClean(json.RawMessage(`{"type":"object","properties":{"` + key + `":{"type":"x"}},"required":["` + key + `"],"additionalProperties":false}`))
		want := []at{{RuleType, "/properties"}}
		if diff := cmp.Diff(want, placesOf(found)); diff != "" {
			t.Errorf("a pointer that is too long ends at a place around it (-want +got):\n%s", diff)
		}
	})
}

// schemaText draws JSON that resembles a schema, some of it strict-clean.
func schemaText(t *rapid.T) string {
	scalar := rapid.SampledFrom([]string{`"string"`, `"object"`, `"null"`, `1`, `2`, `true`, `false`, `null`, `"#/$defs/A"`, `"#/$defs/B"`, `"date"`, `1e400`})
	key := rapid.SampledFrom([]string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf",
		"$ref", "$defs", "default", "description", "format", "minItems", "title", "oneOf", "A", "B"})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		if depth == 0 {
			return scalar
		}
		return rapid.Custom(func(t *rapid.T) string {
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				return scalar.Draw(t, "scalar")
			case 1:
				return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "elements"), ",") + "]"
			default:
				var members []string
				for _, name := range rapid.SliceOfNDistinct(key, 0, 4, rapid.ID[string]).Draw(t, "keys") {
					members = append(members, fmt.Sprintf("%q:%s", name, value(depth-1).Draw(t, "value")))
				}
				return "{" + strings.Join(members, ",") + "}"
			}
		})
	}
	return value(5).Draw(t, "schema")
}

// TestStrictCleanOnlyReads (J44): the schema is as it was, and the answer is too.
func TestStrictCleanOnlyReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := schemaText(t)
		given := json.RawMessage(text)
		first, second := StrictClean(given), StrictClean(given)
		if string(given) != text {
			t.Fatalf("%s became %s", text, given)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("two answers about %s (-first +second):\n%s", text, diff)
		}
	})
}

// TestStrictCleanIgnoresOrder: the order of keys is no matter of a schema.
func TestStrictCleanIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := parseNode([]byte(schemaText(t)))
		if err != nil {
			t.Fatal(err)
		}
		before := StrictClean(root.appendJSON(nil))
		reverse(root)
		if diff := cmp.Diff(before, StrictClean(root.appendJSON(nil))); diff != "" {
			t.Fatalf("%s (-before +after):\n%s", root.appendJSON(nil), diff)
		}
	})
}

func reverse(n *node) {
	for i, j := 0, len(n.members)-1; i < j; i, j = i+1, j-1 {
		n.members[i], n.members[j] = n.members[j], n.members[i]
	}
	for _, m := range n.members {
		reverse(m.value)
	}
	for _, element := range n.elements {
		reverse(element)
	}
}

// FuzzStrictClean: whatever is sent, the answer ends, is bounded, and points into
// the schema.
func FuzzStrictClean(f *testing.F) {
	f.Fuzz(func(t *testing.T, schema []byte) {
		text := string(schema)
		found := StrictClean(schema)
		if string(schema) != text {
			t.Fatal("the schema was changed")
		}
		if len(found) > MaxSchemaFindings {
			t.Fatalf("%d findings", len(found))
		}
		root, err := parseNode(schema)
		if (err != nil) != (len(found) == 1 && strings.HasPrefix(found[0].Message, "the schema cannot be read")) {
			t.Fatalf("%v, and %+v", err, found)
		}
		for _, finding := range found {
			if len(finding.Path) > 2*maxPointerBytes || len(finding.Message) > 1024 {
				t.Fatalf("a finding of %d and %d bytes", len(finding.Path), len(finding.Message))
			}
			if root != nil && !root.has(finding.Path) {
				t.Fatalf("%s points at nothing in %s", finding.Path, schema)
			}
		}
	})
}

// has says whether a JSON pointer points at something.
func (n *node) has(pointer string) bool {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			return true
		}
		switch name := pointerUnescapes.Replace(token); n.kind {
		case objectNode:
			n = n.member(name)
		case arrayNode:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(n.elements) {
				return false
			}
			n = n.elements[i]
		default:
			return false
		}
		if n == nil {
			return false
		}
	}
	return true
}
