// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/sandbox/language"
)

// checkCode: what the sandbox would refuse at each call is refused once, here.
func checkCode(v *validation, tool *field.Path, t *v1alpha1.Tool) {
	path := tool.Child("code", "source")
	if t.Code.Source == "" {
		return // a finding of its own
	}
	main, wrong := language.Check(t.Code.Source, false)
	for _, e := range wrong {
		v.add(RuleCode, path, "%v", e)
	}
	if len(wrong) == 0 {
		checkMain(v, path, main, argumentsOf(t))
	}
}

// checkMain: main is called with the arguments by name. A schema that lists
// no properties says nothing about them.
func checkMain(v *validation, path *field.Path, main language.Main, args arguments) {
	if len(args.Properties) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, parameter := range main.Parameters {
		taken[parameter.Name] = true
		if parameter.Required && !slices.Contains(args.Required, parameter.Name) {
			v.add(RuleCodeParameters, path, "main needs %s: add %s to inputSchema.properties and inputSchema.required, or give it a default",
				shorten(parameter.Name, maxQuoted), quoted(parameter.Name))
		}
	}
	if main.Rest {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args.Properties)) {
		if !taken[name] {
			v.add(RuleCodeParameters, path, "main does not take %s of inputSchema.properties: add it to the parameters of main, or end them with **arguments",
				quoted(name))
		}
	}
}
