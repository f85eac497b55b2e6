// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/engine"
)

// verdict is what an answer means for a call.
type verdict struct {
	outcome engine.Outcome
	// retry says that another attempt may fare better, where the call may be repeated.
	retry bool
	// retryAfter is what the server asks for.
	retryAfter time.Duration
	// refused says that the server refused the credential.
	refused bool
}

// judge decides what an answer means. An effect that may have taken place and may not be
// had twice makes the outcome unknown (requirement E12).
func judge(a answer, idempotent bool, label string) verdict {
	status := fmt.Sprintf("HTTP %d %s", a.status, http.StatusText(a.status))
	switch {
	case a.status == 0:
		return noAnswer(a, idempotent, label)
	case a.redirect != "":
		return failed(unclear(a.status, idempotent, v1alpha1.ErrorTool),
			"%s: %s sends on to %s. Only redirects of an idempotent GET or HEAD within one host are followed, %d at most.",
			status, label, a.redirect, maxRedirects)
	case a.status == http.StatusUnauthorized:
		v := failed(v1alpha1.ErrorUnauthorized, "%s: %s refused the credential.%s", status, label, errorText(a))
		v.refused = true
		return v
	case a.status >= http.StatusBadRequest:
		v := failed(unclear(a.status, idempotent, v1alpha1.ErrorTool), "%s from %s%s", status, label, errorText(a))
		v.retryAfter = a.retryAfter
		switch a.status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			v.retry = a.ended == nil
		}
		return v
	case a.broken:
		v := failed(v1alpha1.ErrorBadResult, "%s: %s accepted the call, and its answer broke off.%s", status, label, errorText(a))
		v.retry = a.ended == nil
		return v
	case a.unusable != "":
		return failed(v1alpha1.ErrorBadResult, "%s: %s accepted the call, and its answer %s. It is left out.%s", status, label, a.unusable, a.facts)
	case a.text == "":
		return verdict{outcome: engine.Outcome{Content: status + a.facts}}
	case a.status >= http.StatusMultipleChoices:
		return verdict{outcome: engine.Outcome{Content: status + a.facts + "\n\n" + a.text}}
	default:
		return verdict{outcome: engine.Outcome{Content: a.text}}
	}
}

// unclear is the kind of an answer behind which an effect may hide: a gateway does not know
// what its server did, and forms are answered with 301 and 302 once they are taken.
func unclear(status int, idempotent bool, otherwise v1alpha1.ErrorKind) v1alpha1.ErrorKind {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusBadGateway, http.StatusGatewayTimeout:
		if !idempotent {
			return v1alpha1.ErrorOutcomeUnknown
		}
	}
	return otherwise
}

// noAnswer judges what the network did.
func noAnswer(a answer, idempotent bool, label string) verdict {
	kind, what, retry := v1alpha1.ErrorServerUnavailable, "cannot be reached: "+a.reason, !lasting(a.err)
	switch {
	case a.ended != nil:
		kind, what, retry = ended(a.ended), "did not answer before the call was ended", false
	case timedOut(a.err):
		kind, what = v1alpha1.ErrorTimeout, "did not answer in time"
	case a.sent:
		what = "gave no answer: " + a.reason
	}
	if a.sent && !idempotent {
		return failed(v1alpha1.ErrorOutcomeUnknown, "%s %s. The call may have had its effect all the same, and is not made again.", label, what)
	}
	v := failed(kind, "%s %s", label, what)
	v.retry = retry
	return v
}

func failed(kind v1alpha1.ErrorKind, format string, args ...any) verdict {
	return verdict{outcome: engine.Outcome{Error: kind, Content: fmt.Sprintf(format, args...)}}
}

// errorText is what is shown of an answer that is a failure.
func errorText(a answer) string {
	switch {
	case a.unusable != "":
		return "\nThe answer " + a.unusable + ". It is left out."
	case a.text != "":
		return "\n\n" + cut(a.text, maxErrorText)
	}
	return ""
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// lasting says that another attempt would fare the same.
func lasting(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.IsNotFound
	}
	_, denied := errors.AsType[*egress.Denied](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return denied || certificate
}

// reason words an error of the network. Only what no server wrote is quoted: the errors of
// net/http hold pieces of answers, in encodings of their own, in which secrets could hide.
// And the operator's own address is left out.
func reason(err error) string {
	if denied, ok := errors.AsType[*egress.Denied](err); ok {
		return denied.Error()
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound {
			return fmt.Sprintf("the host %q does not exist", name.Name)
		}
		return fmt.Sprintf("the host %q cannot be looked up", name.Name)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		sourceless := *operation
		sourceless.Source = nil
		return shown(sourceless.Error())
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return shown(certificate.Error())
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it speaks http and not https"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection"
	default:
		return "nothing came that can be read as HTTP"
	}
}
