// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"remit.dev/remit/controllers"
)

func TestWebhookFlags(t *testing.T) {
	bind := []string{"--webhook-bind-address", ":8443"}
	with := func(more ...string) []string { return append(append([]string{}, bind...), more...) }
	for name, test := range map[string]struct {
		args []string
		// url is the base of the URLs, and message a part of the error, which begins with the flag.
		url, message string
	}{
		"off":                  {},
		"TLS":                  {args: with("--webhook-url", "https://hooks.example.com/", "--webhook-cert-dir", "/certs"), url: "https://hooks.example.com"},
		"a proxy":              {args: with("--webhook-url", "https://hooks.example.com/a", "--webhook-insecure-http"), url: "https://hooks.example.com/a"},
		"no address":           {args: []string{"--webhook-url", "https://hooks.example.com"}, message: "--webhook-bind-address: it is empty"},
		"no address for certs": {args: []string{"--webhook-cert-dir", "/certs"}, message: "--webhook-bind-address: it is empty"},
		"no address for HTTP":  {args: []string{"--webhook-insecure-http"}, message: "--webhook-bind-address: it is empty"},
		"no port":              {args: []string{"--webhook-bind-address", "localhost", "--webhook-url", "https://h"}, message: `--webhook-bind-address: "localhost"`},
		"an empty port":        {args: []string{"--webhook-bind-address", "localhost:", "--webhook-url", "https://h"}, message: `--webhook-bind-address: "localhost:"`},
		"no URL":               {args: with("--webhook-cert-dir", "/certs"), message: "--webhook-url: with --webhook-bind-address it is required"},
		"no https":             {args: with("--webhook-url", "http://h", "--webhook-insecure-http"), message: `--webhook-url: "http://h" is no https URL`},
		"no certificate":       {args: with("--webhook-url", "https://h"), message: "--webhook-cert-dir: with --webhook-bind-address it is required"},
		"both":                 {args: with("--webhook-url", "https://h", "--webhook-cert-dir", "/certs", "--webhook-insecure-http"), message: "--webhook-insecure-http: it cannot"},
	} {
		t.Run(name, func(t *testing.T) {
			var flags webhookFlags
			set := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.add(set)
			if err := set.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			var options controllers.RunOptions
			err := flags.complete(&options)
			if (err != nil) != (test.message != "") || err != nil && !strings.HasPrefix(err.Error(), test.message) {
				t.Errorf("the error is %v, want %q", err, test.message)
			}
			if options.WebhookURL != test.url || (options.Random != nil) != (test.url != "") {
				t.Errorf("Runs are told %q, %v", options.WebhookURL, options.Random)
			}
		})
	}
}
