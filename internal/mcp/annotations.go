package mcp

import (
	"bytes"
	"encoding/json"
)

// decodeAnnotations reads the annotations member of a tool, nil when there is none. A hint that is not a
// boolean counts as unset, so that a server cannot loosen by being sloppy, and never costs the tool.
func decodeAnnotations(raw json.RawMessage) Annotations {
	if isNull(raw) {
		return Annotations{}
	}
	a := Annotations{Present: true}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		a.Malformed = []string{"annotations"}
		return a
	}
	if title, ok := members["title"]; ok && !isNull(title) {
		if json.Unmarshal(title, &a.Title) != nil {
			a.Malformed = append(a.Malformed, "title")
		}
		a.Title = truncate(a.Title, MaxTitle)
	}
	for _, hint := range []struct {
		name string
		into **bool
	}{
		{"readOnlyHint", &a.ReadOnly},
		{"destructiveHint", &a.Destructive},
		{"idempotentHint", &a.Idempotent},
		{"openWorldHint", &a.OpenWorld},
	} {
		value, ok := members[hint.name]
		if !ok || isNull(value) {
			continue
		}
		var set bool
		if json.Unmarshal(value, &set) != nil {
			a.Malformed = append(a.Malformed, hint.name)
			continue
		}
		*hint.into = &set
	}
	return a
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}
