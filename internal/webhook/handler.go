// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

const (
	// maxReceiving bounds the deliveries that are looked up at the same time.
	maxReceiving = 64
	// receiveTimeout bounds how long one of them may take.
	receiveTimeout = 10 * time.Second
	// retryAfter is how many seconds a sender is asked to wait that comes at a bad time.
	retryAfter = "5"
)

// answers are all that a sender ever reads: one sentence for each status code.
var answers = map[int]string{
	http.StatusAccepted:              "The request was taken.\n",
	http.StatusBadRequest:            "The body is no plain text: it holds control characters, or it broke off.\n",
	http.StatusNotFound:              "There is no such webhook.\n",
	http.StatusMethodNotAllowed:      "A webhook takes POST requests only.\n",
	http.StatusRequestTimeout:        "The body did not come in time.\n",
	http.StatusGone:                  "This webhook has had its request, or has expired.\n",
	http.StatusRequestEntityTooLarge: "The body is too large.\n",
	http.StatusUnsupportedMediaType:  "A webhook takes JSON, text or a form, in UTF-8 and not compressed.\n",
	http.StatusServiceUnavailable:    "The request cannot be taken now: send it again later.\n",
}

// handler answers POST requests to the URLs of webhooks, and refuses all others.
type handler struct {
	receiver Receiver
	observe  func(code int)
	logger   logr.Logger
	// receiving has an element for each delivery that is being looked up.
	receiving chan struct{}
}

func newHandler(receiver Receiver, observe func(code int), logger logr.Logger) *handler {
	return &handler{receiver: receiver, observe: observe, logger: logger, receiving: make(chan struct{}, maxReceiving)}
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code := h.handle(w, r)
	discardRest(r)
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	switch code {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", retryAfter)
	}
	h.observe(code)
	w.WriteHeader(code)
	// A sender that does not read its answer has none.
	_, _ = io.WriteString(w, answers[code])
}

// handle gives the status code of the answer. What looks at links, as mail filters and
// chats do, sends no POST, and so uses none up.
func (h *handler) handle(w http.ResponseWriter, r *http.Request) int {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	delivery, ok := parsePath(r.URL.EscapedPath()) // no part of it has to be escaped
	if !ok {
		return http.StatusNotFound
	}
	// It is read before it takes one of the places: a slow sender holds up nobody else.
	body, refused := readBody(w, r)
	if refused != 0 {
		return int(refused)
	}
	delivery.Body = body

	select {
	case h.receiving <- struct{}{}:
		defer func() { <-h.receiving }()
	default:
		return http.StatusServiceUnavailable
	}
	return h.receive(r.Context(), delivery)
}

func (h *handler) receive(ctx context.Context, delivery Delivery) int {
	ctx, cancel := context.WithTimeout(ctx, receiveTimeout)
	defer cancel()
	logger := h.logger.WithValues("namespace", delivery.Namespace, "run", delivery.Run, "call", delivery.Call)
	err := h.receiver.Receive(ctx, delivery)
	switch {
	case err == nil:
		logger.Info("a webhook was received")
		return http.StatusAccepted
	case errors.Is(err, ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, ErrGone):
		return http.StatusGone
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	default:
		logger.Error(err, "a webhook could not be received")
		return http.StatusServiceUnavailable
	}
}
