// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
)

// held are the secrets of one call.
type held struct {
	use        credentials.Use
	credential credentials.Value
	// secrets by the names that the template uses.
	secrets map[string]string
	redact  redactor
}

// resolve reads the credential and the secrets as they are now.
func (t *Tool) resolve(ctx context.Context) (*held, error) {
	h := &held{secrets: make(map[string]string, len(t.template.Secrets))}
	h.use = credentials.Use{Namespace: t.grant.Namespace, Credential: t.grant.Spec.Credential, URL: t.template.Origin.String()}
	credential, err := t.client.options.Credentials.Resolve(ctx, h.use)
	if err != nil {
		return nil, err
	}
	for _, name := range t.template.Secrets {
		secret, err := t.client.options.Credentials.Resolve(ctx, credentials.Use{
			Namespace: h.use.Namespace, URL: h.use.URL,
			// A header of its own is the type that takes the value as it is.
			Credential: &v1alpha1.Credential{Type: v1alpha1.CredentialHeader, Header: "X-Secret", SecretRef: *t.secretRef(name)},
		})
		if err != nil {
			return nil, fmt.Errorf("secret %q of Grant %q: %w", name, t.grant.Name, err)
		}
		h.secrets[name] = secret.Reveal()
	}
	h.hold(credential)
	return h, nil
}

// hold takes a credential for the requests to come; what was sent before is still kept
// out of answers.
func (h *held) hold(credential credentials.Value) {
	before := h.redact.plain
	h.credential = credential
	h.redact = newRedactor(slices.Concat(before, credentialForms(credential), slices.Collect(maps.Values(h.secrets))))
}

// any says whether anything secret is sent.
func (h *held) any() bool { return h.credential.Header() != "" || len(h.secrets) > 0 }

// credentialForms are the whole of a header, what follows its scheme, and the password of
// HTTP Basic.
func credentialForms(credential credentials.Value) []string {
	whole := credential.Reveal()
	scheme, token, ok := strings.Cut(whole, " ")
	if !ok {
		return []string{whole}
	}
	forms := []string{whole, token}
	if scheme == "Basic" {
		if pair, err := base64.StdEncoding.DecodeString(token); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			forms = append(forms, string(pair), password)
		}
	}
	return forms
}

const redacted = "[redacted]"

// redactor takes secrets out of a text, in the forms in which a server may echo them.
type redactor struct {
	plain    []string
	replacer *strings.Replacer
	// longest is the length of the longest form.
	longest int
}

func newRedactor(plain []string) redactor {
	var forms []string
	for _, secret := range plain {
		if secret != "" {
			forms = append(forms, encodings(secret)...)
		}
	}
	// The longest first: a form may be within another one.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	r := redactor{plain: plain}
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		r.longest = max(r.longest, len(form))
		pairs = append(pairs, form, redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// encodings are a secret as it is, and as it stands in JSON, URLs and HTML.
func encodings(secret string) []string {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	forms := []string{secret, html.EscapeString(secret)}
	if encoder.Encode(secret) == nil {
		inJSON := quoted.String()[1 : quoted.Len()-2]
		forms = append(forms, inJSON, strings.ReplaceAll(inJSON, "/", `\/`))
	}
	if inScript, err := json.Marshal(secret); err == nil { // with <, > and & escaped
		forms = append(forms, string(inScript[1:len(inScript)-1]))
	}
	for _, inURL := range []string{url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")} {
		forms = append(forms, inURL, lowerEscapes(inURL))
	}
	return forms
}

// lowerEscapes writes percent-encoding in lower case, as some servers do.
func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i:i+3], bytes.ToLower(out[i:i+3]))
			i += 2
		}
	}
	return string(out)
}

func (r redactor) redact(text string) string { return r.replacer.Replace(text) }
