// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// write is one change of an object that the API server made, as its audit log has it.
type write struct {
	User      string
	Verb      string
	Resource  string
	Namespace string
	Name      string
}

func (w write) String() string {
	return fmt.Sprintf("%s %s %s by %s", w.Verb, w.Resource, w.Name, w.User)
}

// auditEvent is one line of the log.
type auditEvent struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// auditMark is the present end of the audit log.
func auditMark(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(env.ready.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// writesSince are the changes in a namespace since a mark, in the order in which they were asked for.
// Every change is there whose answer was received; one that was only seen by a watch may yet come.
func writesSince(t *testing.T, mark int64, namespace string) []write {
	t.Helper()
	file, err := os.Open(env.ready.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(mark, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var events []auditEvent
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what is left belongs to a request that has no answer yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(line, []byte(namespace)) {
			continue
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("the audit log: %v: %s", err, line)
		}
		events = append(events, event)
	}
	slices.SortStableFunc(events, func(a, b auditEvent) int { return a.Received.Compare(b.Received) })
	var writes []write
	for i := range events {
		if w, ok := events[i].write(); ok && w.Namespace == namespace {
			writes = append(writes, w)
		}
	}
	return writes
}

// write says which change the event is, if it is one.
func (e *auditEvent) write() (write, bool) {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return write{}, false
	}
	if e.ResponseStatus.Code/100 != 2 {
		return write{}, false
	}
	w := write{
		User: e.User.Username, Verb: e.Verb, Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name}
	if e.ObjectRef.Subresource != "" {
		w.Resource += "/" + e.ObjectRef.Subresource
	}
	return w, true
}

// by are the writes of one user.
func by(user string, writes []write) []write {
	var his []write
	for _, w := range writes {
		if w.User == user {
			his = append(his, w)
		}
	}
	return his
}
