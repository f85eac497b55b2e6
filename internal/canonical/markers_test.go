// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// C9, P3: what the API server merges a list by, what the doc comment tells the
// reader and what the canonicaliser does are one decision.
func TestListMarkersAgreeWithTags(t *testing.T) {
	structs := parseStructs(t, "../../api/v1alpha1")
	var lists int
	visitStructs(reflect.TypeFor[v1alpha1.AgentSpec](), map[reflect.Type]bool{}, func(typ reflect.Type) {
		for _, field := range structs[typ.Name()].Fields.List {
			if _, isList := field.Type.(*ast.ArrayType); !isList {
				continue
			}
			lists++
			name := typ.Name() + "." + field.Names[0].Name
			tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("canonical")
			checkMarkers(t, name, tag, commentText(field.Doc))
		}
	})
	if lists < 10 {
		t.Errorf("only %d lists", lists)
	}
}

var (
	listTypeMarker = regexp.MustCompile(`(?m)^\+listType=(\w+)`)
	listKeyMarker  = regexp.MustCompile(`(?m)^\+listMapKey=(\w+)`)
	saysSet        = regexp.MustCompile(`(?s):\s+a\s+set\.`)
	saysOrdered    = regexp.MustCompile(`(?s)order\s+carries\s+meaning`)
)

func checkMarkers(t *testing.T, name, tag, comment string) {
	t.Helper()
	order, _, _ := strings.Cut(tag, ",")
	listType, listKey := submatch(listTypeMarker, comment), submatch(listKeyMarker, comment)
	switch {
	case listType == "":
		t.Errorf("%s: no listType marker", name)
	case listType == "set" && order != "set", listType == "map" && order != "map="+listKey:
		t.Errorf("%s: listType %s with key %q, but canonical %q", name, listType, listKey, tag)
	case listType == "atomic" && strings.HasPrefix(order, "map="):
		t.Errorf("%s: canonical %q of an atomic list, whose keys nobody checks", name, tag)
	}
	if says := saysSet.MatchString(comment); says != (order != "ordered") {
		t.Errorf(`%s: canonical %q, but the comment says "a set": %t`, name, tag, says)
	}
	if says := saysOrdered.MatchString(comment); says != (order == "ordered") {
		t.Errorf(`%s: canonical %q, but the comment says "order carries meaning": %t`, name, tag, says)
	}
}

func submatch(pattern *regexp.Regexp, s string) string {
	if match := pattern.FindStringSubmatch(s); match != nil {
		return match[1]
	}
	return ""
}

// commentText is ast.CommentGroup.Text with the markers left in.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")))
	}
	return strings.Join(lines, "\n")
}

// visitStructs visits the struct types of this repository that values of typ
// are made of.
func visitStructs(typ reflect.Type, seen map[reflect.Type]bool, visit func(reflect.Type)) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visitStructs(typ.Elem(), seen, visit)
	case reflect.Struct:
		if seen[typ] || typ.PkgPath() != reflect.TypeFor[v1alpha1.AgentSpec]().PkgPath() {
			return
		}
		seen[typ] = true
		visit(typ)
		for field := range typ.Fields() {
			visitStructs(field.Type, seen, visit)
		}
	default: // holds no structs
	}
}

func parseStructs(t *testing.T, directory string) map[string]*ast.StructType {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*_types.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no types in %s: %v", directory, err)
	}
	structs := map[string]*ast.StructType{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return structs
}
