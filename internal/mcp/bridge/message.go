package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
)

// message is what the bridge reads of a JSON-RPC message; the rest passes through unread.
type message struct {
	raw    []byte // one line, without its end
	id     string // the id as written; "" when there is none
	method string // "" for a response
}

func (m message) isRequest() bool  { return m.method != "" && m.id != "" }
func (m message) isResponse() bool { return m.method == "" }

var errNotRPC = errors.New("not a JSON-RPC 2.0 message")

// parseMessage reads one message. Batches, which MCP has dropped, are refused.
func parseMessage(raw []byte) (message, error) {
	raw = bytes.TrimSpace(raw)
	var envelope struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &envelope) != nil || envelope.Version != "2.0" {
		return message{}, errNotRPC
	}
	m := message{raw: raw}
	if string(envelope.ID) != "null" {
		m.id = string(envelope.ID)
	}
	switch {
	case envelope.Method != nil && *envelope.Method == "",
		envelope.Method == nil && envelope.Result == nil && envelope.Error == nil:
		return message{}, errNotRPC
	case envelope.Method != nil:
		m.method = *envelope.Method
	}
	return m, nil
}

// oneLine is the message without line breaks, which may only stand between its tokens. Without any it is
// returned as it is.
func oneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil { // unreachable: raw was parsed
		return bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return ' '
			}
			return r
		}, raw)
	}
	return line.Bytes()
}

// JSON-RPC error codes, those of the MCP reference servers where they have one.
const (
	codeNotRPC         = -32600
	codeMethodNotFound = -32601
	codeBadRequest     = -32000
	codeNoSession      = -32001
	codeChildFailed    = -32002
)

// errorMessage is a JSON-RPC error response; id is raw JSON, "" for null.
func errorMessage(id string, code int, text string) []byte {
	if id == "" {
		id = "null"
	}
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	answer.Version, answer.ID = "2.0", json.RawMessage(id)
	answer.Error.Code, answer.Error.Message = code, text
	data, err := json.Marshal(answer)
	if err != nil { // unreachable: id was parsed
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return data
}
