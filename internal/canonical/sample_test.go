// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sample has one field for each thing that a type can say to the canonicaliser.
type sample struct {
	SampleMeta `json:",inline"`

	Text     string              `json:"text" canonical:"text"`
	Name     sampleName          `json:"name,omitempty"`
	On       bool                `json:"on,omitempty"`
	Count    int32               `json:"count,omitempty"`
	Small    uint8               `json:"small,omitempty"`
	Weight   float64             `json:"weight,omitempty"`
	Choice   *bool               `json:"choice,omitempty"`
	Limit    *int64              `json:"limit,omitempty"`
	Label    *string             `json:"label,omitempty"`
	Note     *string             `json:"note,omitempty" canonical:"tristate"`
	Wait     metav1.Duration     `json:"wait,omitzero"`
	Pause    *metav1.Duration    `json:"pause,omitempty"`
	Order    []string            `json:"order,omitempty" canonical:"ordered"`
	Steps    []sampleStep        `json:"steps,omitempty" canonical:"ordered"`
	Set      []sampleName        `json:"set,omitempty" canonical:"set"`
	Approval []string            `json:"approval,omitempty" canonical:"set,tristate"`
	Tools    []sampleTool        `json:"tools,omitempty" canonical:"map=name"`
	Labels   map[string]string   `json:"labels,omitempty"`
	Texts    map[string]string   `json:"texts,omitempty" canonical:"text"`
	Headers  map[string][]string `json:"headers,omitempty" canonical:"ordered"`
	Env      map[string]string   `json:"env,omitempty" canonical:"tristate"`
	Nested   sampleStep          `json:"nested,omitzero"`
	Box      *sampleStep         `json:"box,omitempty"`
	Marked   *sampleStep         `json:"marked,omitempty" canonical:"tristate"`

	Schema *apiextensionsv1.JSON           `json:"schema,omitempty"`
	Body   apiextensionsv1.JSON            `json:"body,omitzero"`
	Raw    json.RawMessage                 `json:"raw,omitempty"`
	Args   map[string]apiextensionsv1.JSON `json:"args,omitempty"`

	Secret string `json:"secret,omitempty" canonical:"-"`
	Hidden string `json:"-"`
}

type sampleName string

// SampleMeta is embedded, so its fields are the sample's.
type SampleMeta struct {
	Kind string `json:"kind,omitempty"`
}

type sampleStep struct {
	Do   string `json:"do,omitempty" canonical:"text"`
	Wait int64  `json:"wait,omitempty"`
}

type sampleTool struct {
	Name       string   `json:"name"`
	Source     string   `json:"source,omitempty" canonical:"text"`
	Idempotent *bool    `json:"idempotent,omitempty"`
	Uses       []string `json:"uses,omitempty" canonical:"set"`
}
