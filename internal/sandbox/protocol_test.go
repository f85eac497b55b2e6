// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var withPrinted = cmp.AllowUnexported(failedMessage{}, doneMessage{})

// frame is content with its length before it.
func frame(content string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
}

func TestMessagesSurvive(t *testing.T) {
	tests := map[string]fromChild{
		"ready": {Ready: &readyMessage{Missing: []string{"seccomp: not here"}}},
		"call":  {Call: &callMessage{Tool: "refund", Arguments: json.RawMessage(`{"a":"<&>"}`)}},
		"done":  {Done: &doneMessage{Value: json.RawMessage("null")}},
		"the largest result": {Done: &doneMessage{
			Value:   json.RawMessage(`"` + strings.Repeat("<", MaxResult-2) + `"`),
			printed: printed{Output: strings.Repeat("\x01", MaxOutput), Cut: true},
		}},
		"the largest failure": {Failed: &failedMessage{
			Kind: Runtime, Line: 1, Column: 2, Detail: strings.Repeat("\x01", maxDetail), Backtrace: strings.Repeat("\x01", maxBacktrace),
			printed: printed{Output: strings.Repeat("\x01", MaxOutput)},
		}},
		"the largest call": {Call: &callMessage{
			Tool: strings.Repeat("\x01", MaxToolName), Arguments: json.RawMessage(`{"a":"` + strings.Repeat("<", MaxArguments-8) + `"}`),
		}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			if err := send(&stream, want); err != nil {
				t.Fatal(err)
			}
			got, err := receive(&stream)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) { // a diff of what is this long takes seconds
				t.Errorf("the message is %.200s", jsonOf(t, got))
			}
		})
	}
}

// What the parent says fits too.
func TestLargestMessagesOfParent(t *testing.T) {
	tests := map[string]toChild{
		"answer":  {Answer: &answerMessage{Content: strings.Repeat("\x01", MaxContent), Error: "tool_error"}},
		"program": {Program: &programMessage{Source: strings.Repeat("\x01", 256<<10), Arguments: json.RawMessage(`{"a":"` + strings.Repeat("<", MaxArguments-8) + `"}`)}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			if err := writeMessage(&stream, want, maxFromParent); err != nil {
				t.Fatal(err)
			}
			var got toChild
			if err := readMessage(&stream, &got, maxFromParent); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("the message is %.200s", jsonOf(t, got))
			}
		})
	}
}

func jsonOf(t *testing.T, message any) []byte {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReceiveRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxOutput+1)
	tests := map[string]struct {
		stream []byte
		want   string
	}{
		"nothing":              {nil, "EOF"},
		"half a length":        {[]byte{0, 0}, "unexpected EOF"},
		"half a message":       {frame(`{"ready":{}}`)[:9], "a message is not finished: unexpected EOF"},
		"a length of 4 GiB":    {[]byte{255, 255, 255, 255}, "a message has 4294967295 bytes, more than 233472"},
		"no message":           {frame(``), "a message cannot be read: EOF"},
		"no JSON":              {frame(`ready`), "a message cannot be read: invalid character 'r' looking for beginning of value"},
		"no object":            {frame(`[]`), "a message cannot be read: json: cannot unmarshal array into Go value of type sandbox.fromChild"},
		"two values":           {frame(`{"ready":{}} {}`), "a message is followed by something else"},
		"no member":            {frame(`{}`), "a message has 0 members, not one"},
		"two members":          {frame(`{"ready":{},"done":{"value":1}}`), "a message has 2 members, not one"},
		"a member of its own":  {frame(`{"exec":{}}`), `a message cannot be read: json: unknown field "exec"`},
		"no value":             {frame(`{"done":{}}`), "the result has 0 bytes: 1 to 131072 are allowed"},
		"a large value":        {frame(`{"done":{"value":"` + strings.Repeat("x", MaxResult-1) + `"}}`), "the result has 131073 bytes: 1 to 131072 are allowed"},
		"a large output":       {frame(`{"done":{"value":1,"output":"` + long + `"}}`), "the output has 16385 bytes: 0 to 16384 are allowed"},
		"no name":              {frame(`{"call":{"tool":"","arguments":{}}}`), "the name of a tool has 0 bytes: 1 to 128 are allowed"},
		"no arguments":         {frame(`{"call":{"tool":"t"}}`), "the arguments of a call has 0 bytes: 2 to 65536 are allowed"},
		"arguments in a list":  {frame(`{"call":{"tool":"t","arguments":[1]}}`), "the arguments of a call are no object"},
		"a kind of the parent": {frame(`{"failed":{"kind":"Unavailable","detail":"x"}}`), `"Unavailable" is no kind of failure of a program`},
		"no detail":            {frame(`{"failed":{"kind":"Runtime","detail":""}}`), "the detail of a failure has 0 bytes: 1 to 1024 are allowed"},
		"no place":             {frame(`{"failed":{"kind":"Runtime","detail":"x","line":-1}}`), "line -1, column 0 is no place"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := receive(bytes.NewReader(test.stream))
			if err == nil {
				t.Fatalf("received %+v", m)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a child writes, the parent reads no more than it must, does not panic,
// and takes only what it can write again.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"ready":{}}`, `{"ready":{"missing":["seccomp"]}}`, `{"call":{"tool":"t","arguments":{"a":1}}}`,
		`{"done":{"value":[1,{"a":null}],"output":"x","cut":true}}`, `{"failed":{"kind":"Runtime","line":1,"column":2,"detail":"x"}}`,
		`{"done":{"value":1},"ready":null}`, `{"failed":null}`, `{"DONE":{"value":"\ud800"}}`,
	} {
		f.Add(frame(seed))
	}
	f.Add([]byte{255, 255, 255, 255, '{'})
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := &counting{r: bytes.NewReader(stream)}
		m, err := receive(r)
		if r.n > 4+maxFromChild {
			t.Errorf("%d bytes were read", r.n)
		}
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := send(&again, m); err != nil {
			t.Fatalf("%+v was received and cannot be sent: %v", m, err)
		}
		twice, err := receive(&again)
		if err != nil {
			t.Fatalf("%+v was received once and then refused: %v", m, err)
		}
		if m.Done == nil && m.Call == nil { // raw JSON loses its spaces
			if diff := cmp.Diff(m, twice, withPrinted); diff != "" {
				t.Errorf("message (-once +twice):\n%s", diff)
			}
		}
	})
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
