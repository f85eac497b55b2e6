// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// Variable is a secret that goes into a process's environment. It prints as redacted.
type Variable struct {
	value       string
	fingerprint string
}

// Reveal is the value, byte for byte. It goes into an environment and nowhere else.
func (v Variable) Reveal() string { return v.value }

// Fingerprint changes with the value and does not give it away, short as that may be: it is
// keyed with the uid of the Secret, which only those learn who may read the Secret.
func (v Variable) Fingerprint() string { return v.fingerprint }

// Format hides the secret under every verb.
func (v Variable) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// Variables reads secrets for the environment of a process, in the order of the references.
// A process may send them anywhere, so a Secret that names the hosts it may be sent to is
// refused. The error is an *Error, or that of the API server.
func (r *Resolver) Variables(ctx context.Context, namespace string, references []v1alpha1.SecretKeyReference) ([]Variable, error) {
	read := map[string]*secret{}
	variables := make([]Variable, 0, len(references))
	for _, reference := range references {
		held, ok := read[reference.Name]
		if !ok {
			var err error
			if held, err = r.secrets.read(ctx, namespace, reference.Name); err != nil {
				return nil, err
			}
			read[reference.Name] = held
		}
		variable, err := held.variable(reference.Key)
		if err != nil {
			return nil, err
		}
		variables = append(variables, variable)
	}
	return variables, nil
}

func (s *secret) variable(key string) (Variable, error) {
	if _, limited := s.stored.Annotations[v1alpha1.HostsAnnotation]; limited {
		return Variable{}, s.refused("%s is limited to hosts by its annotation %s, and a process could send it anywhere: use another Secret",
			s, v1alpha1.HostsAnnotation)
	}
	value, err := s.key(key)
	if err != nil {
		return Variable{}, err
	}
	if strings.ContainsRune(value, 0) {
		return Variable{}, s.refused("key %q of %s holds a NUL byte, which no environment can", key, s)
	}
	sum := hmac.New(sha256.New, []byte(s.stored.UID))
	_, _ = io.WriteString(sum, key+"="+value) // a hash takes everything
	return Variable{value: value, fingerprint: hex.EncodeToString(sum.Sum(nil)[:16])}, nil
}
