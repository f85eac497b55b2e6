package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// fault is how an exchange ended when it did not end with an answer to the request.
type fault int

const (
	noFault        fault = iota
	faultTransport       // no answer, or one that was cut off
	faultStatus          // an HTTP error that carries no JSON-RPC error for the request
	faultRedirect        // 3xx; text names the host
	faultGarbage         // an answer that is not MCP; text says why
	faultTooLarge        // an answer beyond the limit
)

// rpcError is the error member of a JSON-RPC response.
type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// outcome is what is known of one request once it is over. Exactly one of result, rpc and fault tells
// the end; with none of them the request is still open, or was given up by its context.
type outcome struct {
	begun  bool // the transport was given the request
	sent   bool // its bytes may have reached the server
	status int
	// challenge says that the answer had a WWW-Authenticate header.
	challenge bool
	text      string // what the server wrote when it refused, or what was wrong with its answer
	result    json.RawMessage
	rpc       *rpcError
	fault     fault
	err       error // what the HTTP transport said
}

// exchange is one request and its answer, carried in the request's context from the caller through the
// SDK to the transport and back. Where several requests share a context, the last one counts.
type exchange struct {
	limit int64 // bytes of the answer
	// secret is kept out of what the server answers.
	secret Credential

	mu          sync.Mutex
	now         outcome
	request     *jsonrpc.Request
	lastEventID string
	stalls      int
}

type exchangeKey struct{}

func withExchange(ctx context.Context, ex *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

// exchangeFrom never returns nil: a request that nobody watches gets an exchange of its own.
func exchangeFrom(ctx context.Context) *exchange {
	if ex, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return ex
	}
	return &exchange{limit: maxInitializeBytes}
}

// begin starts the record of a request that is sent with a credential; nil stands for the notification
// that ends the handshake.
func (ex *exchange) begin(request *jsonrpc.Request, secret Credential) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.secret = secret
	// Until the transport proves the opposite, a request counts as sent.
	ex.now, ex.request = outcome{begun: true, sent: true}, request
	ex.lastEventID, ex.stalls = "", 0
}

func (ex *exchange) update(change func(*outcome)) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	change(&ex.now)
}

// answer records the head of an answer.
func (ex *exchange) answer(resp *http.Response) {
	ex.update(func(o *outcome) { o.status, o.challenge = resp.StatusCode, resp.Header.Get("WWW-Authenticate") != "" })
}

// answered records a response, over whatever an interrupted stream left behind.
func (ex *exchange) answered(result json.RawMessage, rpc *rpcError) {
	ex.update(func(o *outcome) { o.result, o.rpc, o.fault, o.err = result, rpc, noFault, nil })
}

func (ex *exchange) failed(f fault, text string, err error) {
	ex.update(func(o *outcome) { o.fault, o.text, o.err = f, text, err })
}

func (ex *exchange) outcome() outcome {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.now
}

// scrub takes the credential out of an answer.
func (ex *exchange) scrub(data []byte) []byte {
	ex.mu.Lock()
	secret := ex.secret
	ex.mu.Unlock()
	return secret.scrub(data)
}

// current is the request that the exchange is about, nil before there is one.
func (ex *exchange) current() *jsonrpc.Request {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.request
}

// stalled counts a resumption from lastEventID and reports whether too many in a row brought nothing.
func (ex *exchange) stalled(lastEventID string) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if lastEventID != ex.lastEventID {
		ex.lastEventID, ex.stalls = lastEventID, 0
	}
	ex.stalls++
	return ex.stalls > maxStalledResumes
}
