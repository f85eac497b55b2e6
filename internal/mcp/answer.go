package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const eventStream = "text/event-stream"

// readWhole reads a response that is not a stream and records what it was.
func readWhole(ex *exchange, call *jsonrpc.Request, resp *http.Response, body io.ReadCloser) {
	defer body.Close()
	switch {
	case resp.StatusCode/100 != 2:
		recordRefusal(ex, call, resp, body)
	case mediaType(resp) != "application/json":
		ex.failed(faultGarbage, fmt.Sprintf("the server answered HTTP %d with content type %q instead of JSON",
			resp.StatusCode, resp.Header.Get("Content-Type")), nil)
	default:
		data, err := readBounded(body, ex.limit)
		if err != nil {
			recordReadError(ex, err)
			return
		}
		recordAnswer(ex, call, data)
	}
}

// recordAnswer records a JSON-RPC response that ends the call.
func recordAnswer(ex *exchange, call *jsonrpc.Request, data []byte) {
	result, rpc, err := decodeAnswer(ex.scrub(data), call.ID)
	if err != nil {
		ex.failed(faultGarbage, "the server's answer is not MCP: "+err.Error(), nil)
		return
	}
	ex.answered(result, rpc)
}

// recordRefusal records a redirect or an HTTP error. A JSON-RPC error in it counts as the answer only when it names the
// request; otherwise its message is merely what the server had to say.
func recordRefusal(ex *exchange, call *jsonrpc.Request, resp *http.Response, body io.Reader) {
	if resp.StatusCode/100 == 3 {
		ex.failed(faultRedirect, redirectHost(resp), nil)
		return
	}
	data, _ := io.ReadAll(io.LimitReader(body, maxRefusalBytes))
	if call != nil {
		if _, rpc, err := decodeAnswer(data, call.ID); err == nil && rpc != nil {
			ex.answered(nil, rpc)
			return
		}
	}
	var problem struct {
		Error rpcError `json:"error"`
	}
	text := ""
	switch {
	case json.Unmarshal(data, &problem) == nil && problem.Error.Message != "":
		text = problem.Error.Message
	case mediaType(resp) != "text/html":
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		text = resp.Header.Get("WWW-Authenticate")
	}
	ex.failed(faultStatus, text, nil)
}

func recordReadError(ex *exchange, err error) {
	if errors.Is(err, errTooLarge) {
		ex.failed(faultTooLarge, err.Error(), nil)
		return
	}
	ex.failed(faultTransport, "", err)
}

// decodeAnswer reads a JSON-RPC response to the request with the given id.
func decodeAnswer(data []byte, id jsonrpc.ID) (json.RawMessage, *rpcError, error) {
	var message struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  json.RawMessage `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   *rpcError       `json:"error"`
	}
	if err := json.Unmarshal(data, &message); err != nil {
		return nil, nil, fmt.Errorf("not a JSON-RPC message: %w", err)
	}
	got, err := jsonrpc.MakeID(message.ID)
	switch {
	case message.Version != "2.0":
		return nil, nil, fmt.Errorf(`the "jsonrpc" member is %q, not "2.0"`, truncate(message.Version, 20))
	case message.Method != nil:
		return nil, nil, errors.New("a request came where a response was due")
	case err != nil || got != id:
		return nil, nil, errors.New("the response's id is not that of the request")
	case message.Error != nil:
		return nil, message.Error, nil
	case message.Result == nil:
		return nil, nil, errors.New("the response has neither a result nor an error")
	}
	return message.Result, nil, nil
}

var errTooLarge = errors.New("the answer is too large")

func tooLarge(limit int64) error { return fmt.Errorf("%w: over %d bytes", errTooLarge, limit) }

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	}
	return data, err
}

// standIn is the answer that the SDK is shown. Results of the methods that are decoded here are replaced
// by empty ones; those that the SDK acts upon (initialize, discover) pass.
func standIn(call *jsonrpc.Request, o outcome) []byte {
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *rpcError       `json:"error,omitempty"`
	}
	answer.Version, answer.ID = "2.0", call.ID.Raw()
	switch {
	case o.rpc != nil:
		answer.Error = o.rpc
	case o.result == nil:
		answer.Error = &rpcError{Code: jsonrpc.CodeInternalError, Message: "no usable answer"}
	case call.Method == "tools/list":
		answer.Result = headerTools(o.result)
	case call.Method == "tools/call":
		answer.Result = json.RawMessage(`{"content":[]}`)
	case call.Method == "prompts/list":
		answer.Result = json.RawMessage(`{"prompts":[]}`)
	default:
		answer.Result = o.result
	}
	data, err := json.Marshal(answer)
	if err != nil { // unreachable: both raw members were decoded from valid JSON
		return []byte(`{}`)
	}
	return data
}

// headerTools is a page of tools/list with only the tools whose schemas map arguments to headers, which is
// all that the SDK needs to know of tools.
func headerTools(result json.RawMessage) json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	page := struct {
		Tools []tool `json:"tools"`
	}{Tools: []tool{}}
	mark := []byte(`"x-mcp-header"`)
	var sent struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if bytes.Contains(result, mark) && json.Unmarshal(result, &sent) == nil {
		for _, raw := range sent.Tools {
			var t tool
			if bytes.Contains(raw, mark) && json.Unmarshal(raw, &t) == nil && checkDepth(t.InputSchema, MaxDepth) == nil {
				page.Tools = append(page.Tools, t)
			}
		}
	}
	data, err := json.Marshal(page)
	if err != nil { // unreachable: the schemas were decoded from valid JSON
		return json.RawMessage(`{"tools":[]}`)
	}
	return data
}

// wholeResponse wraps the stand-in as a JSON response.
func wholeResponse(req *http.Request, call *jsonrpc.Request, resp *http.Response, o outcome) *http.Response {
	data := standIn(call, o)
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: sdkHeader(call, resp, "application/json"),
		ContentLength: int64(len(data)), Body: io.NopCloser(bytes.NewReader(data)),
	}
}

// streamResponse wraps a filtered stream.
func streamResponse(req *http.Request, call *jsonrpc.Request, resp *http.Response, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: sdkHeader(call, resp, eventStream),
		ContentLength: -1, Body: body,
	}
}

// failedStream is a stream that ends the call at once.
func failedStream(req *http.Request, call *jsonrpc.Request) *http.Response {
	data := encodeEvent(event{data: standIn(call, outcome{})})
	return streamResponse(req, call, nil, io.NopCloser(bytes.NewReader(data)))
}

func emptyResponse(req *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req, Header: http.Header{}}
}

// sdkHeader keeps the session id of the handshake. A server that names another one later would make the
// SDK give the session up.
func sdkHeader(call *jsonrpc.Request, resp *http.Response, contentType string) http.Header {
	const sessionID = "Mcp-Session-Id"
	header := http.Header{"Content-Type": {contentType}}
	if call.Method == "initialize" && resp != nil && resp.Header.Get(sessionID) != "" {
		header.Set(sessionID, resp.Header.Get(sessionID))
	}
	return header
}

func mediaType(resp *http.Response) string {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// redirectHost is the host of a Location. The rest of it may hold a secret.
func redirectHost(resp *http.Response) string {
	location, err := url.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil:
		return "unknown"
	case location.Host == "" && resp.Request != nil:
		return resp.Request.URL.Host
	}
	return location.Host
}
