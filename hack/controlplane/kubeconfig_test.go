package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncodeKubeconfig(t *testing.T) {
	got, err := encodeKubeconfig("https://127.0.0.1:6443", []byte("the CA"), "alice",
		keyPair{cert: []byte("the cert"), key: []byte("the key")})
	if err != nil {
		t.Fatal(err)
	}
	// The three values are the base64 of the texts above.
	const want = `{
		"apiVersion": "v1", "kind": "Config", "current-context": "alice@remit",
		"clusters": [{"name": "remit", "cluster": {
			"server": "https://127.0.0.1:6443", "certificate-authority-data": "dGhlIENB"}}],
		"users": [{"name": "alice", "user": {
			"client-certificate-data": "dGhlIGNlcnQ=", "client-key-data": "dGhlIGtleQ=="}}],
		"contexts": [{"name": "alice@remit", "context": {
			"cluster": "remit", "user": "alice", "namespace": "default"}}]
	}`
	if diff := cmp.Diff(decodeJSON(t, []byte(want)), decodeJSON(t, got)); diff != "" {
		t.Errorf("kubeconfig (-want +got):\n%s", diff)
	}
}

func TestWriteKubeconfigs(t *testing.T) {
	l, creds := newTestCredentials(t)
	paths, err := creds.writeKubeconfigs(l, "https://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != len(identities) {
		t.Errorf("%d kubeconfigs for %d identities", len(paths), len(identities))
	}
	for id, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var config kubeconfig
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(creds.clients[id].cert, config.Users[0].User.Cert); diff != "" {
			t.Errorf("%s holds another certificate (-want +got):\n%s", path, diff)
		}
	}
}

func decodeJSON(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
