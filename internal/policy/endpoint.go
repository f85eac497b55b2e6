// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"remit.dev/remit/internal/gate"
)

// maxAnswer bounds the answer of a decision endpoint, in bytes.
const maxAnswer = 64 << 10

// Endpoint is a rule of an Open Policy Agent, asked through its REST API (v1/data).
type Endpoint struct {
	URL string
	// Client follows no redirects.
	Client *http.Client
	// Header is sent along, as for a credential.
	Header  http.Header
	Timeout time.Duration
}

// Decide asks once. Whatever is not a clear answer is a denial.
func (e *Endpoint) Decide(ctx context.Context, question *Question) gate.Decision {
	decision, err := e.ask(ctx, question)
	if err != nil {
		return gate.Denied("the decision endpoint gave no decision: " + clean(withoutURL(err).Error()))
	}
	decision.Reason = clean(decision.Reason)
	if decision.Reason == "" && decision.Verdict != gate.Allow {
		decision.Reason = "the decision endpoint gave no reason"
	}
	return decision
}

func (e *Endpoint) ask(ctx context.Context, question *Question) (gate.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	body, err := json.Marshal(map[string]*Question{"input": question})
	if err != nil {
		return gate.Decision{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return gate.Decision{}, err
	}
	maps.Copy(request.Header, e.Header)
	request.Header.Set("Content-Type", "application/json")
	response, err := e.Client.Do(request)
	if err != nil {
		return gate.Decision{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return gate.Decision{}, fmt.Errorf("it answered HTTP %d", response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return gate.Decision{}, err
	}
	if len(answer) > maxAnswer {
		return gate.Decision{}, fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	return parseAnswer(answer)
}

// parseAnswer reads {"result": true}, {"result": {"allow": true}} and
// {"result": {"decision": "ask"}}, the latter two with a reason. Without a result
// the endpoint has no such rule.
func parseAnswer(text []byte) (gate.Decision, error) {
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return gate.Decision{}, errors.New("its answer is not JSON with a result")
	}
	if len(answer.Result) == 0 || string(answer.Result) == "null" {
		return gate.Decision{}, errors.New("its answer has no result, so there is no such rule")
	}
	var allow bool
	if json.Unmarshal(answer.Result, &allow) == nil {
		return gate.Decision{Verdict: verdict(allow)}, nil
	}
	var result struct {
		Decision *string `json:"decision"`
		Allow    *bool   `json:"allow"`
		Reason   string  `json:"reason"`
	}
	if err := json.Unmarshal(answer.Result, &result); err != nil {
		return gate.Decision{}, errors.New("its result is neither a bool nor an object with a decision")
	}
	switch {
	case (result.Decision == nil) == (result.Allow == nil):
		return gate.Decision{}, errors.New("its result needs one of decision and allow")
	case result.Allow != nil:
		return gate.Decision{Verdict: verdict(*result.Allow), Reason: result.Reason}, nil
	case *result.Decision == "allow":
		return gate.Decision{Verdict: gate.Allow, Reason: result.Reason}, nil
	case *result.Decision == "ask":
		return gate.Asked(result.Reason), nil
	case *result.Decision == "deny":
		return gate.Denied(result.Reason), nil
	default:
		return gate.Decision{}, fmt.Errorf("its decision %.40q is none of allow, deny and ask", *result.Decision)
	}
}

func verdict(allow bool) gate.Verdict {
	if allow {
		return gate.Allow
	}
	return gate.Deny
}

// withoutURL takes the URL out of an error of net/http: it may hold a token.
func withoutURL(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}
