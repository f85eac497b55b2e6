// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

// valid is what model providers take as the name of a tool.
var valid = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// TestQualifiedName: the digests were computed with sha256sum (P32).
func TestQualifiedName(t *testing.T) {
	const forty = "g123456789g123456789g123456789g123456789"
	tests := map[string]struct {
		grant, tool, want string
		shortened         bool
	}{
		"short":                    {"github", "delete_repo", "github__delete_repo", false},
		"with dashes and capitals": {"git-hub", "deleteRepo-2", "git-hub__deleteRepo-2", false},
		"64 are kept":              {forty, strings.Repeat("t", 22), forty + "__" + strings.Repeat("t", 22), false},
		"65 are not": {forty, strings.Repeat("t", 23),
			forty + "__" + strings.Repeat("t", 13) + "_3a43b46a", true},
		"one more gives another": {forty, strings.Repeat("t", 24),
			forty + "__" + strings.Repeat("t", 13) + "_aaf6c7b9", true},
		"a character that providers refuse": {"fs", "read.file", "fs__read_file_3d6b9878", true},
		"a space":                           {"fs", "read file", "fs__read_file_91ec678f", true},
		"not ASCII":                         {"fs", "é", "fs_____4d25a554", true},
		"a tool without a name":             {"fs", "", "fs__", false},
		"two underscores of its own":        {"fs", "a__b", "fs__a__b", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, shortened := QualifiedName(test.grant, test.tool)
			if got != test.want || shortened != test.shortened {
				t.Errorf("got %q, %t, want %q, %t", got, shortened, test.want, test.shortened)
			}
		})
	}
}

// checkName holds a qualified name against P32 and P33, by other means than the
// code: the digest is formatted, not encoded, and the form is a pattern.
func checkName(t interface{ Fatalf(string, ...any) }, grant, tool string) {
	name, shortened := QualifiedName(grant, tool)
	whole := grant + "__" + tool
	if !valid.MatchString(name) {
		t.Fatalf("%q: providers refuse %q", whole, name)
	}
	if again, _ := QualifiedName(grant, tool); again != name {
		t.Fatalf("%q gives %q and %q", whole, name, again)
	}
	if valid.MatchString(whole) {
		if shortened || name != whole {
			t.Fatalf("%q needs no shortening, and became %q", whole, name)
		}
		return
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))
	if !shortened || !strings.HasSuffix(name, "_"+sum[:8]) {
		t.Fatalf("%q became %q, shortened %t, and its digest is %s", whole, name, shortened, sum)
	}
	kept := strings.TrimSuffix(name, "_"+sum[:8])
	if len(kept) != min(len(whole), 55) {
		t.Fatalf("%q keeps %d characters: %q", whole, len(kept), kept)
	}
	for i := range kept {
		if kept[i] != whole[i] && kept[i] != '_' {
			t.Fatalf("%q became %q", whole, name)
		}
	}
}

var (
	anyGrant = rapid.StringMatching(`[a-z]([a-z0-9-]{0,38}[a-z0-9])?`)
	anyTools = rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_-]{1,128}`),
		rapid.StringMatching(`(same_prefix_of_many_tools_){2}[a-z]{1,20}`),
		rapid.StringN(0, 64, 128),
	)
)

func TestQualifiedNameProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkName(t, anyGrant.Draw(t, "grant"), anyTools.Draw(t, "tool"))
	})
}

// TestQualifiedNameIsDistinct: tools of one Grant, and equal tools of two, do not
// share a name. (Somebody who searches for two names with equal digests finds
// some; whoever puts tools together must look.)
func TestQualifiedNameIsDistinct(t *testing.T) {
	type tool struct{ grant, name string }
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) tool {
			return tool{anyGrant.Draw(t, "grant"), anyTools.Draw(t, "tool")}
		}), 2, 8, rapid.ID).Draw(t, "tools")
		owner := map[string]tool{}
		for _, tool := range tools {
			name, _ := QualifiedName(tool.grant, tool.name)
			if other, taken := owner[name]; taken {
				t.Fatalf("%v and %v are both %q", tool, other, name)
			}
			owner[name] = tool
		}
	})
}

// TestQualifiedNameSplitsOneWay: the Grant is what stands before the first
// separator, also where the name was shortened (P33).
func TestQualifiedNameSplitsOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grant, tool := anyGrant.Draw(t, "grant"), anyTools.Draw(t, "tool")
		name, _ := QualifiedName(grant, tool)
		if before, _, found := strings.Cut(name, Separator); !found || before != grant {
			t.Fatalf("%q splits into %q, and its Grant is %q", name, before, grant)
		}
	})
}

func FuzzQualifiedName(f *testing.F) {
	for _, seed := range [][2]string{
		{"github", "delete_repo"}, {"a", ""}, {"", ""}, {"fs", "read.file"}, {"fs", "\xff\x00é😀"},
		{strings.Repeat("g", 40), strings.Repeat("t", 22)}, {strings.Repeat("g", 40), strings.Repeat("t", 23)},
		{"g", "a__b_0123abcd"}, {"g", strings.Repeat("😀", 40)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, grant, tool string) {
		checkName(t, grant, tool)
	})
}

func FuzzSelectors(f *testing.F) {
	for _, seed := range [][4]string{
		{"get", "ReadOnly", "@all", "get"}, {"get", "Write", "get", "@read-only"}, {"@all", "Write", "@all", ""},
		{"", "", "", ""}, {"@x", "Destructive", "@x", "@X"}, {"\xff", "ReadOnly", "\xff", "\xfe"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, name, class, enable, disable string) {
		tool := Tool{Name: name, Class: v1alpha1.ToolClass(class)}
		on, off := selectors{v1alpha1.AccessSelector(enable)}, selectors{v1alpha1.AccessSelector(disable)}
		kept := len(Enabled([]Tool{tool}, on, off)) == 1
		if want := Matches(on, tool) && !Matches(off, tool); kept != want {
			t.Fatalf("kept is %t, want %t", kept, want)
		}
		for _, list := range []selectors{on, off} {
			entry := string(list[0])
			if want := entry == name || entry == "@all" || entry == "@read-only" && class == "ReadOnly"; Matches(list, tool) != want {
				t.Fatalf("%q matches %v: %t, want %t", entry, tool, !want, want)
			}
			if stale := len(Stale([]Tool{tool}, list)) == 1; stale == (entry == name || strings.HasPrefix(entry, "@")) {
				t.Fatalf("%q is stale: %t, with %q on offer", entry, stale, name)
			}
		}
	})
}
