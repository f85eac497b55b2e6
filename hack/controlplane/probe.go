package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// startBound is how long anything may take to become ready; a busy machine is slow.
	startBound   = 3 * time.Minute
	probePoll    = 50 * time.Millisecond
	probeTimeout = 5 * time.Second
	bodyLimit    = 64 << 10
)

// probe is a GET that tells whether something is ready.
type probe struct {
	client *http.Client
	url    string
}

func newProbe(config *tls.Config, url string) probe {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	return probe{client: &http.Client{Transport: transport, Timeout: probeTimeout}, url: url}
}

func (p probe) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s%s: %s", p.url, path, resp.Status)
	}
	return body, nil
}

// close ends the kept connections, which would otherwise delay the API server's end.
func (p probe) close() { p.client.CloseIdleConnections() }

// wait polls path until it answers 200, ctx ends, exited closes, or the bound is over.
// It reports whether the answer came; the error says why ctx ended or what the last attempt met.
func (p probe) wait(ctx context.Context, path string, exited <-chan struct{}) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	for {
		_, err := p.get(bounded, path)
		if err == nil {
			return true, nil
		}
		select {
		case <-exited:
			return false, nil
		case <-bounded.Done():
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return false, fmt.Errorf("not ready after %s: %w", startBound, err)
		case <-time.After(probePoll):
		}
	}
}

// serverVersion asks the API server for its version, for example "v1.37.2".
func (p probe) serverVersion(ctx context.Context) (string, error) {
	body, err := p.get(ctx, "/version")
	if err != nil {
		return "", err
	}
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return "", fmt.Errorf("GET %s/version: %w", p.url, err)
	}
	return version.GitVersion, nil
}

// freePorts returns n ports that were free a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp4", loopback+":0")
		if err != nil {
			return nil, err
		}
		// Held until all are chosen, so that they differ.
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// portTaken reports whether a component's log says that somebody else got its port.
func portTaken(log string) bool { return strings.Contains(log, "address already in use") }
