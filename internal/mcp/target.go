package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Target says which server to talk to, for whom, and with what. It is a value of one call: the caller
// builds it from what the API objects say at that moment.
type Target struct {
	// Namespace is the tenant.
	Namespace string
	// Server is the "namespace/name" of the MCPServer; it names the server in errors.
	Server string
	// URL is the endpoint, http or https, without user information.
	URL string
	// Headers are sent with every request. They hold no secret: that is the Credential's place.
	Headers map[string]string
	// Credential is what authenticates this call.
	Credential Credential
	// Renew, when set, resolves the credential once more after the server refused it. A
	// result of the same fingerprint says that there is no better one.
	Renew func(context.Context) (Credential, error) `json:"-"`
	// Report, when set, is told how each call ended: with nil or an *Error.
	Report func(context.Context, error) `json:"-"`
	// ClusterInternal says that the server may have a private address, as the Services of clusters do.
	ClusterInternal bool
	// Bridged says that the server speaks stdio behind a bridge of the operator's.
	Bridged bool
}

// reservedHeaders belong to HTTP or to the MCP transport; a Target that set one would break either.
var reservedHeaders = map[string]bool{
	"Accept": true, "Connection": true, "Content-Length": true, "Content-Type": true, "Host": true,
	"Keep-Alive": true, "Last-Event-Id": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// validate returns an error of kind Invalid that names the field and the rule, never a value that
// could hold a secret.
func (t Target) validate() error {
	invalid := func(format string, args ...any) error {
		return &Error{Kind: Invalid, Server: t.Server, Detail: fmt.Sprintf(format, args...)}
	}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return invalid("url: cannot be parsed; write http(s)://host[:port]/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return invalid("url: scheme %q is not http or https", u.Scheme)
	case u.Host == "":
		return invalid("url: names no host")
	case u.User != nil:
		return invalid("url: holds user information; put the secret into the credential")
	}
	for name, value := range t.Headers {
		if err := checkHeader(name, value); err != nil {
			return invalid("headers[%q]: %v", name, err)
		}
	}
	if c := t.Credential; !c.IsZero() {
		if err := checkHeader(c.Header, c.Value); err != nil {
			return invalid("credential: header %q: %v", c.Header, err)
		}
	}
	return nil
}

func checkHeader(name, value string) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("is not a valid header name")
	case reservedHeaders[canonical] || strings.HasPrefix(canonical, "Mcp-"):
		return fmt.Errorf("belongs to the transport and cannot be set")
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("its value holds characters that a header cannot carry, such as a line break")
	}
	return nil
}

// header is what every request to the target carries. The credential wins over a header of its name.
func (t Target) header() http.Header {
	h := make(http.Header, len(t.Headers)+1)
	for name, value := range t.Headers {
		h.Set(name, value)
	}
	if !t.Credential.IsZero() {
		h.Set(t.Credential.Header, t.Credential.Value)
	}
	return h
}

// endpoint identifies the URL, the headers and the way there, so that a session opened for an older
// MCPServer is replaced.
func (t Target) endpoint() string {
	sum := sha256.New()
	fmt.Fprintln(sum, t.ClusterInternal, t.Bridged)
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		fmt.Fprintf(sum, "%q %q\n", textproto.CanonicalMIMEHeaderKey(name), t.Headers[name])
	}
	return t.URL + " " + hex.EncodeToString(sum.Sum(nil)[:8])
}
