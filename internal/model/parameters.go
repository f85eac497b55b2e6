// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ParseParameters reads the parameters of a Spec's model: a JSON object with the
// keys temperature, topP, maxOutputTokens and seed.
func ParseParameters(text []byte) (Parameters, error) {
	var document struct {
		Temperature     *float64 `json:"temperature"`
		TopP            *float64 `json:"topP"`
		MaxOutputTokens *int64   `json:"maxOutputTokens"`
		Seed            *int64   `json:"seed"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return Parameters{}, fmt.Errorf("parameters: %w", err)
	}
	if decoder.More() {
		return Parameters{}, errors.New("parameters: there is text after the JSON object")
	}
	return Parameters(document), nil
}
