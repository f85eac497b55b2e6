package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeHeaderMismatch is the error of a server that misses a header which repeats an argument.
const codeHeaderMismatch = sdk.CodeHeaderMismatch

// session is one initialised MCP session.
type session struct {
	sdk       *sdk.ClientSession
	transport *sessionTransport
}

// dialer opens sessions.
type dialer struct {
	client          *sdk.Client
	transportFor    func(Target) http.RoundTripper
	timeout         time.Duration
	protocolVersion string
}

func newDialer(o Options) *dialer {
	client := sdk.NewClient(
		implementation(o.Version),
		&sdk.ClientOptions{
			// No roots, no sampling, no elicitation: nothing here may act on a server's behalf.
			Capabilities:   &sdk.ClientCapabilities{},
			MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		})
	client.AddReceivingMiddleware(declineRequests)
	return &dialer{client: client, transportFor: o.TransportFor, timeout: o.ConnectTimeout, protocolVersion: o.ProtocolVersion}
}

// implementation is what the client calls itself.
func implementation(version string) *sdk.Implementation {
	return &sdk.Implementation{Name: "remit", Version: version}
}

var errNoRequests = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client answers no requests"}

// declineRequests answers every request of a server but ping with "method not found".
func declineRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		return nil, errNoRequests
	}
}

// open initialises a session within the dialer's timeout. Values of ctx reach the HTTP transport, on this
// and on later requests of the SDK's own; its end ends the attempt.
func (d *dialer) open(ctx context.Context, t Target) (*session, *failure) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	transport := newSessionTransport(d.transportFor(t), t)
	stop := context.AfterFunc(ctx, transport.abort) // a failed handshake ends with a DELETE that could hang
	defer stop()

	ex := &exchange{limit: maxInitializeBytes}
	client, err := d.client.Connect(withExchange(ctx, ex), &sdk.StreamableClientTransport{
		Endpoint:             t.URL,
		HTTPClient:           &http.Client{Transport: transport, CheckRedirect: useLastResponse},
		DisableStandaloneSSE: true,
		MaxEventSize:         -1, // bounded by the transport, per method
	}, &sdk.ClientSessionOptions{ProtocolVersion: d.protocolVersion})
	if err != nil {
		transport.abort()
		return nil, connectFailure(ex.outcome(), ctx.Err(), t)
	}
	return &session{sdk: client, transport: transport}, nil
}

func useLastResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// connectFailure is judge for the handshake, where nothing of a call has been sent yet and the server owes
// us no memory of a session.
func connectFailure(o outcome, ctxErr error, t Target) *failure {
	f := judge(o, ctxErr, t.Credential)
	switch {
	case f == nil:
		f = &failure{kind: Protocol, status: o.status, detail: unsupportedVersion(o.result)}
	case f.kind == SessionLost && o.begun:
		f.kind = Protocol
		f.detail = httpStatus(o.status) + because(quote(o.text, t.Credential)) + checkURL
	case f.kind == SessionLost:
		f.kind, f.detail = Protocol, "the handshake could not be sent"
	}
	// A handshake has no effect. It is not repeated, but for another credential.
	f.sent, f.effect, f.retry = false, false, retryNever
	if f.kind == Unauthorized {
		f.renew, f.retry = true, retryAlways
	}
	return f
}

// unsupportedVersion says why a handshake that was answered failed all the same.
func unsupportedVersion(result json.RawMessage) string {
	var answer struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &answer) != nil || answer.ProtocolVersion == "" {
		return "the server's answer to initialize is not MCP" + checkURL
	}
	return "the server insists on protocol version " + quote(answer.ProtocolVersion, Credential{}) +
		", which this client does not speak"
}

// callTool calls a tool once. Of its answer at most limit bytes are accepted.
func (s *session) callTool(ctx context.Context, tool string, args json.RawMessage, limit int64) outcome {
	ex := &exchange{limit: limit}
	// The exchange knows more than the error does.
	_, _ = s.sdk.CallTool(withExchange(ctx, ex), &sdk.CallToolParams{Name: tool, Arguments: args})
	return ex.outcome()
}

// listTools asks for one page, of at most limit bytes.
func (s *session) listTools(ctx context.Context, cursor string, limit int64) outcome {
	ex := &exchange{limit: limit}
	_, _ = s.sdk.ListTools(withExchange(ctx, ex), &sdk.ListToolsParams{Cursor: cursor})
	return ex.outcome()
}

// close ends the session politely, and after the grace by force.
func (s *session) close(grace time.Duration) {
	timer := time.AfterFunc(grace, s.transport.abort)
	defer timer.Stop()
	_ = s.sdk.Close() // best effort: the server forgets an idle session by itself
	s.transport.abort()
}
