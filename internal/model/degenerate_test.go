// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// distinct gives n characters in which no stretch repeats itself: consecutive code points.
func distinct(n int, from rune) string {
	var out strings.Builder
	for i := range n {
		out.WriteRune(from + rune(i))
	}
	return out.String()
}

func TestDegenerate(t *testing.T) {
	block20 := distinct(20, 'a')
	block19 := distinct(19, 'a')
	for _, tc := range []struct {
		name       string
		completion Completion
		want       string
	}{
		// I15: nothing at all.
		{"I15 empty stop", Completion{Finish: FinishStop}, "the reply has neither text nor tool calls"},
		{"I15 white space is no text", Completion{Text: " \n\t\u00a0", Finish: FinishStop}, "the reply has neither text nor tool calls"},
		{"I15 claims calls but has none", Completion{Finish: FinishToolCalls}, "the reply has neither text nor tool calls"},
		{"I15 refused without a word", Completion{Finish: FinishRefused}, "the reply has neither text nor tool calls"},
		{"I15 truncation explains it", Completion{Finish: FinishLength}, ""},
		{"I15 calls alone are enough", Completion{Calls: []ToolCall{{Name: "lookup"}}, Finish: FinishToolCalls}, ""},
		{"I15 text alone is enough", Completion{Text: "Yes.", Finish: FinishStop}, ""},

		// P9: 20 × 20 = 400 of 400 characters.
		{"P9 block of 20, 20 times", Completion{Text: strings.Repeat(block20, 20)}, "the reply repeats a block of 20 characters 20 times in a row, of 400 characters in all"},
		{"P9 one character short of 400", Completion{Text: strings.Repeat(block20, 19) + block20[:19]}, ""},
		{"P9 a length limit does not excuse it", Completion{Text: strings.Repeat(block20, 20), Finish: FinishLength}, "the reply repeats a block of 20 characters 20 times in a row, of 400 characters in all"},
		{"P9 calls do not excuse it", Completion{Text: strings.Repeat(block20, 20), Calls: []ToolCall{{Name: "a"}}}, "the reply repeats a block of 20 characters 20 times in a row, of 400 characters in all"},
		// 12 × 20 = 240 of 400 is 60 %; 11 × 20 = 220 of 400 is 55 %.
		{"P9 60 per cent at the start", Completion{Text: strings.Repeat(block20, 12) + distinct(160, '一')}, "the reply repeats a block of 20 characters 12 times in a row, of 400 characters in all"},
		{"P9 60 per cent at the end", Completion{Text: distinct(160, '一') + strings.Repeat(block20, 12)}, "the reply repeats a block of 20 characters 12 times in a row, of 400 characters in all"},
		{"P9 60 per cent in between", Completion{Text: distinct(80, '一') + strings.Repeat(block20, 12) + distinct(80, '丐')}, "the reply repeats a block of 20 characters 12 times in a row, of 400 characters in all"},
		{"P9 55 per cent", Completion{Text: strings.Repeat(block20, 11) + distinct(180, '一')}, ""},
		{"P9 240 of 401", Completion{Text: strings.Repeat(block20, 12) + distinct(161, '一')}, ""},
		// The rest of a copy does not count: 11 × 20 + 19 is 11 copies, 220 characters.
		{"P9 a copy that is not whole", Completion{Text: strings.Repeat(block20, 11) + block20[:19] + distinct(161, '一')}, ""},
		// A block of 19 twice is a block of 38: 7 × 38 = 266 of 400 is 66.5 %.
		{"P9 a shorter block is a longer one twice", Completion{Text: strings.Repeat(block19, 14) + distinct(134, '一')}, "the reply repeats a block of 38 characters 7 times in a row, of 400 characters in all"},
		{"P9 a single character for ever", Completion{Text: strings.Repeat("x", 400)}, "the reply repeats a block of 20 characters 20 times in a row, of 400 characters in all"},
		// Two copies are back to back: 2 × 200 of 400.
		{"P9 the whole reply twice", Completion{Text: distinct(200, '一') + distinct(200, '一')}, "the reply repeats a block of 200 characters 2 times in a row, of 400 characters in all"},
		{"P9 the odd length", Completion{Text: distinct(200, '一') + distinct(200, '一') + "z"}, "the reply repeats a block of 200 characters 2 times in a row, of 401 characters in all"},
		{"P9 repeated, but not back to back", Completion{Text: repeatedApart(block20, 20)}, ""},
		{"P9 characters are code points", Completion{Text: strings.Repeat("é", 399)}, ""},
		{"P9 ordinary prose", Completion{Text: prose}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, bad := Degenerate(tc.completion)
			if got != tc.want || bad != (tc.want != "") {
				t.Errorf("Degenerate = %q, %v; want %q", got, bad, tc.want)
			}
		})
	}
}

