// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What people are shown of arguments is the JSON that is sent, and nothing in it hides or turns around.
func TestShownArguments(t *testing.T) {
	for name, test := range map[string]struct{ given, want string }{
		"nothing":                   {"", "{}"},
		"blanks":                    {" \n", "{}"},
		"a mark of direction":       {"{\"to\":\"a\u202Eb\"}", "{\n  \"to\": \"a\\u202eb\"\n}"},
		"a line separator":          {"{\"to\":\"a\u2028b\"}", "{\n  \"to\": \"a\\u2028b\"\n}"},
		"a byte order mark":         {"{\"to\":\"\uFEFFb\"}", "{\n  \"to\": \"\\ufeffb\"\n}"},
		"a tag beyond 16 bits":      {"{\"to\":\"a\U000E0041\"}", "{\n  \"to\": \"a\\udb40\\udc41\"\n}"},
		"a C1 control":              {"{\"to\":\"a\u009bb\"}", "{\n  \"to\": \"a\\u009bb\"\n}"},
		"letters of every script":   {"{\"to\":\"Grüße, 世界 😀\"}", "{\n  \"to\": \"Grüße, 世界 😀\"\n}"},
		"a control that is escaped": {"{\"to\":\"a\\u001bb\"}", "{\n  \"to\": \"a\\u001bb\"\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := ReadArguments(test.given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, read.Indented); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var sent, shown any
			if err := json.Unmarshal(read.JSON, &sent); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(read.Indented), &shown); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sent, shown); diff != "" {
				t.Errorf("it shows something else than is sent (-sent +shown):\n%s", diff)
			}
		})
	}
}
