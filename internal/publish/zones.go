// SPDX-License-Identifier: Apache-2.0

package publish

import (
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// The names are kept here, and not asked of the host, so that a Spec is found
// valid on every machine or on none.
//
//go:generate go run zones_generate.go
//go:embed zones.txt
var zoneText string

var zones = sets.New(strings.Fields(zoneText)...)

// IsTimeZone tells whether the IANA time zone database has a zone of that name.
func IsTimeZone(name string) bool { return zones.Has(name) }
