// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/metrics"
	"remit.dev/remit/internal/webhook"
)

// webhookFlags are the settings of the server for webhooks.
type webhookFlags struct {
	address      string
	certDir      string
	url          string
	insecureHTTP bool
}

func (f *webhookFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "webhook-bind-address", "",
		"address of the HTTPS server for webhooks, such as :8443; without it there are none, and wait_webhook is not available")
	flags.StringVar(&f.certDir, "webhook-cert-dir", "", "directory of tls.crt and tls.key for that server, which are read again when they change")
	flags.StringVar(&f.url, "webhook-url", "", "https URL at which others reach that server; the paths of webhooks begin with /webhooks/ below it")
	flags.BoolVar(&f.insecureHTTP, "webhook-insecure-http", false,
		"serve webhooks over plain HTTP, for a proxy in front that ends TLS. Whoever can listen between the two can answer in place of the sender")
}

// complete checks the flags, and sets what Runs need to know of webhooks.
func (f *webhookFlags) complete(options *controllers.RunOptions) error {
	if f.address == "" {
		if f.certDir != "" || f.url != "" || f.insecureHTTP {
			return errors.New("--webhook-bind-address: it is empty, and --webhook-cert-dir, --webhook-url and --webhook-insecure-http have no effect without it")
		}
		return nil
	}
	if _, port, err := net.SplitHostPort(f.address); err != nil || port == "" {
		return fmt.Errorf("--webhook-bind-address: %q is no HOST:PORT or :PORT", f.address)
	}
	base, err := webhook.ParseBase(f.url)
	switch {
	case f.url == "":
		return errors.New("--webhook-url: with --webhook-bind-address it is required: give the https URL at which others reach that address")
	case err != nil:
		return fmt.Errorf("--webhook-url: %w", err)
	case f.certDir == "" && !f.insecureHTTP:
		return errors.New("--webhook-cert-dir: with --webhook-bind-address it is required, unless --webhook-insecure-http says that a proxy ends TLS")
	case f.certDir != "" && f.insecureHTTP:
		return errors.New("--webhook-insecure-http: it cannot be used together with --webhook-cert-dir")
	}
	options.WebhookURL, options.Random = base, rand.Reader
	return nil
}

// serve adds the server to the manager, if there is one.
func (f *webhookFlags) serve(mgr ctrl.Manager, logger logr.Logger) error {
	if f.address == "" {
		return nil
	}
	count, err := metrics.Webhooks(ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	server, err := webhook.NewServer(webhook.Options{
		Address:  f.address,
		CertDir:  f.certDir,
		Receiver: &controllers.WebhookReceiver{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now},
		Observe:  count,
		Logger:   logger.WithName("webhook"),
	})
	if err != nil {
		return fmt.Errorf("--webhook-cert-dir: %w", err)
	}
	return mgr.Add(server)
}
