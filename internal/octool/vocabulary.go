// SPDX-License-Identifier: Apache-2.0

package octool

// The closed vocabularies. Each has a fallback, its most conservative value, by
// which a tolerant reader reads a value that it does not know.
type (
	// ResultKind says which envelope a tool returns: "records" or "artifact".
	ResultKind string
	// Access says where the data of a tool is: "local" or "remote".
	Access string
	// ColumnKind says what the cells of a column hold.
	ColumnKind string
	// ColumnScale says on which axis a column is drawn.
	ColumnScale string
	// Sensitivity says what an artifact may hold.
	Sensitivity string
)

// The values of ResultKind.
const (
	ResultRecords  ResultKind = "records"
	ResultArtifact ResultKind = "artifact"
)

// The values of Access.
const (
	AccessLocal  Access = "local"
	AccessRemote Access = "remote"
)

// SensitivityInheritsInput means: treat it as holding every input column.
const SensitivityInheritsInput Sensitivity = "inherits_input"

// The values of ColumnKind.
const (
	KindText       ColumnKind = "text"
	KindNumber     ColumnKind = "number"
	KindInteger    ColumnKind = "integer"
	KindBoolean    ColumnKind = "boolean"
	KindTimestamp  ColumnKind = "timestamp"
	KindIP         ColumnKind = "ip"
	KindFQDN       ColumnKind = "fqdn"
	KindMAC        ColumnKind = "mac"
	KindIPBlock    ColumnKind = "ip_block"
	KindBigInteger ColumnKind = "big_integer"
)

// The values of ColumnScale; the empty one is no scale, null in JSON.
const (
	ScaleNone   ColumnScale = ""
	ScaleLinear ColumnScale = "linear"
	ScaleLog10  ColumnScale = "log10"
	ScaleLog2   ColumnScale = "log2"
)

// The fallbacks of the tolerant readers.
const (
	ColumnKindFallback  = KindText
	ColumnScaleFallback = ScaleNone
	SensitivityFallback = SensitivityInheritsInput
	ResultKindFallback  = ResultRecords
	AccessFallback      = AccessRemote
)

// VocabularyFallbacks gives, for each closed vocabulary of an envelope, how a
// tolerant reader reads a value that it does not know; nil is null.
func VocabularyFallbacks() map[string]any {
	return map[string]any{
		"column_kinds":  string(ColumnKindFallback),
		"column_scales": nil,
		"sensitivity":   string(SensitivityFallback),
	}
}
