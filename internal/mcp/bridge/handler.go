package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	sessionHeader   = "Mcp-Session-Id"
	jsonType        = "application/json"
	eventStreamType = "text/event-stream"
)

// handler serves the streamable HTTP transport (MCP 2025-11-25, basic/transports).
type handler struct {
	sessions      *sessions
	startTimeout  time.Duration
	credentialEnv string
}

func newHandler(o Options, bound net.Addr, ss *sessions) http.Handler {
	h := &handler{sessions: ss, startTimeout: o.StartTimeout, credentialEnv: o.CredentialEnv}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	guard := newGuard(bound, o.AllowedHosts)
	mux.Handle("POST /mcp", guard(h.post))
	mux.Handle("GET /mcp", guard(h.get))
	mux.Handle("DELETE /mcp", guard(h.delete))
	return mux
}

// post takes one message from a client.
func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	id := r.Header.Get(sessionHeader)
	switch {
	case id == "" && m.method == "initialize" && m.isRequest():
		h.initialize(w, r, m)
	case id == "" && m.method == "server/discover" && m.isRequest():
		// A client that gets this falls back to initialize.
		writeJSON(w, http.StatusOK, errorMessage(m.id, codeMethodNotFound, "Method not found"))
	case id == "":
		refuse(w, http.StatusBadRequest, codeBadRequest, "the Mcp-Session-Id header is required: initialize first")
	default:
		s := h.session(r)
		switch {
		case s == nil:
			refuse(w, http.StatusNotFound, codeNoSession, "Session not found")
		case m.isRequest():
			h.request(w, r, s, m)
		default:
			if err := s.send(r.Context(), m); err != nil {
				refuseSend(w, err)
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// session is the one that the request names, if it carries the credential that the session was opened with.
func (h *handler) session(r *http.Request) *session {
	var credential digest
	if h.credentialEnv != "" {
		_, credential, _ = credentialOf(r)
	}
	return h.sessions.find(r.Header.Get(sessionHeader), credential)
}

// readMessage reads the body, or answers why it cannot.
func readMessage(w http.ResponseWriter, r *http.Request) (message, bool) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != jsonType {
		refuse(w, http.StatusUnsupportedMediaType, codeNotRPC, "the Content-Type must be application/json")
		return message{}, false
	}
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTimeout)) // every real connection has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestBytes))
	_ = deadline.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, codeNotRPC, fmt.Sprintf("the message is over %d bytes", MaxRequestBytes))
		return message{}, false
	case err != nil:
		refuse(w, http.StatusBadRequest, codeNotRPC, "the message could not be read")
		return message{}, false
	}
	m, err := parseMessage(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeNotRPC, err.Error())
		return message{}, false
	}
	return m, true
}

// initialize opens a session. It stands only if the server answers without an error.
func (h *handler) initialize(w http.ResponseWriter, r *http.Request, m message) {
	token, credential := "", digest{}
	if h.credentialEnv != "" {
		var ok bool
		if token, credential, ok = credentialOf(r); !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, codeBadRequest, "the server takes its credential from the Authorization header, as a bearer token")
			return
		}
	}
	s, err := h.sessions.open(token, credential)
	if err != nil {
		refuseOpen(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.startTimeout)
	defer cancel()
	answer, err := s.initialize(ctx, m)
	if err != nil {
		h.sessions.end(s, errEnded)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the server process did not answer initialize within %s", h.startTimeout)
		}
		if s.hub == nil { // of a shared process the hub knows more
			err = errors.New(s.process.diagnosis(err.Error()))
			if r.Context().Err() == nil {
				h.sessions.noteStart(credential, err)
			}
		}
		refuse(w, http.StatusBadGateway, codeChildFailed, err.Error())
		return
	}
	if isError(answer) {
		h.sessions.end(s, errEnded)
	} else {
		w.Header().Set(sessionHeader, s.id)
		h.sessions.noteStart(credential, nil)
	}
	writeJSON(w, http.StatusOK, answer)
}

