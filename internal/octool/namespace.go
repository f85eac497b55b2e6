// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// NamespacePattern is the form of a namespace: the name of a product, which all
// its providers share.
const NamespacePattern = `^[a-z][a-z0-9]{0,15}$`

var namespacePattern = regexp.MustCompile(NamespacePattern)

// PrefixTools gives each tool its published name, the namespace, an underscore and
// its own name, and rewrites where the tools name each other: as the target of an
// alias, and as a whole word in the description of a tool or of its arguments. It
// is for the one place where a listing is built, as to prefix twice makes a name
// with two prefixes. The error is an *Error for a namespace that is none, and for a
// name that becomes too long.
func PrefixTools(tools []*Tool, namespace string) ([]*Tool, error) {
	if !namespacePattern.MatchString(namespace) {
		return nil, fault("namespace", "%s must match %s", quoted(namespace), NamespacePattern)
	}
	published := make(map[string]string, len(tools))
	for _, tool := range tools {
		if !tool.made() {
			return nil, fault("tools", "one of them was not made by New")
		}
		published[tool.name] = namespace + "_" + tool.name
	}
	prefixed := make([]*Tool, 0, len(tools))
	for _, tool := range tools {
		renamed, err := tool.renamed(published)
		if err != nil {
			return nil, err
		}
		prefixed = append(prefixed, renamed)
	}
	return prefixed, nil
}

// renamed is the tool with its name, and those of its siblings, replaced.
func (t *Tool) renamed(published map[string]string) (*Tool, error) {
	definition := t.Definition()
	definition.Name = published[t.name]
	definition.Description = replaceWords(t.description, published)
	schema, err := parseNode(t.inputSchema)
	if err != nil {
		return nil, inField("input_schema", t.name, err)
	}
	if replaceInDescriptions(schema, published) {
		definition.InputSchema = schema.appendJSON(nil)
	}
	if target, ok := published[t.AliasOf()]; ok {
		definition.Meta[MetaAliasOf] = target
	}
	return New(definition)
}

// replaceInDescriptions goes through the schemas within one, past the keywords
// whose values are data, and says whether it replaced anything.
func replaceInDescriptions(schema *node, words map[string]string) (changed bool) {
	for _, m := range schema.members {
		switch m.name {
		case "description":
			if m.value.kind == stringNode {
				replaced := replaceWords(m.value.text, words)
				changed = changed || replaced != m.value.text
				m.value.text = replaced
			}
		case "properties", "$defs":
			for _, entry := range m.value.members {
				changed = replaceInDescriptions(entry.value, words) || changed
			}
		case "items", "additionalProperties":
			changed = replaceInDescriptions(m.value, words) || changed
		case "anyOf", "allOf", "oneOf":
			for _, element := range m.value.elements {
				changed = replaceInDescriptions(element, words) || changed
			}
		}
	}
	return changed
}

// replaceWords replaces words, which are what stands between characters that no
// name and no word of a language has.
func replaceWords(text string, words map[string]string) string {
	var replaced strings.Builder
	for text != "" {
		start := strings.IndexFunc(text, isWordRune)
		if start < 0 {
			break
		}
		end := start + strings.IndexFunc(text[start:]+" ", func(r rune) bool { return !isWordRune(r) })
		replaced.WriteString(text[:start])
		word := text[start:end]
		if replacement, ok := words[word]; ok {
			word = replacement
		}
		replaced.WriteString(word)
		text = text[end:]
	}
	return replaced.String() + text
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// ValidateNamespace finds the names of a provider that are not in a namespace. It
// is asked for where a product demands one; ValidateProvider does not ask.
func ValidateNamespace(provider Provider, namespace string) []Finding {
	if namespace == "" {
		return []Finding{{Rule: RuleNamespaceMissing, Message: "there is no namespace: give the name of the product"}}
	}
	if !namespacePattern.MatchString(namespace) {
		return []Finding{{Rule: RuleNamespacePattern, Message: fmt.Sprintf("the namespace %s must match %s", quoted(namespace), NamespacePattern)}}
	}
	var found []Finding
	for _, tool := range provider.AllTools() {
		if !tool.made() {
			continue
		}
		if problem := outsideNamespace(tool.name, namespace); problem != "" {
			found = append(found, Finding{Rule: RuleNameOutsideNamespace, Tool: tool.name, Message: problem})
		}
	}
	return found
}

// outsideNamespace says what of a name is not as in a namespace, or nothing.
func outsideNamespace(name, namespace string) string {
	rest, ok := strings.CutPrefix(name, namespace+"_")
	if !ok {
		return fmt.Sprintf("%s must begin with %q", quoted(name), namespace+"_")
	}
	if rest == "" {
		return fmt.Sprintf("nothing follows %q: add the name of the tool", name)
	}
	if rest[0] < 'a' || rest[0] > 'z' {
		return fmt.Sprintf("after %q the name goes on with %q, and must with a letter from a to z", namespace+"_", rest[:1])
	}
	return ""
}
