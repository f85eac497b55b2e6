// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseParameters(t *testing.T) {
	temperature, topP, tokens, seed := 0.5, 1.0, int64(9007199254740993), int64(-1)
	for name, test := range map[string]struct {
		text string
		want Parameters
		fail bool
	}{
		"all of them":             {text: `{"temperature":0.5,"topP":1,"maxOutputTokens":9007199254740993,"seed":-1}`, want: Parameters{&temperature, &topP, &tokens, &seed}},
		"none":                    {text: `{}`},
		"an unknown key":          {text: `{"temprature":0.5}`, fail: true},
		"a wrong type":            {text: `{"seed":"1"}`, fail: true},
		"a fraction of a token":   {text: `{"maxOutputTokens":1.5}`, fail: true},
		"text after the object":   {text: `{}{"seed":1}`, fail: true},
		"no object":               {text: `[]`, fail: true},
		"text that is not JSON":   {text: `{`, fail: true},
		"nothing at all":          {text: ``, fail: true},
		"a number beyond float64": {text: `{"temperature":1e400}`, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseParameters([]byte(test.text))
			if (err != nil) != test.fail {
				t.Fatalf("got error %v, want one: %v", err, test.fail)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
