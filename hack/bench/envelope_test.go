// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"remit.dev/remit/internal/octool"
)

// plainTable is what a program would decode a table into that checks nothing.
type plainTable struct {
	Columns     []string `json:"columns"`
	Rows        [][]any  `json:"rows"`
	RowCount    int      `json:"row_count"`
	Truncated   bool     `json:"truncated"`
	ColumnKinds []string `json:"column_kinds"`
	TotalCount  any      `json:"total_count"`
	NextCursor  *string  `json:"next_cursor"`
	Resumable   bool     `json:"resumable"`
}

// BenchmarkReadTabular reads a table of 50,000 cells tolerantly, and with
// encoding/json into a plain struct, by turns, so that both see the same machine.
// The metrics "ratio" and "memory-ratio" are the time and the allocated bytes of the
// former by those of the latter.
func BenchmarkReadTabular(b *testing.B) {
	for _, notices := range []bool{false, true} {
		name := "known"
		if notices {
			name = "additions"
		}
		data := table(5000, notices)
		b.Run(name, func(b *testing.B) {
			var ours, theirs measured
			for b.Loop() {
				ours.add(func() {
					read, found, err := octool.ReadTabular(data)
					if err != nil || len(read.Rows) != 5000 || (len(found) > 0) != notices {
						b.Fatal(err, found)
					}
				})
				theirs.add(func() {
					var plain plainTable
					if err := json.Unmarshal(data, &plain); err != nil || len(plain.Rows) != 5000 {
						b.Fatal(err)
					}
				})
			}
			b.ReportMetric(float64(ours.time)/float64(theirs.time), "ratio")
			b.ReportMetric(float64(ours.bytes)/float64(theirs.bytes), "memory-ratio")
			b.ReportMetric(float64(ours.time.Nanoseconds())/float64(b.N), "octool-ns/op")
			b.ReportMetric(float64(theirs.time.Nanoseconds())/float64(b.N), "plain-ns/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measured is what some runs took together.
type measured struct {
	time  time.Duration
	bytes uint64
}

func (m *measured) add(run func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	run()
	m.time += time.Since(start)
	runtime.ReadMemStats(&after)
	m.bytes += after.TotalAlloc - before.TotalAlloc
}

// table makes a table of ten columns of all sorts. One with additions has keys and
// words of a later minor of the format.
func table(rows int, additions bool) []byte {
	kinds := `"integer","text","number","ip","boolean","timestamp","big_integer","text","fqdn","integer"`
	later := ""
	if additions {
		kinds = strings.Replace(kinds, `"fqdn"`, `"geo_point"`, 1)
		later = `,"row_ids":[1,2,3],"source":{"instance":"a","region":"b"}`
	}
	var t strings.Builder
	t.WriteString(`{"columns":["id","title","load","address","open","at","size","owner","host","parent"],"rows":[`)
	for i := range rows {
		if i > 0 {
			t.WriteByte(',')
		}
		fmt.Fprintf(&t, `[%d,"Incident %d: \"disk\" full – again",%d.%02d,"10.%d.%d.7",%t,"2026-05-04T03:02:%02dZ","3402823669209384634633746074%011d","team-%d","host-%d.example.com",null]`,
			i, i, i%100, i%97, i%256, i%200, i%2 == 0, i%60, i, i%30, i)
	}
	fmt.Fprintf(&t, `],"row_count":%d,"truncated":true,"column_kinds":[%s],"total_count":"36893488147419103232","next_cursor":"p2","resumable":true%s}`,
		rows, kinds, later)
	return []byte(t.String())
}
