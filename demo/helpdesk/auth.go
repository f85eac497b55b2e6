package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
)

// requireToken lets only requests through that carry the bearer token in the file. The file is read anew each
// time, so a token can be rotated while the server runs. Without a file everything passes.
func requireToken(file string, next http.Handler) http.Handler {
	if file == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := os.ReadFile(file)
		if err != nil {
			http.Error(w, "the token cannot be read", http.StatusInternalServerError)
			return
		}
		want := "Bearer " + strings.TrimSpace(string(token))
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, "a valid bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fingerprint tells credentials apart in the ledger without showing them: the first 16 hex digits of the
// SHA-256 of the Authorization header's value, or "none".
func fingerprint(authorization string) string {
	if authorization == "" {
		return "none"
	}
	sum := sha256.Sum256([]byte(authorization))
	return hex.EncodeToString(sum[:8])
}
