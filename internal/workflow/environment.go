// SPDX-License-Identifier: Apache-2.0

package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/schema"
)

// maxNesting bounds the lists, maps and macros within each other.
const maxNesting = 32

// base is the environment of all expressions. That of the API server's own rules has
// more, and does not do: its map literals hold values of one type, and it has macros
// that double an expression each time they are nested.
var base = sync.OnceValue(func() *cel.Env {
	env, err := cel.NewEnv(
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		cel.OptionalTypes(),
		// Without optMap and optFlatMap, which copy what they are called on.
		cel.ClearMacros(), cel.Macros(cel.StandardMacros...),
		ext.Bindings(ext.BindingsVersion(0)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),
		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(100)),
		ext.Encoders(ext.EncodersVersion(0)),
		cel.Function("find", cel.MemberOverload("string_find_string",
			[]*cel.Type{cel.StringType, cel.StringType}, cel.StringType, cel.BinaryBinding(find))),
		cel.Variable("input", cel.StringType),
		cel.Variable("inputJSON", cel.DynType),
	)
	if err != nil {
		panic(err) // the options are constants
	}
	return env
})

// find gives the first match of a regular expression, or an empty text, as in the rules
// of the API server.
func find(text, source ref.Val) ref.Val {
	pattern, err := new(schema.Patterns).Compile(string(source.(types.String)))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.String(pattern.FindString(string(text.(types.String))))
}

// The types of steps and of each of them.
var (
	stepsType  = types.NewObjectType("remit.Steps")
	resultType = types.NewObjectType("remit.StepResult")
)

// provider knows those types. A step that is not there has no field.
type provider struct {
	types.Provider
	steps []v1alpha1.WorkflowStep
}

// FindStructType is that of a provider of CEL.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	switch name {
	case stepsType.TypeName():
		return types.NewTypeTypeWithParam(stepsType), true
	case resultType.TypeName():
		return types.NewTypeTypeWithParam(resultType), true
	default:
		return p.Provider.FindStructType(name)
	}
}

// FindStructFieldType is that of a provider of CEL.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	switch {
	case name == stepsType.TypeName():
		known := slices.ContainsFunc(p.steps, func(s v1alpha1.WorkflowStep) bool { return string(s.ID) == field })
		return &types.FieldType{Type: resultType}, known
	case name == resultType.TypeName() && field == "text":
		return &types.FieldType{Type: types.StringType}, true
	case name == resultType.TypeName() && field == "json":
		return &types.FieldType{Type: types.DynType}, true
	default:
		return p.Provider.FindStructFieldType(name, field)
	}
}

// environment is that of an expression that may refer to the steps.
func environment(steps []v1alpha1.WorkflowStep) (*cel.Env, error) {
	return base().Extend(
		cel.CustomTypeProvider(provider{base().CELTypeProvider(), steps}),
		cel.CustomTypeAdapter(adapter{base().CELTypeAdapter()}),
		cel.Variable("steps", stepsType),
	)
}

// parse checks an expression that may refer to earlier steps.
func parse(text string, earlier []v1alpha1.WorkflowStep) (*expression, error) {
	env, err := environment(earlier)
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, errors.New(describe(issues, earlier))
	}
	if err := checkShape(celast.NavigateAST(parsed.NativeRep())); err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, errors.New(describe(issues, earlier))
	}
	if kind := checked.OutputType(); !mayBeObject(kind) {
		return nil, fmt.Errorf("it gives %s, and must give a map with text keys", kind)
	}
	return &expression{env, checked}, nil
}

// checkShape refuses what takes long to check, as the types of nested lists do, and
// messages of protocol buffers, which take far more memory than what they are made of.
func checkShape(root celast.NavigableExpr) error {
	if deepest := nesting(root); deepest > maxNesting {
		return fmt.Errorf("lists, maps and macros are %d within each other, and the limit is %d: take it apart", deepest, maxNesting)
	}
	if made := celast.MatchDescendants(root, celast.KindMatcher(celast.StructKind)); len(made) > 0 {
		return fmt.Errorf("it makes a %s, and there are no such values here: write a map", made[0].AsStruct().TypeName())
	}
	return nil
}

// nesting counts the lists, maps and macros that are within each other. The depth of
// the expression is bounded by its parser, or by its length.
func nesting(expression celast.NavigableExpr) int {
	deepest := 0
	for _, child := range expression.Children() {
		deepest = max(deepest, nesting(child))
	}
	switch expression.Kind() {
	case celast.ListKind, celast.MapKind, celast.ComprehensionKind:
		deepest++
	default:
	}
	return deepest
}

func mayBeObject(kind *cel.Type) bool {
	switch kind.Kind() {
	case types.DynKind:
		return true
	case types.MapKind:
		key := kind.Parameters()[0].Kind()
		return key == types.StringKind || key == types.DynKind
	default:
		return false
	}
}

// describe says each issue with its place, on one line.
func describe(issues *cel.Issues, earlier []v1alpha1.WorkflowStep) string {
	var texts []string
	unknownField := false
	for _, issue := range issues.Errors() {
		message := strings.TrimSuffix(issue.Message, " (in container '')")
		texts = append(texts, fmt.Sprintf("%d:%d: %s", issue.Location.Line(), issue.Location.Column()+1, message))
		unknownField = unknownField || strings.HasPrefix(message, "undefined field")
	}
	if unknownField {
		ids := make([]string, 0, len(earlier))
		for i := range earlier {
			ids = append(ids, string(earlier[i].ID))
		}
		texts = append(texts, fmt.Sprintf("the steps before this one are [%s], and each has text and json", strings.Join(ids, " ")))
	}
	return strings.Join(texts, "; ")
}

// document is a text that an expression may look at as JSON. It is read when it is
// looked at, and for one evaluation.
type document struct {
	text  string
	read  bool
	value any
}

// json gives the value of the text, or nil where it has none that every reader would
// agree on: where it has no canonical form. Whole numbers within int64 are int64.
func (d *document) json() any {
	if !d.read {
		d.read = true
		text, err := canonical.JSON([]byte(d.text))
		if err == nil {
			err = kjson.Unmarshal(text, &d.value)
		}
		if err != nil {
			d.value = nil
		}
	}
	return d.value
}

// adapter reads documents.
type adapter struct{ types.Adapter }

// NativeToValue is that of an adapter of CEL.
func (a adapter) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case *document:
		return a.NativeToValue(value.json())
	case map[string]any: // may hold documents
		return types.NewStringInterfaceMap(a, value)
	default:
		return a.Adapter.NativeToValue(value)
	}
}
