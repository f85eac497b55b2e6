// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// The parts of SARIF 2.1.0 (OASIS) that code review tools read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
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
		FullDescription  sarifMessage `json:"fullDescription"`
		Help             sarifMessage `json:"help"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
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
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL   = "https://remit.dev/remit"
	// sourceRoot is what code review tools call the root of the working tree.
	sourceRoot = "%SRCROOT%"
)

// level is that of SARIF.
func (f *Finding) level() string {
	if f.advice() {
		return "warning"
	}
	return "error"
}

// WriteSARIF writes the findings as SARIF 2.1.0, of level error or warning, and errors and
// notices as notifications of the tool. Files below the directory dir, which is an
// absolute path, are given relative to it.
func (r *Report) WriteSARIF(w io.Writer, dir string) error {
	driver := sarifDriver{Name: "remit", InformationURI: projectURL}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.Name] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: rule.Name, ShortDescription: sarifMessage{rule.Summary},
			FullDescription: sarifMessage{rule.Summary + " " + rule.Help}, Help: sarifMessage{rule.Help},
		})
	}
	results := []sarifResult{} // [], not null: nothing was found
	for i := range r.Objects {
		o := &r.Objects[i]
		for _, f := range o.Findings {
			location := sarifPlace(dir, o.Source, f.Line, f.Column)
			location.Logical = []sarifLogical{{FullyQualifiedName: f.Path}}
			results = append(results, sarifResult{
				RuleID: f.Rule, RuleIndex: index[f.Rule], Level: f.level(),
				Message:   sarifMessage{o.String() + ": " + f.Path + ": " + f.Message},
				Locations: []sarifLocation{location},
			})
		}
	}
	return writeJSON(w, sarifLog{
		Schema: sarifSchema, Version: sarifVersion,
		Runs: []sarifRun{{
			Tool:        sarifTool{driver},
			Invocations: []sarifInvocation{{ExecutionSuccessful: len(r.Errors) == 0, Notifications: r.notifications(dir)}},
			Results:     results,
		}},
	})
}

// notifications are about what was not checked.
func (r *Report) notifications(dir string) []sarifNotification {
	all := []sarifNotification{}
	add := func(level, source string, line int, message string) {
		all = append(all, sarifNotification{level, sarifMessage{message}, []sarifLocation{sarifPlace(dir, source, line, 0)}})
	}
	for _, err := range r.Errors {
		add("error", err.Source, err.Line, err.Err.Error())
	}
	for i := range r.Objects {
		if o := &r.Objects[i]; o.Incomplete {
			add("warning", o.Source, o.Line, o.String()+": "+incompleteMessage)
		}
	}
	for _, notice := range r.Notices {
		add("note", notice.Source, notice.Line, notice.Message)
	}
	return all
}

// sarifPlace is a place in a source, or the whole of it if line is 0.
func sarifPlace(dir, source string, line, column int) sarifLocation {
	place := sarifPhysical{Artifact: artifact(dir, source)}
	if line > 0 {
		place.Region = &sarifRegion{StartLine: line, StartColumn: column}
	}
	return sarifLocation{Physical: place}
}

// artifact is a reference relative to dir if the file is below it, as code review
// tools want it, and else an absolute one.
func artifact(dir, source string) sarifArtifact {
	if source == Stdin {
		return sarifArtifact{URI: Stdin}
	}
	path := source
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	below, err := filepath.Rel(dir, path)
	if err != nil || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(below)}).String(), Base: sourceRoot}
}
