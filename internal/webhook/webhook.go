// SPDX-License-Identifier: Apache-2.0

// Package webhook is the one door through which a request from outside can answer a call
// of a Run that waits for it. Each such call has a URL of its own, whose last part is
// secret; whoever knows it can answer the call, once, until it expires.
package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 16 << 10

// The reasons for which a Receiver does not take a delivery. Every other error means that
// it may be tried again.
var (
	// ErrUnknown: there is no such call, or the token is not that of its URL. Which of
	// them it was is nobody's business who does not know the token.
	ErrUnknown = errors.New("no such webhook")
	// ErrGone: the token is right, and the call has been answered, has expired, or its Run
	// has ended.
	ErrGone = errors.New("the webhook is closed")
	// ErrTooLarge: the token is right, and the body does not fit beside those of other
	// calls that wait.
	ErrTooLarge = errors.New("the body is too large")
)

// Delivery is a request to the URL of one call. Its parts have the form that they must
// have, and nothing more is known of them.
type Delivery struct {
	Namespace string
	Run       string
	Call      v1alpha1.CallID
	Token     string
	// Body is UTF-8 text of at most MaxBody bytes, which may be empty. Its only control
	// characters are tabs and line feeds.
	Body string
}

// Receiver takes deliveries. That it returns nil means that the body is durable, and that
// no second delivery to the same URL ever gets nil.
type Receiver interface {
	Receive(ctx context.Context, delivery Delivery) error
}

// root is where the paths of all webhooks begin.
const root = "/webhooks/"

// tokenDomain is the domain of the digests of tokens.
const tokenDomain canonical.Domain = "remit.dev/webhook-token/v1"

// tokenBytes is how many random bytes a token has.
const tokenBytes = 32

// tokenLength is the length of a token: base64url without padding.
var tokenLength = base64.RawURLEncoding.EncodedLen(tokenBytes)

// NewToken makes the secret part of a URL: 32 random bytes as base64url.
func NewToken(random io.Reader) (string, error) {
	var secret [tokenBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", fmt.Errorf("draw the token of a webhook: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret[:]), nil
}

// Digest is what may be shown of a token.
func Digest(token string) v1alpha1.Digest {
	return v1alpha1.Digest(canonical.Hash(tokenDomain, []byte(token)).String())
}

// URL is where the request for a call is awaited: BASE/webhooks/NAMESPACE/RUN/CALL/TOKEN.
func URL(base, namespace, run string, call v1alpha1.CallID, token string) string {
	return base + path(namespace, run, call) + token
}

// TokenIn finds the token in the URL of a call, whatever its base is.
func TokenIn(address, namespace, run string, call v1alpha1.CallID) (token string, ok bool) {
	_, token, ok = strings.Cut(address, path(namespace, run, call))
	return token, ok && isToken(token)
}

// path is that of the URL of a call, up to the token.
func path(namespace, run string, call v1alpha1.CallID) string {
	return root + namespace + "/" + run + "/" + string(call) + "/"
}

// maxBase bounds the part of a URL that the operator's settings give.
const maxBase = 1024

// ParseBase checks the public part of the URLs and gives it without a slash at its end.
func ParseBase(text string) (string, error) {
	base, err := url.Parse(text)
	switch {
	case len(text) > maxBase:
		return "", fmt.Errorf("it has more than %d bytes", maxBase)
	case err != nil:
		return "", fmt.Errorf("%q is no URL such as https://webhooks.example.com", text)
	case base.Scheme != "https" || base.Hostname() == "":
		return "", fmt.Errorf("%q is no https URL with a host such as https://webhooks.example.com", text)
	case base.User != nil, strings.ContainsAny(text, "?#"):
		return "", errors.New("it has a user, a query or a fragment: give the scheme, the host and a path alone")
	}
	return strings.TrimRight(base.String(), "/"), nil
}

var callPattern = regexp.MustCompile(`^call-[0-9a-f]{16}$`)

// maxPath is the length of the longest path that can be one of a webhook.
var maxPath = len(path(strings.Repeat("n", validation.DNS1123LabelMaxLength),
	strings.Repeat("r", validation.DNS1123SubdomainMaxLength), "call-0123456789abcdef")) + tokenLength

// parsePath reads the path of a request. It looks at the form alone, so that nothing is
// looked up for what cannot be there.
func parsePath(path string) (Delivery, bool) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok || len(path) > maxPath {
		return Delivery{}, false
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 4 {
		return Delivery{}, false
	}
	delivery := Delivery{Namespace: parts[0], Run: parts[1], Call: v1alpha1.CallID(parts[2]), Token: parts[3]}
	ok = len(validation.IsDNS1123Label(delivery.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(delivery.Run)) == 0 &&
		callPattern.MatchString(string(delivery.Call)) && isToken(delivery.Token)
	return delivery, ok
}

// isToken says whether text has the form of a token, and is the only text of its bytes.
func isToken(text string) bool {
	if len(text) != tokenLength {
		return false
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(secret) == tokenBytes
}