// refuseOpen says why there is no session.
func refuseOpen(w http.ResponseWriter, err error) {
	wait := 5 * time.Second
	if paused, ok := errors.AsType[*pausedError](err); ok {
		wait = paused.wait
	} else if !errors.Is(err, errFull) && !errors.Is(err, errClosed) {
		refuse(w, http.StatusBadGateway, codeChildFailed, err.Error())
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	refuse(w, http.StatusServiceUnavailable, codeBadRequest, err.Error())
}

// refuseSend says why a message was not passed on.
func refuseSend(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errEnded):
		refuse(w, http.StatusNotFound, codeNoSession, "Session not found")
	case errors.Is(err, errTooMany):
		refuse(w, http.StatusTooManyRequests, codeBadRequest, err.Error())
	default:
		refuse(w, http.StatusBadRequest, codeNotRPC, err.Error())
	}
}

// request passes a request on and answers with a JSON body, or with a stream as soon as the child has
// something to say before the answer.
func (h *handler) request(w http.ResponseWriter, r *http.Request, s *session, m message) {
	to := newReceiver(strings.Contains(strings.Join(r.Header.Values("Accept"), ","), eventStreamType))
	if err := s.expect(m.id, to); err != nil {
		refuse(w, http.StatusTooManyRequests, codeBadRequest, err.Error())
		return
	}
	defer s.forget(m.id, to)
	if err := s.send(r.Context(), m); err != nil {
		refuseSend(w, err)
		return
	}
	stream := eventStream{w: w}
	for {
		d, err := to.next(r.Context(), s)
		switch {
		case err != nil && stream.open:
			return // the stream ends without an answer, which tells the client that there is none
		case err != nil:
			refuse(w, http.StatusBadGateway, codeChildFailed, s.process.diagnosis(err.Error()))
			return
		case d.last && !stream.open:
			writeJSON(w, http.StatusOK, d.line)
			return
		}
		if stream.send(d.line) != nil || d.last {
			return
		}
	}
}

// get opens the session's standing stream.
func (h *handler) get(w http.ResponseWriter, r *http.Request) {
	s := h.session(r)
	if s == nil {
		refuse(w, http.StatusNotFound, codeNoSession, "Session not found")
		return
	}
	to := newReceiver(true)
	if !s.stand(to) {
		refuse(w, http.StatusConflict, codeBadRequest, "the session has a stream already")
		return
	}
	defer s.unstand(to)
	stream := eventStream{w: w}
	if stream.start() != nil {
		return
	}
	for {
		d, err := to.next(r.Context(), s)
		if err != nil || stream.send(d.line) != nil {
			return
		}
	}
}

func (h *handler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.session(r)
	if s == nil {
		refuse(w, http.StatusNotFound, codeNoSession, "Session not found")
		return
	}
	h.sessions.end(s, errDeleted)
	w.WriteHeader(http.StatusNoContent)
}

func isError(answer []byte) bool {
	var envelope struct {
		Error *struct{} `json:"error"`
	}
	return json.Unmarshal(answer, &envelope) != nil || envelope.Error != nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone cannot be told
}

// refuse answers with an error that names no request: the message has had no effect, or none that is known.
func refuse(w http.ResponseWriter, status, code int, text string) {
	writeJSON(w, status, errorMessage("", code, text))
}

// eventStream writes server-sent events.
type eventStream struct {
	w    http.ResponseWriter
	open bool
}

func (s *eventStream) start() error {
	s.open = true
	s.w.Header().Set("Content-Type", eventStreamType)
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	return http.NewResponseController(s.w).Flush()
}

func (s *eventStream) send(line []byte) error {
	if !s.open {
		if err := s.start(); err != nil {
			return err
		}
	}
	for _, part := range [][]byte{[]byte("data: "), line, []byte("\n\n")} {
		if _, err := s.w.Write(part); err != nil {
			return err
		}
	}
	return http.NewResponseController(s.w).Flush()
}
