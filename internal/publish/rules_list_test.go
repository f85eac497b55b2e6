// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// What is said of one place is said once, however often it is found.
func TestFindingsAreThereOnce(t *testing.T) {
	tool := httpTool("find", "GET")
	tool.HTTP.URL = "https://shop.example/{id}/{id}"
	_, findings := published(minimal(func(a *agent) { a.Tools = []v1alpha1.Tool{tool} }))
	if len(findings) != 1 || findings[0].Rule != "http_placeholder" {
		t.Errorf("findings: %v", findings)
	}
}

func TestEveryRuleIsListed(t *testing.T) {
	listed := map[string]bool{}
	previous := ""
	for _, rule := range publish.Rules() {
		if rule.Name <= previous {
			t.Errorf("%s comes after %s", rule.Name, previous)
		}
		previous = rule.Name
		listed[rule.Name] = rule.Summary != "" && rule.Help != ""
	}
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		constants++
		if name, err := strconv.Unquote(literal.Value); err != nil || !listed[name] {
			t.Errorf("%s is not listed with a summary and help: %v", spec.Names[0], err)
		}
		return true
	})
	const strict = 10 // of P29, less root_not_object, which input_schema says
	if constants+strict != len(publish.Rules()) {
		t.Errorf("%d constants, %d rules of strict schemas and %d rules", constants, strict, len(publish.Rules()))
	}
}
