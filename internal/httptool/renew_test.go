// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// rotation is a Secret whose token changes with each read, as often as it says.
type rotation struct {
	client.Reader
	changes, reads int
}

func (r *rotation) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	secret := into.(*corev1.Secret)
	secret.Labels = map[string]string{v1alpha1.CredentialLabel: "true"}
	secret.Data = map[string][]byte{"token": []byte(token + "-" + strconv.Itoa(min(r.reads, r.changes)))}
	r.reads++
	return nil
}

// E4, E10, E13: a refused credential is renewed once, and the call made again only where it
// may be made twice. Neither the old token nor the new one shows.
func TestRenewedCredentials(t *testing.T) {
	refusal := reply(401, "Content-Type: text/plain\r\n", "not "+token+"-0")
	for name, test := range map[string]struct {
		changes    int
		idempotent bool
		answers    []string
		reads      int
		sent       []string
		err        v1alpha1.ErrorKind
	}{
		"a new one":               {1, true, []string{refusal, ok("for " + token + "-1")}, 2, []string{"0", "1"}, ""},
		"that is refused, too":    {2, true, []string{refusal}, 2, []string{"0", "1"}, v1alpha1.ErrorUnauthorized},
		"the same":                {0, true, []string{refusal}, 2, []string{"0"}, v1alpha1.ErrorUnauthorized},
		"for a call with effects": {1, false, []string{refusal, ok("")}, 2, []string{"0"}, v1alpha1.ErrorUnauthorized},
		"no refusal":              {1, true, []string{ok("")}, 1, []string{"0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, secret := serve(t, test.answers...), &rotation{changes: test.changes}
			made := newSetting(s, "GET", "/").withCredential()
			made.tool.Attempts, made.reader = 3, secret
			if outcome := made.call(t, test.idempotent, `{}`); outcome.Error != test.err {
				t.Errorf("outcome %+v, want %q", outcome, test.err)
			}
			var sent []string
			for _, request := range s.got() {
				sent = append(sent, readWire(t, request).Headers["Authorization"][0][len("Bearer "+token+"-"):])
			}
			if diff := cmp.Diff(test.sent, sent); diff != "" || secret.reads != test.reads {
				t.Errorf("%d reads, tokens (-want +got):\n%s", secret.reads, diff)
			}
		})
	}
}
