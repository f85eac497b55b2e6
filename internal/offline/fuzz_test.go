// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

// Whatever the input, it is refused or read, each time in the same way; and what has
// a hash has the same one when its canonical form is read again (C1, C2).
func FuzzCheck(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte(rich))
	f.Fuzz(func(t *testing.T, text []byte) {
		report := checker.Check(t.Context(), offline.Source{Name: "fuzz", Content: text})
		again := checker.Check(t.Context(), offline.Source{Name: "fuzz", Content: text})
		if diff := cmp.Diff(asJSON(t, report), asJSON(t, again)); diff != "" {
			t.Fatalf("two reports on one text (-first +second):\n%s", diff)
		}
		for _, o := range report.Objects {
			if o.Hash == "" {
				continue
			}
			body := `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"again"},"spec":` + string(o.Body) + `}`
			second := checker.Check(t.Context(), offline.Source{Name: "again", Content: []byte(body)})
			if len(second.Objects) != 1 {
				t.Fatalf("%s cannot be read: %v", body, second.Err())
			}
			if got := second.Objects[0].Hash; got != o.Hash {
				t.Fatalf("%s for what was %s: %v\n%s", got, o.Hash, lines(second.Objects), body)
			}
		}
	})
}

func asJSON(t *testing.T, report *offline.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
