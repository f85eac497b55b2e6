// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/engine"
)

// The tools through which a model reaches those that its prompt does not hold.
const (
	SearchTools = "search_tools"
	CallTool    = string(v1alpha1.ViaCallTool)
)

const (
	searchSchema = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
		`"query":{"type":"string","description":"Words that say what the tool should do, or a part of its name."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"At most so many tools, from 1 to 20; 5 unless given."}}}`
	callSchema = `{"type":"object","additionalProperties":false,"required":["name"],"properties":{` +
		`"name":{"type":"string","description":"The exact name of the tool, as search_tools gave it."},` +
		`"arguments":{"type":"object","description":"The arguments of the tool, which must fit its inputSchema."}}}`
)

// deferTools takes the tools that are not preloaded out of the prompt and puts
// the two tools that reach them in.
func (s *ToolSet) deferTools(schemas *Schemas) {
	s.prompt = nil
	for _, tool := range s.tools {
		if tool.Preloaded {
			s.prompt = append(s.prompt, tool)
		} else {
			s.deferred = append(s.deferred, tool)
		}
	}
	if len(s.deferred) == 0 {
		return
	}
	for _, builtin := range []Tool{searchTool(s.deferred), callTool()} {
		// The schema is a constant that compiles.
		builtin.compiled = schemas.compile(&builtin)
		s.byName[builtin.Name] = &builtin
		s.prompt = append(s.prompt, &builtin)
	}
}

// searchTool needs no approval: it reads what the prompt would hold otherwise.
func searchTool(deferred []*Tool) Tool {
	return Tool{
		Name: SearchTools,
		Description: fmt.Sprintf("Searches the %d further tools that you may call and that are not listed here. ", len(deferred)) +
			"Use it whenever no listed tool does what you need, before you say that it cannot be done. " +
			"It returns records with the name, the description and the inputSchema of each tool that fits, the best first. " +
			"Call what you find with " + CallTool + ".",
		InputSchema: json.RawMessage(searchSchema),
		Definition:  builtinDefinition(SearchTools, searchSchema),
		Class:       v1alpha1.ClassReadOnly,
		Idempotent:  true,
		Executor:    &toolSearch{tools: deferred},
	}
}

// callTool has no executor: it is called as the tool that it names, see Unwrap,
// and refused where it names none.
func callTool() Tool {
	return Tool{
		Name: CallTool,
		Description: "Calls a tool that " + SearchTools + " found. Give its exact name and its arguments. " +
			"It returns what that tool returns, and the same approvals apply as to a direct call.",
		InputSchema: json.RawMessage(callSchema),
		Definition:  builtinDefinition(CallTool, callSchema),
		Class:       v1alpha1.ClassDestructive,
	}
}

func builtinDefinition(name, schema string) v1alpha1.Digest {
	return v1alpha1.Digest(canonical.Hash(builtinDomain, []byte(name+"\n"+schema)).String())
}

const builtinDomain canonical.Domain = "remit.dev/builtin/v1"

// Unwrap gives a model's call as the one that is judged and recorded: a call of
// call_tool becomes the call that it names. What does not fit call_tool stays as
// it is, and is refused with a message that says why.
func (s *ToolSet) Unwrap(call engine.ModelCall) engine.ModelCall {
	if call.Tool != CallTool || len(s.deferred) == 0 {
		return call
	}
	text, err := canonical.JSON([]byte(call.Arguments))
	if err != nil || s.byName[CallTool].schema.Validate(text) != nil {
		return call
	}
	var named struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(text, &named) != nil || named.Name == CallTool || named.Name == "" {
		return call
	}
	if named.Arguments == nil {
		named.Arguments = json.RawMessage("{}")
	}
	return engine.ModelCall{Tool: named.Name, Arguments: string(named.Arguments), Via: v1alpha1.ViaCallTool}
}

const notACall = "name must be the exact name of a tool that " + SearchTools + " gave, and not " + CallTool + " itself"
