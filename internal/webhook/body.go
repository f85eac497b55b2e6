// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// refusal is why a request is not looked at any further: the status code of its answer.
type refusal int

// readBody reads text of at most MaxBody bytes. Line ends become line feeds; no other
// control character than a tab has a place in text that a model, and people in a terminal,
// will read.
func readBody(w http.ResponseWriter, r *http.Request) (string, refusal) {
	// A length that is announced is refused before anything is sent.
	if r.ContentLength > MaxBody {
		return "", http.StatusRequestEntityTooLarge
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", http.StatusUnsupportedMediaType
	}
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return "", unread(err)
	}
	if len(content) == 0 {
		return "", 0 // that it came may be all there is to say
	}
	if !isText(r.Header.Get("Content-Type")) || !utf8.Valid(content) {
		return "", http.StatusUnsupportedMediaType
	}
	body := strings.ReplaceAll(string(content), "\r\n", "\n")
	if strings.ContainsFunc(body, func(c rune) bool { return unicode.IsControl(c) && c != '\t' && c != '\n' }) {
		return "", http.StatusBadRequest
	}
	return body, 0
}

func unread(err error) refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	default:
		return http.StatusBadRequest
	}
}

// maxDiscarded bounds what is read of a body that nobody looks at, in bytes.
const maxDiscarded = 256 << 10

// discardRest reads what is left of a body, within bounds: a sender that is still sending
// when the connection is closed never reads why. One that asks before it sends has time.
func discardRest(r *http.Request) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded)
	}
}

// isText says whether a media type is JSON, text or a form, in UTF-8.
func isText(contentType string) bool {
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch charset := strings.ToLower(parameters["charset"]); charset {
	case "", "utf-8", "us-ascii":
	default:
		return false
	}
	switch {
	case kind == "application/json", kind == "application/x-www-form-urlencoded":
		return true
	case strings.HasPrefix(kind, "text/"):
		return true
	default: // such as application/cloudevents+json
		return strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	}
}
