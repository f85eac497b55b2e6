// SPDX-License-Identifier: Apache-2.0

package pipeline

import "remit.dev/remit/api/v1alpha1"

// MaxTrace bounds the trace that a Run keeps.
const MaxTrace = 256

// Trace says how far the calls of this step have come, in the order in which they
// were first judged. Since the stages have one order, the last one that a call
// reached names all that it passed.
func (s *ToolSet) Trace() []v1alpha1.TraceEntry {
	entries := make([]v1alpha1.TraceEntry, 0, len(s.order))
	for _, p := range s.order {
		entry := v1alpha1.TraceEntry{ID: p.call.ID, Stage: p.reached}
		if p.judgement.Refusal != nil {
			entry.Error = p.judgement.Refusal.Kind
		}
		entries = append(entries, entry)
	}
	return entries
}

// AppendTrace adds entries to a trace and keeps the newest.
func AppendTrace(trace, entries []v1alpha1.TraceEntry) []v1alpha1.TraceEntry {
	trace = append(trace, entries...)
	return trace[max(len(trace)-MaxTrace, 0):]
}
