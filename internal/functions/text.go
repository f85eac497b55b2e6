// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.dev/remit/internal/octool"
)

type digestInput struct {
	Text      string  `json:"text" jsonschema:"The text, of which the bytes in UTF-8 count. A line break at its end counts too."`
	Algorithm *string `json:"algorithm,omitempty" enum:"sha256,sha384,sha512" jsonschema:"Left out for sha256."`
}

type digestOutput struct {
	Algorithm string `json:"algorithm"`
	Digest    string `json:"digest" jsonschema:"In lower-case hexadecimal digits."`
	Bytes     int    `json:"bytes" jsonschema:"How many bytes the text has."`
}

func textDigest() *octool.Tool {
	return function("text_digest", octool.TagAdvanced,
		"Gives the SHA-2 digest of a text, to compare it or to check that it is unchanged. Never guess a digest instead. It returns the "+
			"digest in hexadecimal and how many bytes were read. It is not for passwords, which need a slow hash.",
		func(in digestInput) (digestOutput, error) {
			algorithm, text := valueOr(in.Algorithm, "sha256"), []byte(in.Text)
			var digest []byte
			switch algorithm {
			case "sha384":
				sum := sha512.Sum384(text)
				digest = sum[:]
			case "sha512":
				sum := sha512.Sum512(text)
				digest = sum[:]
			default:
				sum := sha256.Sum256(text)
				digest = sum[:]
			}
			return digestOutput{algorithm, hex.EncodeToString(digest), len(text)}, nil
		})
}

// maxPointerTokens bounds a pointer, as each of its steps reads what is left of the
// document.
const maxPointerTokens = 64

type lookupInput struct {
	Document string `json:"document" jsonschema:"The text of a JSON document."`
	Pointer  string `json:"pointer" jsonschema:"A JSON pointer (RFC 6901), as in /items/0/name; empty for the whole. At most 64 steps."`
}

type lookupOutput struct {
	Found bool   `json:"found"`
	Type  string `json:"type,omitempty" enum:"object,array,string,number,boolean,null"`
	JSON  string `json:"json,omitempty" jsonschema:"The value as JSON text, numbers as they were written."`
	Size  *int   `json:"size,omitempty" jsonschema:"How many members an object has, or elements an array."`
}

func jsonLookup() *octool.Tool {
	return function("json_lookup", octool.TagAdvanced,
		"Takes one value out of a JSON document. Use it for documents that are too long to read by eye, and to count what an array holds. "+
			"It returns whether there is a value, its type, its JSON text, and the size of an object or an array. Numbers are never rounded, and a "+
			"document with a key twice in one object is refused.",
		func(in lookupInput) (lookupOutput, error) {
			tokens, err := pointerTokens(in.Pointer)
			if err != nil {
				return lookupOutput{}, err
			}
			document := jsontext.Value(in.Document)
			if err := document.Format(jsontext.PreserveRawStrings(true)); err != nil {
				return lookupOutput{}, refuse("document", "it cannot be read: "+strings.TrimPrefix(err.Error(), "jsontext: "))
			}
			value := json.RawMessage(document)
			for _, token := range tokens {
				if value = step(value, token); value == nil {
					return lookupOutput{}, nil
				}
			}
			return describeValue(value), nil
		})
}

func pointerTokens(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	tokens := strings.Split(rest, "/")
	if !ok || len(tokens) > maxPointerTokens {
		return nil, refuse("pointer", fmt.Sprintf("it must be empty, or begin with / and have %d steps at most", maxPointerTokens))
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, token := range tokens {
		tokens[i] = unescape.Replace(token)
	}
	return tokens, nil
}

// step gives the member or the element of that name, or nil.
func step(value json.RawMessage, token string) json.RawMessage {
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil
		}
		return object[token]
	case '[':
		// RFC 6901 has no leading zeros, and no sign.
		index, err := strconv.ParseUint(token, 10, 31)
		if err != nil || strconv.FormatUint(index, 10) != token {
			return nil
		}
		var array []json.RawMessage
		if json.Unmarshal(value, &array) != nil || index >= uint64(len(array)) {
			return nil
		}
		return array[index]
	default:
		return nil
	}
}

func describeValue(value json.RawMessage) lookupOutput {
	out := lookupOutput{Found: true, JSON: string(value)}
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) == nil {
			out.Type, out.Size = "object", new(len(object))
		}
	case '[':
		var array []json.RawMessage
		if json.Unmarshal(value, &array) == nil {
			out.Type, out.Size = "array", new(len(array))
		}
	case '"':
		out.Type = "string"
	case 't', 'f':
		out.Type = "boolean"
	case 'n':
		out.Type = "null"
	default:
		out.Type = "number"
	}
	return out
}
