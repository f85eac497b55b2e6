// SPDX-License-Identifier: Apache-2.0

package engine

// workflow counts the steps that were taken and says whether the last one failed.
func (s *State) workflow() (taken int, failed bool) {
	for _, t := range s.turns {
		if len(t.calls) == 0 || t.calls[0].record.StepID == "" {
			continue
		}
		result := t.calls[0].result
		taken, failed = taken+1, result != nil && result.Error != ""
	}
	return taken, failed
}

// StepResults are the texts of the results of the steps so far, in their order.
func (s *State) StepResults() []string {
	var results []string
	for _, t := range s.turns {
		if len(t.calls) > 0 && t.calls[0].record.StepID != "" && t.calls[0].result != nil {
			results = append(results, t.calls[0].result.Content)
		}
	}
	return results
}

// FailedStep records a step whose call could not be made up.
func (s *State) FailedStep(c ModelCall, failure Failure) []Entry {
	message := s.MessageEntry(ModelMessage{Calls: []ModelCall{c}})
	return []Entry{message, failed(message.Message.Calls[0].ID, failure)}
}
