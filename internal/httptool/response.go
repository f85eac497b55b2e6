// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"remit.dev/remit/internal/httptool/template"
)

const (
	// maxResponse bounds what is read of an answer, decompressed, in bytes.
	maxResponse = 1 << 20
	// maxErrorText bounds what is shown of an answer that is an error, in bytes.
	maxErrorText = 8 << 10
	// maxFact bounds one header that is shown, in bytes.
	maxFact = 1 << 10
	// sniffed is how much of a text its encoding is guessed from, in bytes.
	sniffed = 1024
)

// shownHeaders say something of an answer without a body.
var shownHeaders = []string{"Location", "Content-Type", "Content-Length", "ETag", "Last-Modified", "Retry-After"}

// read takes what there is to know from a response, rid of secrets.
func (c *call) read(response *http.Response) answer {
	redact := c.held.redact
	given := answer{
		status:     response.StatusCode,
		facts:      facts(response.Header, redact),
		redirect:   redirect(response, c.filled.Method, redact),
		retryAfter: retryAfter(response.Header.Get("Retry-After"), c.tool.client.options.Now()),
	}
	if coding := response.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		given.unusable = "is compressed with " + shown(redact.redact(coding)) + ", which was not asked for"
		return given
	}
	// Beyond the bound, as much as a secret that begins within it may take up.
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(maxResponse+4*redact.longest+1)))
	given.broken = err != nil
	contentType := response.Header.Get("Content-Type")
	if contentType == "" && len(body) > 0 {
		contentType = http.DetectContentType(body)
	}
	text, ok := decode(body, contentType)
	if !ok && len(body) > 0 {
		given.unusable = "is " + shown(redact.redact(contentType)) + ", which is not text"
		return given
	}
	given.text = cut(redact.redact(text), maxResponse)
	return given
}

// textTypes are the media types that are text beside text/* and those with the suffixes
// of RFC 6839.
var textTypes = map[string]bool{
	"application/json": true, "application/x-ndjson": true, "application/jsonl": true, "application/xml": true,
	"application/yaml": true, "application/x-yaml": true, "application/javascript": true, "application/x-www-form-urlencoded": true,
}

// decode gives a body as UTF-8, or false when it is no text.
func decode(body []byte, contentType string) (string, bool) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" {
		media = strings.ToLower(strings.TrimSpace(strings.SplitN(contentType, ";", 2)[0]))
	}
	isText := strings.HasPrefix(media, "text/")
	if !isText && !textTypes[media] && !strings.HasSuffix(media, "+json") && !strings.HasSuffix(media, "+xml") {
		return "", false
	}
	encoding, _ := charset.Lookup(parameters["charset"])
	if isText {
		encoding, _, _ = charset.DetermineEncoding(body[:min(len(body), sniffed)], contentType)
	}
	if encoding != nil {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(body), "\uFEFF"), "\uFFFD"), true
}

// cut bounds a text, and says so in it.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s\n[Cut: the answer has more than %d bytes.]", text[:end], limit)
}

// redirect is where a response sends on to; empty when it does not. 303 sends on from a
// call that was taken to something about it (RFC 9110 section 15.4.4).
func redirect(response *http.Response, method string, redact redactor) string {
	taken := response.StatusCode == http.StatusSeeOther && !reads(method)
	if !redirects[response.StatusCode] || response.Header.Get("Location") == "" || taken {
		return ""
	}
	location, err := response.Location()
	if err != nil {
		return "something that is no URL"
	}
	origin, ok := template.OriginOf(location)
	if !ok {
		return "something that is no http or https URL"
	}
	return shown(redact.redact(origin.String()))
}

func facts(header http.Header, redact redactor) string {
	var lines strings.Builder
	for _, name := range shownHeaders {
		if value := header.Get(name); value != "" {
			lines.WriteString("\n" + name + ": " + shown(redact.redact(value)))
		}
	}
	return lines.String()
}

// shown makes a header of a server's fit for a message: one line, bounded.
func shown(value string) string {
	value = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(value, "?"))
	if len(value) > maxFact {
		value = strings.ToValidUTF8(value[:maxFact], "") + "…"
	}
	return value
}
