package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func promptList(s *session, b *catalogueBuilder) list {
	return list{method: "prompts/list", ask: s.listPrompts, page: b.promptPage}
}

// listPrompts asks for one page, of at most limit bytes.
func (s *session) listPrompts(ctx context.Context, cursor string, limit int64) outcome {
	ex := &exchange{limit: limit}
	_, _ = s.sdk.ListPrompts(withExchange(ctx, ex), &sdk.ListPromptsParams{Cursor: cursor})
	return ex.outcome()
}

// without says whether the catalogue stands without its prompts: no call needs them, so that a server that
// answers, but not with prompts, keeps its tools.
func (b *catalogueBuilder) without(f *failure) bool {
	switch f.kind {
	case Rejected, Protocol, TooLarge:
		b.catalogue.Prompts = nil
		b.finding("the prompts are left out: %s", f.detail)
		return true
	default:
		return false
	}
}

// promptPage adds the prompts of one page.
func (b *catalogueBuilder) promptPage(raw json.RawMessage) (next string, err error) {
	entries, next, err := decodePage(raw, "prompts")
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if len(b.catalogue.Prompts) == MaxPrompts {
			b.finding("the server has more than %d prompts; the rest is left out", MaxPrompts)
			return "", nil
		}
		b.prompt(entry)
	}
	return next, nil
}

// prompt adds one prompt, or a finding on why it is left out.
func (b *catalogueBuilder) prompt(raw json.RawMessage) {
	var members map[string]json.RawMessage
	if err := decodeObject(raw, &members); err != nil {
		b.finding("a prompt is left out: its definition is not a JSON object")
		return
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || !validName(name) {
		b.finding("a prompt is left out: its name %s is not 1 to %d printable ASCII characters without spaces", b.quote(name), MaxToolName)
		return
	}
	if b.prompts[name] {
		b.finding("prompt %q is defined more than once; the first definition counts", name)
		return
	}
	b.prompts[name] = true
	prompt, err := decodePrompt(name, members)
	if err != nil {
		b.finding("prompt %q is left out: %v", name, err)
		return
	}
	b.catalogue.Prompts = append(b.catalogue.Prompts, prompt)
}

// decodePrompt reads a definition whose name is known to be good.
func decodePrompt(name string, members map[string]json.RawMessage) (Prompt, error) {
	for _, member := range promptMembers {
		if checkDepth(members[member], MaxDepth) != nil {
			return Prompt{}, fmt.Errorf("%s nests deeper than %d levels", member, MaxDepth)
		}
	}
	prompt := Prompt{Name: name}
	var err error
	if prompt.Title, err = boundedMember(members, "title", MaxTitle); err != nil {
		return Prompt{}, err
	}
	if prompt.Description, err = boundedMember(members, "description", MaxDescription); err != nil {
		return Prompt{}, err
	}
	if prompt.Arguments, err = promptArguments(members["arguments"]); err != nil {
		return Prompt{}, err
	}
	prompt.Digest, err = digestOf(promptDomain, promptMembers, members)
	return prompt, err
}

func promptArguments(raw json.RawMessage) ([]PromptArgument, error) {
	if isNull(raw) {
		return nil, nil
	}
	var entries []map[string]json.RawMessage
	switch err := json.Unmarshal(raw, &entries); {
	case err != nil:
		return nil, errors.New("arguments is not a list of JSON objects")
	case len(entries) > MaxPromptArguments:
		return nil, fmt.Errorf("it has more than %d arguments", MaxPromptArguments)
	}
	arguments := make([]PromptArgument, 0, len(entries))
	for i, members := range entries {
		argument, err := decodePromptArgument(members)
		if err != nil {
			return nil, fmt.Errorf("arguments[%d]: %w", i, err)
		}
		arguments = append(arguments, argument)
	}
	return arguments, nil
}

func decodePromptArgument(members map[string]json.RawMessage) (argument PromptArgument, err error) {
	if argument.Name, err = boundedMember(members, "name", MaxTitle); err != nil {
		return argument, err
	}
	if argument.Name == "" {
		return argument, errors.New("it has no name")
	}
	if argument.Title, err = boundedMember(members, "title", MaxTitle); err != nil {
		return argument, err
	}
	if argument.Description, err = boundedMember(members, "description", MaxDescription); err != nil {
		return argument, err
	}
	if required := members["required"]; !isNull(required) && json.Unmarshal(required, &argument.Required) != nil {
		return argument, errors.New("required is not a boolean")
	}
	return argument, nil
}
