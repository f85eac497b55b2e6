// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
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

// compiled is what is read of a definition once.
type compiled struct {
	schema *schema.Schema
	// declared is the envelope that the output schema describes, and marks what it
	// marks as sensitive; nil without an output schema.
	declared octool.EnvelopeKind
	marks    *octool.SensitivityMap
	err      error
}

// NewSchemas makes an empty cache.
func NewSchemas() *Schemas {
	cache, err := lru.New[v1alpha1.Digest, compiled](schemaCacheSize)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Schemas{cache: cache}
}

func (s *Schemas) compile(tool *Tool) compiled {
	if kept, ok := s.cache.Get(tool.Definition); ok {
		return kept
	}
	var made compiled
	if len(tool.InputSchema) > 0 {
		made.schema, made.err = schema.Compile(tool.InputSchema)
	}
	if len(tool.OutputSchema) > 0 {
		made.declared, made.marks = octool.DetectSchema(tool.OutputSchema), octool.ReadSensitivity(tool.OutputSchema)
	}
	if tool.Definition != "" {
		s.cache.Add(tool.Definition, made)
	}
	return made
}

// ToolSet is the tools of one step of a Run, already narrowed.
type ToolSet struct {
	tools  []*Tool
	byName map[string]*Tool
	// prompt is what the model is shown, and deferred what it has to search for.
	prompt   []*Tool
	deferred []*Tool
	// passages are the calls of this step, and order those in the order of their
	// first judgement.
	passages map[v1alpha1.CallRecord]*passage
	order    []*passage
	// Keep stores artifacts; nil keeps none.
	Keep Keep
	// IsNarrowed says whether a name that is not callable belongs to what the agent
	// has or asks for; nil knows none. It only tells the trace where a call stopped.
	IsNarrowed func(name string) bool
}

func (s *ToolSet) narrowed(name string) bool { return s.IsNarrowed != nil && s.IsNarrowed(name) }

// NewToolSet makes a set. A tool whose schema cannot be used, and tools that share
// a name, are left out, since no call of them could be judged; the findings say so.
// Where there are more tools than deferAbove, those that are not preloaded are
// deferred behind search_tools and call_tool.
func NewToolSet(tools []Tool, schemas *Schemas, deferAbove int) (*ToolSet, []string) {
	set := &ToolSet{byName: make(map[string]*Tool, len(tools)), passages: map[v1alpha1.CallRecord]*passage{}}
	var findings []string
	shared := map[string]bool{}
	for i := range tools {
		tool := tools[i]
		if set.byName[tool.Name] != nil {
			shared[tool.Name] = true
			continue
		}
		if tool.compiled = schemas.compile(&tool); tool.err != nil {
			findings = append(findings, fmt.Sprintf("tool %s is left out: inputSchema: %v", tool.Name, tool.err))
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
	set.prompt = set.tools
	if len(set.tools) > deferAbove {
		set.deferTools(schemas)
	}
	return set, findings
}

// Prompt is the tools that the model is shown, in a stable order.
func (s *ToolSet) Prompt() []*Tool { return s.prompt }

// Definition is the digest of the definition of the tool of that name, or empty.
func (s *ToolSet) Definition(name string) v1alpha1.Digest {
	if tool := s.byName[name]; tool != nil {
		return tool.Definition
	}
	return ""
}
