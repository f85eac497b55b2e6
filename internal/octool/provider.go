// SPDX-License-Identifier: Apache-2.0

package octool

// Provider lists tools, in a fixed order and each name once: a listing that stays
// the same keeps the caches of prompts warm.
type Provider interface {
	AllTools() []*Tool
}

// ProviderFunc makes a Provider of a function.
type ProviderFunc func() []*Tool

// AllTools calls the function.
func (f ProviderFunc) AllTools() []*Tool { return f() }

// Tools makes a Provider of a list.
func Tools(tools ...*Tool) Provider {
	return ProviderFunc(func() []*Tool { return append([]*Tool(nil), tools...) })
}

// MergeProviders lists the tools of several providers, one after the other. A name
// that two of them have is listed twice, so that ValidateProvider finds it.
func MergeProviders(providers ...Provider) Provider {
	return ProviderFunc(func() []*Tool {
		var tools []*Tool
		for _, provider := range providers {
			tools = append(tools, provider.AllTools()...)
		}
		return tools
	})
}

// Find gives the first tool of that name.
func Find(provider Provider, name string) (*Tool, bool) {
	for _, tool := range provider.AllTools() {
		if tool.made() && tool.name == name {
			return tool, true
		}
	}
	return nil, false
}
