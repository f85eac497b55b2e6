package bridge

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// maxCredential bounds a credential, in bytes.
const maxCredential = 16 << 10

// digest stands for a credential; the zero one for none.
type digest [sha256.Size]byte

// credentialOf reads the bearer token of a request (RFC 6750). False means that there is none which could be
// a variable's value.
func credentialOf(r *http.Request) (token string, sum digest, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", digest{}, false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !found || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxCredential || strings.ContainsRune(token, 0) {
		return "", digest{}, false
	}
	return token, sha256.Sum256([]byte(token)), true
}
