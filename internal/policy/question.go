// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"sync"

	"github.com/google/cel-go/cel"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Question is everything that a policy may look at. Its JSON is what a decision
// endpoint reads as input. One about a whole Run has scope and run only.
type Question struct {
	// Tool is the name as its server or Spec gives it.
	Tool string `json:"tool,omitempty"`
	// Args are the arguments, a JSON object in canonical form.
	Args json.RawMessage `json:"args,omitempty"`
	// Annotations are the hints that were set, by their MCP names.
	Annotations map[string]bool `json:"annotations,omitempty"`
	Class       string          `json:"class,omitempty"`
	Scope       Scope           `json:"scope"`
	Run         Run             `json:"run"`
}

// Scope is on whose behalf a Run acts.
type Scope struct {
	Namespace string `json:"namespace"`
	// Principal is the user who created the Run, as the API server stamped it.
	Principal string   `json:"principal"`
	Groups    []string `json:"groups"`
}

// Run is the Run that makes the call, or that is to begin.
type Run struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Spec    string `json:"spec"`
	Version string `json:"version"`
	Input   string `json:"input"`
}

// activation gives the variables of the expressions.
func (q *Question) activation() (map[string]any, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	vars := map[string]any{}
	if err := kjson.Unmarshal(text, &vars); err != nil {
		return nil, err
	}
	if q.Scope.Groups == nil {
		vars["scope"].(map[string]any)["groups"] = []any{}
	}
	if q.Tool != "" && len(q.Annotations) == 0 {
		vars["annotations"] = map[string]any{}
	}
	return vars, nil
}

// The environments of the expressions: that of the API server's own policies, so
// that what works there works here, with the variables of a Question.
var (
	callVariables = sync.OnceValue(func() *environment.EnvSet { return variables(true) })
	runVariables  = sync.OnceValue(func() *environment.EnvSet { return variables(false) })
)

func variables(ofCalls bool) *environment.EnvSet {
	field := func(name string, kind *apiservercel.DeclType, required bool) *apiservercel.DeclField {
		return apiservercel.NewDeclField(name, kind, required, nil, nil)
	}
	object := func(name string, fields ...*apiservercel.DeclField) *apiservercel.DeclType {
		byName := make(map[string]*apiservercel.DeclField, len(fields))
		for _, f := range fields {
			byName[f.Name] = f
		}
		return apiservercel.NewObjectType(name, byName)
	}
	text, flag := apiservercel.StringType, apiservercel.BoolType
	scope := object("remit.Scope", field("namespace", text, true), field("principal", text, true),
		field("groups", apiservercel.NewListType(text, -1), true))
	run := object("remit.Run", field("name", text, true), field("uid", text, true), field("spec", text, true),
		field("version", text, true), field("input", text, true))
	annotations := object("remit.Annotations", field("readOnlyHint", flag, false), field("destructiveHint", flag, false),
		field("idempotentHint", flag, false), field("openWorldHint", flag, false))
	declared := []cel.EnvOption{cel.Variable("scope", scope.CelType()), cel.Variable("run", run.CelType())}
	if ofCalls {
		declared = append(declared,
			cel.Variable("tool", cel.StringType),
			cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("class", cel.StringType),
			cel.Variable("annotations", annotations.CelType()),
		)
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        declared,
		DeclTypes:         []*apiservercel.DeclType{scope, run, annotations},
	})
	if err != nil {
		panic(err) // the declarations are constants
	}
	return set
}
