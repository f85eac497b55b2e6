// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/publish"
)

// The parts of SARIF 2.1.0 (OASIS) that code review tools read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL   = "https://remit.dev/remit"
)

// Rules lists every rule that findings may carry, by name.
func Rules() []publish.Rule {
	rules := append(publish.Rules(),
		publish.Rule{Name: RuleUnknownField, Summary: "Every field is in the schema."},
		publish.Rule{Name: RuleSchema, Summary: "Every value keeps the schema and its CEL rules."},
		publish.Rule{Name: RuleMetadata, Summary: "The metadata is one that an object can have."},
		publish.Rule{Name: RuleDuplicateKey, Summary: "Every key is there once."},
		publish.Rule{Name: string(canonical.RuleNumberRounded), Summary: "Every number is one that Kubernetes can store."},
		publish.Rule{Name: string(canonical.RuleNumberRange), Summary: "Every number is within the range of a 64-bit float."},
		publish.Rule{Name: string(canonical.RuleInvalidUTF8), Summary: "Every string is UTF-8."},
		publish.Rule{Name: string(canonical.RuleLoneSurrogate), Summary: "No escape names half of a surrogate pair."},
		publish.Rule{Name: string(canonical.RuleTooDeep), Summary: "Objects and arrays are nested within bounds."},
	)
	slices.SortFunc(rules, func(a, b publish.Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}

// WriteSARIF writes the findings as SARIF 2.1.0, each of level error.
func (r *Report) WriteSARIF(w io.Writer) error {
	driver := sarifDriver{Name: "remit", InformationURI: projectURL}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.Name] = i
		driver.Rules = append(driver.Rules, sarifRule{ID: rule.Name, ShortDescription: sarifMessage{rule.Summary}})
	}
	results := []sarifResult{} // [], not null: nothing was found
	for i := range r.Objects {
		o := &r.Objects[i]
		for _, f := range o.Findings {
			results = append(results, sarifResult{
				RuleID: f.Rule, RuleIndex: index[f.Rule], Level: "error",
				Message: sarifMessage{o.String() + ": " + f.Path + ": " + f.Message},
				Locations: []sarifLocation{{
					Physical: sarifPhysical{
						Artifact: sarifArtifact{fileURI(o.Source)},
						Region:   sarifRegion{StartLine: f.Line, StartColumn: f.Column},
					},
					Logical: []sarifLogical{{FullyQualifiedName: f.Path}},
				}},
			})
		}
	}
	return writeJSON(w, sarifLog{
		Schema: sarifSchema, Version: sarifVersion,
		Runs: []sarifRun{{Tool: sarifTool{driver}, Results: results}},
	})
}

// fileURI is a relative reference where the path was relative, as code review
// tools want it.
func fileURI(path string) string {
	uri := url.URL{Path: filepath.ToSlash(filepath.Clean(path))}
	if filepath.IsAbs(path) {
		uri.Scheme = "file"
	}
	return uri.String()
}
