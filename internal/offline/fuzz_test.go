// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"errors"
	"testing"

	"remit.dev/remit/internal/offline"
)

// Whatever the input, it is refused or read; and what has a hash has the same one
// when its canonical form is read again (C1).
func FuzzCheck(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte(rich))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := checker.Check(t.Context(), offline.Source{Name: "fuzz", Content: text})
		if _, ok := errors.AsType[*offline.ReadError](err); err != nil && !ok {
			t.Fatalf("an error of another type: %v", err)
		}
		for _, o := range objects {
			if o.Hash == "" {
				continue
			}
			again := `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"again"},"spec":` + string(o.Body) + `}`
			second, err := checker.Check(t.Context(), offline.Source{Name: "again", Content: []byte(again)})
			if err != nil || len(second) != 1 {
				t.Fatalf("%s cannot be read: %v", again, err)
			}
			if second[0].Hash != o.Hash {
				t.Fatalf("%s for what was %s: %v\n%s", second[0].Hash, o.Hash, lines(second), again)
			}
		}
	})
}
