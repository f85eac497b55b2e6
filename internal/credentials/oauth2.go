// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/egress"
)

const (
	// tokenTimeout bounds one request to a token endpoint.
	tokenTimeout = 30 * time.Second
	// maxTokenDetail bounds what a message quotes of a token endpoint, in bytes.
	maxTokenDetail = 512
)

// tokenClient is a client of a token endpoint, with everything that a request depends on.
type tokenClient struct {
	tenant string
	// secret names the Secret in messages.
	secret *secret
	config clientcredentials.Config
}

// accessToken gives the access token of a client, one that is held or a new one.
func (r *Resolver) accessToken(ctx context.Context, use Use, held *secret, refused Value) (Value, error) {
	from := use.Credential.OAuth2
	if err := held.mayGoTo(from.TokenURL); err != nil {
		return Value{}, err
	}
	client, err := held.client(from)
	if err != nil {
		return Value{}, err
	}
	token, err := r.tokens.get(ctx, client.fingerprint(), refused.secret, func(ctx context.Context) (issued, error) {
		return client.ask(ctx, r.guard.Transport(egress.For(use.Namespace, from.TokenURL, true)))
	})
	if err != nil {
		return Value{}, err
	}
	return bearerValue(token), nil
}

// client reads id and secret from one Secret, so that they belong together.
func (s *secret) client(from *v1alpha1.OAuth2Credential) (*tokenClient, error) {
	id := from.ClientID
	if from.ClientIDKey != "" {
		var err error
		if id, err = s.line(from.ClientIDKey); err != nil {
			return nil, err
		}
	}
	password, err := s.line(from.ClientSecretKey)
	switch {
	case err != nil:
		return nil, err
	case id == "":
		return nil, s.missing("key %q of %s is empty", from.ClientIDKey, s)
	case password == "":
		return nil, s.missing("key %q of %s is empty", from.ClientSecretKey, s)
	}
	client := &tokenClient{tenant: s.namespace, secret: s, config: clientcredentials.Config{
		ClientID: id, ClientSecret: password, TokenURL: from.TokenURL,
		Scopes: slices.Sorted(slices.Values(from.Scopes)), EndpointParams: url.Values{},
		// Never found out by trying, which would send the secret in two ways.
		AuthStyle: oauth2.AuthStyleInHeader,
	}}
	if from.ClientAuthentication == v1alpha1.ClientSecretPost {
		client.config.AuthStyle = oauth2.AuthStyleInParams
	}
	if from.Audience != "" {
		client.config.EndpointParams.Set("audience", from.Audience)
	}
	if from.Resource != "" {
		client.config.EndpointParams.Set("resource", from.Resource)
	}
	return client, nil
}

// fingerprint stands for the client in the key of its token. The tenant is part of it:
// nobody gets a token that another namespace's Secret paid for.
func (c *tokenClient) fingerprint() string {
	sum := sha256.New()
	for _, part := range []string{
		"remit.dev/oauth2/v1", c.tenant, c.config.TokenURL, c.config.ClientID, c.config.ClientSecret,
		fmt.Sprint(c.config.AuthStyle), strings.Join(c.config.Scopes, " "), c.config.EndpointParams.Encode(),
	} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ask makes one token request.
func (c *tokenClient) ask(ctx context.Context, transport http.RoundTripper) (issued, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport: transport, Timeout: tokenTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	asked := time.Now()
	token, err := c.config.Token(ctx)
	if err != nil {
		return issued{}, c.failure(err)
	}
	switch {
	case !strings.EqualFold(token.Type(), "Bearer"):
		return issued{}, c.unavailable(nil, "gives a token of type %q, and only bearer tokens are understood", c.quote(token.TokenType))
	case len(token.AccessToken) > MaxValue,
		strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return issued{}, c.unavailable(nil, "gives a token that no HTTP header can carry")
	}
	given := issued{value: token.AccessToken}
	if !token.Expiry.IsZero() {
		given.lifetime = max(token.Expiry.Sub(asked), time.Second)
	}
	return given, nil
}

// failure says what became of a request that brought no token. Bodies are not quoted, but
// for the members of an OAuth error.
func (c *tokenClient) failure(err error) error {
	if denied, ok := errors.AsType[*egress.Denied](err); ok {
		return &Error{Reason: v1alpha1.ReasonEgressDenied, Detail: fmt.Sprintf("token endpoint of %s: %v", c.secret, denied), cause: denied}
	}
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return c.noAnswer(err)
	}
	status := answer.Response.StatusCode
	because := ""
	if said := c.quote(answer.ErrorCode + ": " + answer.ErrorDescription); answer.ErrorCode != "" {
		because = ": " + strings.TrimSuffix(said, ":")
	}
	switch {
	case status/100 == 3:
		to := "another place"
		if location, err := answer.Response.Location(); err == nil {
			to = fmt.Sprintf("host %q", location.Host)
		}
		return c.refused("redirects to %s, and redirects are not followed: set tokenURL to where it really is", to)
	case status == http.StatusTooManyRequests, status >= 500:
		return c.unavailable(nil, "gives no token (HTTP %d)%s", status, because)
	default:
		return c.refused("gives no token (HTTP %d)%s: check tokenURL, the client's id and secret, and the scopes", status, because)
	}
}

// noAnswer words an error of the network so that it reads the same each time, without the
// port of this end.
func (c *tokenClient) noAnswer(err error) error {
	var network net.Error
	name, isName := errors.AsType[*net.DNSError](err)
	operation, isOperation := errors.AsType[*net.OpError](err)
	request, isRequest := errors.AsType[*url.Error](err)
	switch {
	case isName && name.IsNotFound:
		return c.unavailable(err, "cannot be reached: the host %q does not exist", name.Name)
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return c.unavailable(err, "does not answer in time")
	case isOperation:
		sourceless := *operation
		sourceless.Source = nil
		return c.unavailable(err, "cannot be reached: %v", &sourceless)
	case isRequest: // without the URL
		return c.unavailable(err, "cannot be reached: %v", request.Err)
	default: // what the library says of the answer's content may quote it
		return c.unavailable(nil, "answers with something that is no token: check tokenURL")
	}
}

func (c *tokenClient) refused(format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonTokenRefused, Detail: c.named(format, args)}
}

func (c *tokenClient) unavailable(cause error, format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonTokenUnavailable, Detail: c.named(format, args), Temporary: true, cause: cause}
}

func (c *tokenClient) named(format string, args []any) string {
	host := ""
	if parsed, err := url.Parse(c.config.TokenURL); err == nil {
		host = parsed.Host
	}
	return fmt.Sprintf("token endpoint %q for %s ", host, c.secret) + fmt.Sprintf(format, args...)
}

// quote makes text of an endpoint fit for a condition: one line, bounded, without the
// client's secret in any form in which it was sent.
func (c *tokenClient) quote(text string) string {
	id, secret := url.QueryEscape(c.config.ClientID), url.QueryEscape(c.config.ClientSecret)
	basic := base64.StdEncoding.EncodeToString([]byte(id + ":" + secret))
	for _, form := range []string{basic, secret, c.config.ClientSecret} {
		text = strings.ReplaceAll(text, form, redacted)
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
	if len(text) > maxTokenDetail {
		text = strings.ToValidUTF8(text[:maxTokenDetail], "") + "…"
	}
	return text
}
