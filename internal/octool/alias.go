// SPDX-License-Identifier: Apache-2.0

package octool

// Alias makes the tool under the name that it had before: deprecated, with the
// same function, and naming the tool that replaces it. List both for a major
// version of the library at least. The error is an *Error for a name that is none.
func Alias(tool *Tool, formerName string) (*Tool, error) {
	if !tool.made() {
		return nil, fault("func", "the tool was not made by New")
	}
	definition := tool.Definition()
	definition.Name = formerName
	definition.Deprecated = true
	definition.Meta[MetaAliasOf] = tool.name
	return New(definition)
}
