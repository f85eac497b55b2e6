// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
)

// oncePerSource are the objects of a source that were seen, by kind and name.
type oncePerSource map[string]seenObject

type seenObject struct {
	line    int
	content [sha256.Size]byte
}

// check reports an object that was there before with another content. What is
// compared is what an API server would store.
func (once oncePerSource) check(object *Object, content map[string]any) []v1alpha1.Finding {
	text, err := json.Marshal(content)
	if err != nil || object.Name == "" { // a generated name is another one each time
		return nil
	}
	digest := sha256.Sum256(text)
	seen, ok := once[object.String()]
	if !ok {
		once[object.String()] = seenObject{object.Line, digest}
		return nil
	}
	if seen.content == digest {
		return nil
	}
	return []v1alpha1.Finding{{Rule: RuleDuplicateObject, Path: "metadata.name", Message: fmt.Sprintf(
		"%s is in line %d too, with another content, and the last one would win: rename or remove one of them", object, seen.line)}}
}
