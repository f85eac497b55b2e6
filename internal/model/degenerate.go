// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"
)

const (
	// repeatMinText, repeatMinBlock and repeatShare define plainly repeating text (P9),
	// in characters and per cent.
	repeatMinText  = 400
	repeatMinBlock = 20
	repeatShare    = 60
)

// Degenerate says whether a completion is of no use though the call succeeded, and why
// (I15): it has neither text nor calls, unless a limit on its length cut it off, or its
// text plainly repeats itself. Characters are code points, and the time is linear in
// the text.
func Degenerate(completion Completion) (reason string, bad bool) {
	empty := strings.TrimSpace(completion.Text) == "" && len(completion.Calls) == 0
	if empty && completion.Finish != FinishLength {
		return "the reply has neither text nor tool calls", true
	}
	text := []rune(completion.Text)
	if len(text) < repeatMinText {
		return "", false
	}
	if block, copies := longestRepetition(text); block*copies*100 >= len(text)*repeatShare {
		return fmt.Sprintf("the reply repeats a block of %d characters %d times in a row, of %d characters in all", block, copies, len(text)), true
	}
	return "", false
}

// longestRepetition finds, among the blocks of at least repeatMinBlock characters that
// follow themselves and whose copies together reach over the middle of the text, the
// one that covers most. Whatever covers more than half the text does.
//
// The middle of the text lies no later than the start of such a repetition's last copy,
// or no earlier than the end of its first one. So the text agrees there with itself one
// block later, or one block earlier, and how far it does both ways gives the
// repetition's ends. The Z-function tells that for every length of block at once (Main
// and Lorentz, 1984).
func longestRepetition(text []rune) (block, copies int) {
	middle := len(text) / 2
	reversed := make([]rune, len(text))
	for i, r := range text {
		reversed[len(text)-1-i] = r
	}
	second, firstReversed := text[middle:], reversed[len(text)-middle:]
	// How far the text agrees with itself from the middle and the place p after it,
	// forwards and backwards.
	forwards, backwards := zFunction(second), zAgainst(firstReversed, reversed)
	// The same from the middle and the place p before it.
	forwardsEarlier, backwardsEarlier := zAgainst(second, text), zFunction(firstReversed)

	consider := func(period, matched int) {
		if matched < period {
			return
		}
		if n := (matched + period) / period; n*period > block*copies {
			block, copies = period, n
		}
	}
	for p := repeatMinBlock; p <= middle; p++ {
		consider(p, at(forwards, p)+at(backwards, len(text)-middle-p))
		consider(p, at(forwardsEarlier, middle-p)+at(backwardsEarlier, p))
	}
	return block, copies
}

// at is z[i], and zero at the end of the text, where nothing is left to agree.
func at(z []int32, i int) int {
	if i == len(z) {
		return 0
	}
	return int(z[i])
}

// zFunction gives for each i how long text and text[i:] agree.
func zFunction(text []rune) []int32 {
	z := make([]int32, len(text))
	left, right := 0, 0
	for i := 1; i < len(text); i++ {
		agreed := 0
		if i < right {
			agreed = min(right-i, int(z[i-left]))
		}
		for i+agreed < len(text) && text[agreed] == text[i+agreed] {
			agreed++
		}
		if i+agreed > right {
			left, right = i, i+agreed
		}
		z[i] = int32(agreed)
	}
	return z
}

// zAgainst gives for each i how long pattern and text[i:] agree.
func zAgainst(pattern, text []rune) []int32 {
	joined := make([]rune, 0, len(pattern)+1+len(text))
	joined = append(joined, pattern...)
	joined = append(joined, -1) // no code point, so that no agreement crosses it
	joined = append(joined, text...)
	return zFunction(joined)[len(pattern)+1:]
}
