// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

const (
	recordDomain = "remit.dev/run-log/v1\x00"
	callDomain   = "remit.dev/call/v1\x00"
	keyDomain    = "remit.dev/idempotency-key/v1\x00"
)

// Entry is what is appended to a log: exactly one member is set.
type Entry struct {
	Message    *v1alpha1.MessageRecord
	Watermark  *v1alpha1.WatermarkRecord
	Result     *v1alpha1.ResultRecord
	Suspension *v1alpha1.SuspensionRecord
	Decision   *v1alpha1.DecisionRecord
	End        *v1alpha1.EndRecord
}

func (e Entry) kind() v1alpha1.RecordType {
	switch {
	case e.Message != nil:
		return v1alpha1.RecordMessage
	case e.Watermark != nil:
		return v1alpha1.RecordWatermark
	case e.Result != nil:
		return v1alpha1.RecordResult
	case e.Suspension != nil:
		return v1alpha1.RecordSuspension
	case e.Decision != nil:
		return v1alpha1.RecordDecision
	default:
		return v1alpha1.RecordEnd
	}
}

// record makes the next record of a log: it counts on from sequence and chains
// to the digest before it.
func (e Entry) record(previous v1alpha1.Digest, sequence int64, now time.Time) (v1alpha1.Record, error) {
	record := v1alpha1.Record{
		Sequence:   sequence,
		Type:       e.kind(),
		Time:       metav1.NewTime(now.UTC().Truncate(time.Second)),
		Message:    e.Message,
		Watermark:  e.Watermark,
		Result:     e.Result,
		Suspension: e.Suspension,
		Decision:   e.Decision,
		End:        e.End,
	}
	var err error
	record.Digest, err = chain(previous, record)
	return record, err
}

// start is the digest before the first record. It binds a log to its Run, so a
// log cannot be carried over to another one.
func start(runUID string) v1alpha1.Digest {
	return digest(recordDomain, runUID)
}

// chain is the digest of a record and of all before it.
func chain(previous v1alpha1.Digest, record v1alpha1.Record) (v1alpha1.Digest, error) {
	record.Digest = ""
	content, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("record %d: %w", record.Sequence, err)
	}
	return digest(recordDomain, string(previous), string(content)), nil
}

// CallID names one call of one Run. It covers everything that a person is shown
// of the call, so a decision can fit no other call of this Run, of another one,
// or of a later Run of the same name.
func CallID(runUID string, message int64, index int, tool, arguments string, definition v1alpha1.Digest) v1alpha1.CallID {
	whole := digest(callDomain, runUID, fmt.Sprint(message), fmt.Sprint(index), tool, arguments, string(definition))
	return v1alpha1.CallID("call-" + whole[len("sha256:"):][:16])
}

// IdempotencyKey is sent with a call where the protocol has a place for it.
func IdempotencyKey(runUID string, id v1alpha1.CallID) string {
	whole := digest(keyDomain, runUID, string(id))
	return string(whole[len("sha256:"):][:32])
}

// digest hashes parts that are each preceded by their length, so that no two
// lists of parts give the same bytes.
func digest(domain string, parts ...string) v1alpha1.Digest {
	hash := sha256.New()
	hash.Write([]byte(domain))
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write([]byte(part))
	}
	return v1alpha1.Digest("sha256:" + hex.EncodeToString(hash.Sum(nil)))
}