func repeatedApart(block string, times int) string {
	var out strings.Builder
	for i := range times {
		out.WriteString(block)
		out.WriteRune(rune('一' + i))
	}
	return out.String()
}

// prose is long, and repeats words and turns of phrase as prose does.
const prose = `| order | state | amount |
|-------|-------|--------|
| 1001 | shipped | 20.00 |
| 1002 | shipped | 25.00 |
| 1003 | refunded | 20.00 |

Order 1001 was shipped on Monday and cannot be changed. Order 1002 was shipped on Tuesday and cannot be changed either.
Order 1003 was refunded on Wednesday, because it was shipped to the wrong address. If you would like me to refund one of
the other orders as well, tell me which one, and I will ask for approval. Until then nothing is charged and nothing is sent.`

// A direct reading of P9, cubic but plain, is the oracle.
func repeatsPlainly(text []rune) bool {
	if len(text) < 400 {
		return false
	}
	for block := 20; 2*block <= len(text); block++ {
		for start := 0; start+2*block <= len(text); start++ {
			copies := 1
			for start+(copies+1)*block <= len(text) && slices.Equal(text[start+copies*block:start+(copies+1)*block], text[start:start+block]) {
				copies++
			}
			if copies >= 2 && copies*block*10 >= len(text)*6 {
				return true
			}
		}
	}
	return false
}

func TestDegenerateAgreesWithP9(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A text of about the least length, with a repetition of about the least share,
		// so that both answers come up.
		length := rapid.IntRange(380, 520).Draw(t, "length")
		share := rapid.IntRange(45, 75).Draw(t, "share")
		letters := rapid.SampledFrom([]rune(rapid.SampledFrom([]string{"ab", "abcdefghijklmnopqrstuvwxyzäöü"}).Draw(t, "alphabet")))
		block := rapid.SliceOfN(letters, 1, 160).Draw(t, "block")
		repeated := strings.Repeat(string(block), max(1, length*share/100/len(block)))
		rest := max(0, length-utf8.RuneCountInString(repeated))
		before := rapid.IntRange(0, rest).Draw(t, "before")
		around := rapid.SliceOfN(letters, rest, rest).Draw(t, "around")
		text := string(around[:before]) + repeated + string(around[before:])
		_, got := Degenerate(Completion{Text: text, Calls: []ToolCall{{Name: "call"}}})
		if want := repeatsPlainly([]rune(text)); got != want {
			t.Fatalf("Degenerate = %v, want %v for %d characters", got, want, utf8.RuneCountInString(text))
		}
	})
}

func FuzzDegenerate(f *testing.F) {
	f.Add(strings.Repeat("I am sorry, I cannot. ", 30))
	f.Add(strings.Repeat("\xff", 500))
	f.Add(prose)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 600 {
			return
		}
		runes := []rune(text)
		_, got := Degenerate(Completion{Text: text, Calls: []ToolCall{{Name: "call"}}})
		if want := repeatsPlainly(runes); got != want {
			t.Errorf("Degenerate = %v, want %v", got, want)
		}
	})
}

func BenchmarkDegenerateLongestText(b *testing.B) {
	for name, text := range map[string]string{
		"one character": strings.Repeat("a", MaxText),
		"prose":         strings.Repeat(prose, MaxText/len(prose)),
		"fibonacci":     fibonacci(MaxText),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Degenerate(Completion{Text: text})
			}
		})
	}
}

// fibonacci is the word that has as many repetitions as a text can have.
func fibonacci(n int) string {
	a, b := "a", "ab"
	for len(b) < n {
		a, b = b, b+a
	}
	return b[:n]
}
