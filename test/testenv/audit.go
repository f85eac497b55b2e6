// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// Mark is a place in the audit log.
type Mark int64

// Write is one request that asked to change an object, whether or not it was granted.
type Write struct {
	User        string
	UserAgent   string
	Verb        string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	// Name is empty on create, as it is in the request.
	Name string
}

func (w Write) String() string {
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s by %s", w.Verb, resource, w.Namespace, w.Name, w.User)
}

// Mark is the present end of the audit log: Writes(Mark()) are those that begin from now on.
func (e *Env) Mark() (Mark, error) {
	info, err := os.Stat(e.auditLog())
	if err != nil {
		return 0, err
	}
	return Mark(info.Size()), nil
}

// Writes are the requests since a mark, by whomever, in the order in which they began. Every
// request is there whose answer has been received.
func (e *Env) Writes(since Mark) ([]Write, error) {
	f, err := os.Open(e.auditLog())
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(int64(since), io.SeekStart); err != nil {
		return nil, err
	}
	var writes []Write
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// What is left belongs to a request that has no answer yet.
			return writes, nil
		}
		if err != nil {
			return nil, err
		}
		w, err := parseWrite(line)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
}

func parseWrite(line []byte) (Write, error) {
	var event struct {
		Verb      string `json:"verb"`
		UserAgent string `json:"userAgent"`
		User      struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			Group       string `json:"apiGroup"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		} `json:"objectRef"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Write{}, fmt.Errorf("audit log: %w: %s", err, bytes.TrimSpace(line))
	}
	return Write{
		User:        event.User.Username,
		UserAgent:   event.UserAgent,
		Verb:        event.Verb,
		Group:       event.ObjectRef.Group,
		Resource:    event.ObjectRef.Resource,
		Subresource: event.ObjectRef.Subresource,
		Namespace:   event.ObjectRef.Namespace,
		Name:        event.ObjectRef.Name,
	}, nil
}
