// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/mcp"
)

// project computes the whole status from the outcome of a discovery. A failed one
// leaves the catalogue as it was.
func (s *serverScope) project() {
	status := &s.server.Status
	status.ObservedGeneration = s.server.Generation
	if s.catalogue != nil {
		s.projectCatalogue(status)
	}
	c := conditionSet{conditions: &status.Conditions, generation: s.server.Generation, now: s.now}
	if s.failure == nil {
		message := fmt.Sprintf("offers %d tools", len(s.catalogue.Tools))
		c.set(v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the server answered")
		c.set(v1alpha1.ConditionAuthenticated, metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the server took the request")
		c.ready(v1alpha1.ReasonDiscovered, message)
		return
	}
	failure := explain(s.failure)
	c.set(v1alpha1.ConditionReachable, failure.reachable, failure.reason, failure.message)
	c.set(v1alpha1.ConditionAuthenticated, failure.authenticated, failure.reason, failure.message)
	c.notReady(failure.reason, failure.message, failure.stalled)
}

// explained is a failure as conditions show it.
type explained struct {
	reason        string
	message       string
	reachable     metav1.ConditionStatus
	authenticated metav1.ConditionStatus
	// stalled says that somebody has to change something; else time may help.
	stalled bool
}

// explain reads a failed discovery: what happened, and what to do about it.
func explain(err error) explained {
	unknown := metav1.ConditionUnknown
	if credential, ok := errors.AsType[*credentials.Error](err); ok {
		return explained{credential.Reason, credential.Detail, unknown, metav1.ConditionFalse, !credential.Temporary}
	}
	if problem, ok := errors.AsType[*hostingProblem](err); ok {
		return explained{problem.reason, stable(problem.message), unknown, unknown, problem.stalled}
	}
	if denied, ok := errors.AsType[*egress.Denied](err); ok {
		return explained{v1alpha1.ReasonEgressDenied, stable(denied.Error()), metav1.ConditionFalse, unknown, true}
	}
	var failure *mcp.Error
	if !errors.As(err, &failure) {
		return explained{v1alpha1.ReasonUnreachable, stable(err.Error()), unknown, unknown, false}
	}
	detail := stable(failure.Detail)
	switch failure.Kind {
	case mcp.Unauthorized:
		return explained{v1alpha1.ReasonUnauthorized, detail + ": check spec.credential and the Secret that it names",
			metav1.ConditionTrue, metav1.ConditionFalse, true}
	case mcp.SessionLost:
		return explained{v1alpha1.ReasonServerUnavailable, detail + ": if the server has several replicas, have them share their sessions or send a session to one of them",
			metav1.ConditionTrue, unknown, false}
	case mcp.Timeout:
		return explained{v1alpha1.ReasonTimeout, detail + ": check that the server is up and answers in time",
			metav1.ConditionFalse, unknown, false}
	case mcp.Protocol, mcp.Rejected, mcp.TooLarge, mcp.Invalid:
		return explained{v1alpha1.ReasonProtocolError, detail + ": check that spec.transport names an MCP endpoint",
			metav1.ConditionTrue, unknown, true}
	default:
		return explained{v1alpha1.ReasonUnreachable, detail + ": check spec.transport and that the server is up",
			metav1.ConditionFalse, unknown, false}
	}
}

// localPort is the end of a connection that is another one at each attempt.
var localPort = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+->`)

// stable makes a message the same at each attempt, so that a server that stays
// away does not make a write for each of them.
func stable(message string) string {
	return bounded(localPort.ReplaceAllString(message, ""), 1024)
}
