// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/schema"
)

// MaxTools bounds the tools of one step.
const MaxTools = 2000

// schemaCacheSize bounds the compiled schemas that are kept.
const schemaCacheSize = 4096

// Schemas keeps compiled schemas by the digest of their tool's definition.
type Schemas struct {
	cache *lru.Cache[v1alpha1.Digest, compiled]
}

type compiled struct {
	schema *schema.Schema
	err    error
}

// NewSchemas makes an empty cache.
func NewSchemas() *Schemas {
	cache, err := lru.New[v1alpha1.Digest, compiled](schemaCacheSize)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Schemas{cache: cache}
}

func (s *Schemas) compile(tool *Tool) (*schema.Schema, error) {
	if len(tool.InputSchema) == 0 {
		return nil, nil
	}
	if kept, ok := s.cache.Get(tool.Definition); ok {
		return kept.schema, kept.err
	}
	made, err := schema.Compile(tool.InputSchema)
	s.cache.Add(tool.Definition, compiled{made, err})
	return made, err
}

// ToolSet is the tools of one step of a Run, already narrowed.
type ToolSet struct {
	tools  []*Tool
	byName map[string]*Tool
}

// NewToolSet makes a set. A tool whose schema cannot be used, and tools that share
// a name, are left out, since no call of them could be judged; the findings say so.
func NewToolSet(tools []Tool, schemas *Schemas) (*ToolSet, []string) {
	set := &ToolSet{byName: make(map[string]*Tool, len(tools))}
	var findings []string
	shared := map[string]bool{}
	for i := range tools {
		tool := tools[i]
		if set.byName[tool.Name] != nil {
			shared[tool.Name] = true
			continue
		}
		var err error
		if tool.schema, err = schemas.compile(&tool); err != nil {
			findings = append(findings, fmt.Sprintf("tool %s is left out: inputSchema: %v", tool.Name, err))
			continue
		}
		set.byName[tool.Name] = &tool
	}
	for i := range tools {
		name := tools[i].Name
		switch tool := set.byName[name]; {
		case shared[name]:
			if tool != nil {
				findings = append(findings, fmt.Sprintf("tool %s is left out: several tools have this name", name))
			}
			delete(set.byName, name)
		case tool != nil && len(set.tools) < MaxTools:
			set.tools = append(set.tools, tool)
		case tool != nil:
			delete(set.byName, name)
			findings = append(findings, fmt.Sprintf("tool %s is left out: a step has at most %d tools", name, MaxTools))
		}
	}
	return set, findings
}

// Tools are the tools of the set in a stable order.
func (s *ToolSet) Tools() []*Tool { return s.tools }

// Definition is the digest of the definition of the tool of that name, or empty.
func (s *ToolSet) Definition(name string) v1alpha1.Digest {
	if tool := s.byName[name]; tool != nil {
		return tool.Definition
	}
	return ""
}
