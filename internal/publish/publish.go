// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// Functions tells which functions are registered in the operator. A set of
// names is one.
type Functions interface {
	Has(name string) bool
}

// Result is what a Version holds.
type Result struct {
	// Body is the canonical form of the defaulted and normalised content.
	Body []byte
	// Hash is the digest of Body.
	Hash v1alpha1.Digest
	// Name is the name of the Version.
	Name string
}

// MaxBodyBytes bounds the canonical form, so that the Version fits into the
// storage of an API server with its metadata.
const MaxBodyBytes = 1 << 20

// Publish gives the Version that a Spec's content is, and findings: sorted by path
// and rule, at most MaxFindings. Where they refuse the Spec there is no Version. It
// leaves spec as it is.
func Publish(spec v1alpha1.AgentSpec, functions Functions) (Result, []v1alpha1.Finding) {
	v := &validation{spec: spec.DeepCopy(), functions: functions}
	Default(v.spec)
	if err := canonical.NormalizeTextFields(v.spec); err != nil {
		v.addCanonicalError(root, err)
		return Result{}, v.sorted()
	}
	for _, check := range checks {
		check(v)
	}
	// After the rules, whose findings quote what the author wrote.
	spellOneWay(v.spec)
	body, err := canonical.Typed(v.spec)
	switch {
	case err != nil && !Refused(v.findings): // else they say more of it
		v.addCanonicalError(root, err)
	case len(body) > MaxBodyBytes:
		v.add(RuleTooLarge, root, "the canonical form has %d bytes, and a Version holds %d at most: shorten the texts or split the agent",
			len(body), MaxBodyBytes)
	}
	if Refused(v.findings) {
		return Result{}, v.sorted()
	}
	digest := canonical.Hash(canonical.VersionDomain, body)
	return Result{Body: body, Hash: v1alpha1.Digest(digest.String()), Name: canonical.VersionName(digest)}, v.sorted()
}

// root is where the content is within a Spec object.
var root = field.NewPath("spec")

// validation is one pass of the rules over one Spec.
type validation struct {
	spec      *v1alpha1.AgentSpec
	functions Functions
	findings  []v1alpha1.Finding
}

// checks are the rules, each independent of the others.
var checks = []func(*validation){
	checkNames,
	checkTexts,
	checkModels,
	checkTools,
	checkBuiltins,
	checkSelectors,
	checkSubagents,
	checkSkillLinks,
	checkSchedules,
	checkWorkflow,
}

// addCanonicalError reports what has no canonical form, at the place within
// path to which the error points.
func (v *validation) addCanonicalError(path *field.Path, err error) {
	detail := err.Error()
	if located, ok := errors.AsType[*canonical.Error](err); ok {
		path, detail = PointerPath(path, located.Path), located.Detail
	}
	v.add(RuleNotCanonical, path, "%s", detail)
}

// Digest is the digest of a stored body, whatever its spelling. It returns a
// *canonical.Error for a body that has no canonical form.
func Digest(body []byte) (v1alpha1.Digest, error) {
	text, err := canonical.JSON(body)
	if err != nil {
		return "", err
	}
	return v1alpha1.Digest(canonical.Hash(canonical.VersionDomain, text).String()), nil
}
