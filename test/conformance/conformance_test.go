// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"remit.dev/remit/test/netns"
)

func TestMain(m *testing.M) {
	netns.Main()
	os.Exit(m.Run())
}

// What Remit does not do, and so why a scenario does not apply.
const (
	noElicitation = "Remit asks nobody on behalf of a server: it declares no elicitation, and declines what comes all the same"
	noConsent     = "Remit sends its users through no consent page: a credential is a Secret that the tenant wrote"
	noDiscovery   = "Remit is told where to get a token, and follows no metadata of a server to another host"
	noAssertions  = "Remit has no key to sign with: a credential is a bearer token, a header, basic, or OAuth 2.0 client credentials"
	noResources   = "Remit uses tools, and neither reads resources nor takes skills from a server"
)

// inapplicable are the scenarios of the suite that do not apply.
var inapplicable = map[string]string{
	"elicitation-sep1034-client-defaults": noElicitation,
	"sep-2322-client-request-state":       noElicitation,

	"auth/2025-03-26-oauth-endpoint-fallback":   noConsent,
	"auth/2025-03-26-oauth-metadata-backcompat": noConsent,
	"auth/authorization-server-migration":       noConsent,
	"auth/basic-cimd":                           noConsent,
	"auth/iss-normalized":                       noConsent,
	"auth/iss-not-advertised":                   noConsent,
	"auth/iss-supported":                        noConsent,
	"auth/iss-supported-missing":                noConsent,
	"auth/iss-unexpected":                       noConsent,
	"auth/iss-wrong-issuer":                     noConsent,
	"auth/metadata-default":                     noConsent,
	"auth/metadata-issuer-mismatch":             noConsent,
	"auth/metadata-var1":                        noConsent,
	"auth/metadata-var2":                        noConsent,
	"auth/metadata-var3":                        noConsent,
	"auth/offline-access-not-supported":         noConsent,
	"auth/offline-access-scope":                 noConsent,
	"auth/pre-registration":                     noConsent,
	"auth/resource-mismatch":                    noConsent,
	"auth/scope-from-scopes-supported":          noConsent,
	"auth/scope-from-www-authenticate":          noConsent,
	"auth/scope-omitted-when-undefined":         noConsent,
	"auth/scope-retry-limit":                    noConsent,
	"auth/scope-step-up":                        noConsent,
	"auth/token-endpoint-auth-basic":            noConsent,
	"auth/token-endpoint-auth-none":             noConsent,
	"auth/token-endpoint-auth-post":             noConsent,
	"auth/client-credentials-basic":             noDiscovery,
	"auth/client-credentials-jwt":               noAssertions,
	"auth/dpop":                                 noAssertions,
	"auth/dpop-nonce":                           noAssertions,
	"auth/enterprise-managed-authorization":     noAssertions,
	"auth/wif-jwt-bearer":                       noAssertions,

	"sep-2640-client-no-prefetch":        noResources,
	"sep-2640-client-verify-digest":      noResources,
	"sep-2640-client-verify-frontmatter": noResources,
	"sep-2640-client-verify-size":        noResources,
}

// Every scenario for clients passes, or stands in the list with the reason why it does not apply; one that
// stands there and passes belongs there no more. "All" are those of the core and of the extensions, on every
// revision of the protocol.
func TestClientSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite starts a client for each of its scenarios")
	}
	command := append(suite(t), "client", "--command", buildClient(t), "--suite", "all", "--output-dir")
	dir := t.TempDir()
	output, err := isolated(t, append(command, dir)).CombinedOutput()
	outcomes := readOutcomes(t, dir)
	if len(outcomes) == 0 {
		t.Fatalf("the suite left no results (%v):\n%s", err, output)
	}
	for scenario, outcome := range outcomes {
		reason, listed := inapplicable[scenario]
		switch {
		case outcome.passed() && listed:
			t.Errorf("%s passes, and is listed as one that does not apply: %s", scenario, reason)
		case !outcome.passed() && !listed:
			t.Errorf("%s: %d checks passed, and these did not: %s\n%s", scenario, outcome.successes,
				strings.Join(outcome.problems, "; "), outcome.said)
		}
	}
	for scenario := range inapplicable {
		if _, ok := outcomes[scenario]; !ok {
			t.Errorf("%s is listed, and the suite has no such scenario", scenario)
		}
	}
}

func buildClient(t *testing.T) string {
	t.Helper()
	client := filepath.Join(t.TempDir(), "client")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", client, "./client").CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, output)
	}
	return client
}

// isolated runs a command where the servers that it starts, on every interface, are reached by nobody else.
// Where that is not possible they are: they do nothing but to answer the client.
func isolated(t *testing.T, command []string) *exec.Cmd {
	t.Helper()
	if err := netns.Available(t.Context()); err != nil {
		t.Logf("the suite's servers are not isolated: %v", err)
		return exec.CommandContext(t.Context(), command[0], command[1:]...)
	}
	return netns.Command(t.Context(), command[0], command[1:]...)
}

// outcome is what the suite found in one scenario.
type outcome struct {
	successes int
	problems  []string
	said      string // by the client
}

// passed wants something to have been looked at, and nothing to be wanting, not even what is only advised.
func (o outcome) passed() bool { return o.successes > 0 && len(o.problems) == 0 }

// stamp is what the suite appends to the name of a scenario.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readOutcomes reads what the suite wrote down of each scenario.
func readOutcomes(t *testing.T, dir string) map[string]outcome {
	t.Helper()
	outcomes := map[string]outcome{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		o, err := readOutcome(path)
		outcomes[stamp.ReplaceAllString(filepath.ToSlash(name), "")] = o
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

func readOutcome(path string) (o outcome, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	var checks []struct {
		ID           string `json:"id"`
		Status       string `json:"status"`
		Description  string `json:"description"`
		ErrorMessage string `json:"errorMessage"`
	}
	if err := json.Unmarshal(text, &checks); err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	for _, check := range checks {
		switch check.Status {
		case "SUCCESS":
			o.successes++
		case "INFO", "SKIPPED":
		default: // FAILURE and WARNING
			o.problems = append(o.problems, fmt.Sprintf("%s %s (%s): %s", check.Status, check.ID, check.Description, check.ErrorMessage))
		}
	}
	said, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stderr.txt"))
	o.said = string(said)
	return o, err
}
