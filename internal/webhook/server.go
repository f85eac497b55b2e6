// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

const (
	// readTimeout bounds the TLS handshake, the header and the body of a request,
	// and how long a connection stays without one.
	readTimeout = 10 * time.Second
	// writeTimeout bounds a whole request from the end of its header.
	writeTimeout = readTimeout + receiveTimeout + 10*time.Second
	// shutdownTimeout is how long requests may take that are being answered when the
	// server stops.
	shutdownTimeout = receiveTimeout + 5*time.Second
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// maxConnections bounds the open connections; more wait until one is closed. Each
	// costs the memory of a body at most.
	maxConnections = 512

	// The files of a certificate directory, as a Secret of type kubernetes.io/tls has them.
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Options are the settings of a Server. All but CertDir are required.
type Options struct {
	// Address to listen on, as HOST:PORT.
	Address string
	// CertDir is the directory of tls.crt and tls.key, which may be replaced at any time.
	// Without it the server speaks plain HTTP, and TLS must end in front of it.
	CertDir  string
	Receiver Receiver
	// Observe is told the status code of each answer.
	Observe func(code int)
	Logger  logr.Logger
}

// Server takes requests for webhooks. Every replica of the operator runs one.
type Server struct {
	address string
	http    *http.Server
	// certificates is nil for plain HTTP.
	certificates *certwatcher.CertWatcher
}

// NewServer reads the certificate; it is an error if there is none.
func NewServer(o Options) (*Server, error) {
	s := &Server{address: o.Address, http: &http.Server{
		Handler:           newHandler(o.Receiver, o.Observe, o.Logger),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		MaxHeaderBytes:    maxHeader,
		Protocols:         http1(),
		// OPTIONS * is a method like any other.
		DisableGeneralOptionsHandler: true,
		// It tells of broken connections, which anybody can make.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(o.Logger.V(1)), slog.LevelInfo),
	}}
	if o.CertDir == "" {
		return s, nil
	}
	var err error
	s.certificates, err = certwatcher.New(filepath.Join(o.CertDir, certificateFile), filepath.Join(o.CertDir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("read %s and %s of %s: %w", certificateFile, keyFile, o.CertDir, err)
	}
	return s, nil
}

// http1 leaves HTTP/2 out: a sender makes one request, and every connection counts as one.
func http1() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return protocols
}

// NeedLeaderElection says that every replica serves.
func (*Server) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx ends, and answers what it has begun.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	return s.serve(ctx, listener)
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	listener = netutil.LimitListener(listener, maxConnections)
	group, ctx := errgroup.WithContext(ctx)
	if s.certificates != nil {
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.certificates.GetCertificate})
		group.Go(func() error { return s.certificates.Start(ctx) })
	}
	group.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		return s.http.Shutdown(ctx)
	})
	group.Go(func() error {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve webhooks: %w", err)
		}
		return nil
	})
	return group.Wait()
}
