// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// DefaultTimeout is how long one call may take when OpenAIOptions does not say. Models
// that reason first take minutes.
const DefaultTimeout = 5 * time.Minute

// maxBody bounds an answer, in bytes, after decompression.
const maxBody = 4 << 20

// OpenAIOptions say how to reach an endpoint.
type OpenAIOptions struct {
	// BaseURL is what the API's paths are relative to, such as https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token; an empty one is not sent.
	Key APIKey
	// Header is the header that carries the key, as it is and instead of a bearer
	// token. Empty means a bearer token.
	Header string
	// Transport makes the connections. It is required, so that none goes around the
	// egress guard by omission.
	Transport http.RoundTripper
	// Timeout bounds one call as a whole; zero means DefaultTimeout.
	Timeout time.Duration
}

// OpenAI is a Provider that speaks the chat completions protocol with any compatible
// endpoint. It takes nothing from the environment, follows no redirect and retries
// nothing.
type OpenAI struct {
	completions openai.ChatCompletionService
	key         APIKey
	timeout     time.Duration
}

// NewOpenAI checks the options. The error names the field and never the key.
func NewOpenAI(options OpenAIOptions) (*OpenAI, error) {
	if err := checkBaseURL(options.BaseURL); err != nil {
		return nil, err
	}
	if options.Transport == nil {
		return nil, errors.New("model: no transport for the endpoint")
	}
	if !options.Key.sendable() {
		return nil, errors.New("model: the API key holds characters that no HTTP header can carry; store the key alone in the Secret")
	}
	provider := &OpenAI{key: options.Key, timeout: options.Timeout}
	if provider.timeout <= 0 {
		provider.timeout = DefaultTimeout
	}
	client := &http.Client{
		Transport:     options.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	credential := option.WithAPIKey(options.Key.value)
	if options.Header != "" && !options.Key.isEmpty() {
		credential = option.WithHeader(options.Header, options.Key.value)
	}
	// The service is made without openai.NewClient, which would add what it finds in
	// the environment.
	provider.completions = openai.NewChatCompletionService(
		option.WithBaseURL(options.BaseURL),
		credential,
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithMiddleware(provider.screen),
	)
	return provider, nil
}

func checkBaseURL(base string) error {
	parsed, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("model: the endpoint is not a URL")
	case parsed.Scheme != "https" && parsed.Scheme != "http", parsed.Hostname() == "":
		return errors.New("model: the endpoint must be an absolute http or https URL")
	case parsed.User != nil:
		return errors.New("model: the endpoint must not hold a user name or password; use the Grant's credential")
	case parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "":
		return fmt.Errorf("model: the endpoint on %s must have neither a query nor a fragment", parsed.Host)
	}
	return nil
}

// Complete implements Provider.
func (o *OpenAI) Complete(ctx context.Context, request Request) (Completion, error) {
	params, err := chatParams(request)
	if err != nil {
		return Completion{}, err
	}
	callCtx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	var body []byte
	if _, err = o.completions.New(callCtx, params, option.WithResponseBodyInto(&body)); err == nil {
		var completion Completion
		if completion, err = readCompletion(body); err == nil {
			return completion, nil
		}
	}
	if ctx.Err() != nil {
		return Completion{}, ctx.Err()
	}
	if callCtx.Err() != nil {
		return Completion{}, &Error{Kind: KindTimeout, Detail: fmt.Sprintf("no answer within %s", o.timeout)}
	}
	failure := classify(err)
	// Cleaned before the key is looked for, or characters strewn into it would hide it,
	// and again to hold the bound.
	failure.Detail = printable(o.key.redact(printable(failure.Detail, maxErrorBody)), maxDetail)
	return Completion{}, failure
}
