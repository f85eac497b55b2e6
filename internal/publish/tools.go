// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

func checkTools(v *validation) {
	for i := range v.spec.Tools {
		tool, path := &v.spec.Tools[i], root.Child("tools").Index(i)
		checkAttempts(v, path, tool)
		if tool.InputSchema != nil {
			checkInputSchema(v, path.Child("inputSchema"), tool.InputSchema.Raw)
		}
		if tool.HTTP != nil || tool.Code != nil { // a function describes itself
			checkDescriptor(v, path, tool)
		}
		switch {
		case tool.Code != nil:
			checkSandbox(v, path.Child("kind"), "code tool "+quoted(tool.Name))
			checkCode(v, path, tool)
		case tool.HTTP != nil:
			checkHTTP(v, path, tool)
		case tool.Function != nil:
			checkFunction(v, path.Child("function", "name"), tool.Function.Name)
		}
	}
}

// Idempotent says whether a call of the tool may be repeated: as declared, and
// undeclared if it is a request that only reads.
func Idempotent(tool *v1alpha1.Tool) bool {
	if tool.Idempotent != nil {
		return *tool.Idempotent
	}
	return tool.HTTP != nil && onlyReads(tool.HTTP.Method)
}

func onlyReads(method v1alpha1.HTTPMethod) bool {
	return method == "GET" || method == "HEAD"
}

func checkAttempts(v *validation, path *field.Path, tool *v1alpha1.Tool) {
	if tool.Attempts <= 1 || Idempotent(tool) {
		return
	}
	why := "is not known to be idempotent"
	if tool.Idempotent != nil {
		why = "is declared not to be idempotent"
	}
	v.add(RuleAttemptsNotIdempotent, path.Child("attempts"),
		"attempts is %d and tool %s %s: set attempts to 1, or set idempotent to true if repeating a call does no harm",
		tool.Attempts, quoted(tool.Name), why)
}

func checkBuiltins(v *validation) {
	for i, builtin := range v.spec.Builtins {
		if builtin == v1alpha1.BuiltinRunCode {
			checkSandbox(v, root.Child("builtins").Index(i), "builtin "+quoted(builtin))
		}
	}
}

func checkSandbox(v *validation, path *field.Path, what string) {
	if !v.spec.Sandbox.Enabled {
		v.add(RuleSandboxDisabled, path, "%s needs the sandbox: set spec.sandbox.enabled to true, or remove it", what)
	}
}

func checkFunction(v *validation, path *field.Path, name string) {
	if !v.functions.Has(name) {
		v.add(RuleUnknownFunction, path, "no function %s is registered in the operator: correct the name, or register the function", quoted(name))
	}
}

// checkFreeForm reports free-form JSON that has no canonical form.
func checkFreeForm(v *validation, path *field.Path, raw []byte) {
	if _, err := canonical.JSON(raw); err != nil {
		v.addCanonicalError(path, err)
	}
}
