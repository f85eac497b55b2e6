// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone is the same on every machine that has none

	"remit.dev/remit/internal/octool"
	"remit.dev/remit/internal/publish"
)

type timeOutput struct {
	Time string `json:"time" format:"date-time"`
}

func currentTime(now func() time.Time) *octool.Tool {
	return function("current_time", octool.TagRecommended,
		"Gives the current date and time. Use it when an answer depends on today's date. "+
			"It returns a JSON object with the time in UTC, in the form of RFC 3339.",
		func(struct{}) (timeOutput, error) {
			return timeOutput{now().UTC().Format(time.RFC3339)}, nil
		})
}

type convertInput struct {
	Time string `json:"time" format:"date-time" jsonschema:"Date and time of RFC 3339, as in 2026-02-03T04:05:06Z."`
	Zone string `json:"zone" jsonschema:"Name of a time zone, as in Europe/Berlin or Etc/UTC."`
}

type convertOutput struct {
	Time         string `json:"time" format:"date-time"`
	Zone         string `json:"zone"`
	Abbreviation string `json:"abbreviation"`
	Weekday      string `json:"weekday"`
	DaylightTime bool   `json:"daylight_saving_time"`
}

func convertTime() *octool.Tool {
	return function("convert_time", octool.TagRecommended,
		"Gives a date and time as the clocks of a time zone show it. Use it rather than adding hours, as zones change to daylight "+
			"saving time on different days. It returns the time with its offset from UTC, the zone, its abbreviation, the weekday, and "+
			"whether it is daylight saving time. The zone is a name of the IANA time zone database, not an abbreviation as EST.",
		func(in convertInput) (convertOutput, error) {
			at, err := instant("time", in.Time)
			if err != nil {
				return convertOutput{}, err
			}
			zone, err := location("zone", in.Zone)
			if err != nil {
				return convertOutput{}, err
			}
			at = at.In(zone)
			if year := at.Year(); year < 0 || year > 9999 {
				return convertOutput{}, refuse("time", "in that zone it is not within the years 0 to 9999")
			}
			abbreviation, _ := at.Zone()
			return convertOutput{at.Format(time.RFC3339Nano), in.Zone, abbreviation, at.Weekday().String(), at.IsDST()}, nil
		})
}

type differenceInput struct {
	Start string `json:"start" jsonschema:"Date, or date and time of RFC 3339, as in 2026-02-03 or 2026-02-03T04:05:06+01:00."`
	End   string `json:"end" jsonschema:"Date, or date and time, likewise."`
}

type differenceOutput struct {
	TotalSeconds string `json:"total_seconds" jsonschema:"The whole difference in seconds, an exact decimal; negative where end is before start."`
	Negative     bool   `json:"negative"`
	Days         int64  `json:"days"`
	Hours        int64  `json:"hours"`
	Minutes      int64  `json:"minutes"`
	Seconds      int64  `json:"seconds"`
	Nanoseconds  int64  `json:"nanoseconds"`
}

func timeDifference() *octool.Tool {
	return function("time_difference", octool.TagRecommended,
		"Gives the time that passes from one moment to another. A date without a time is its midnight in UTC. It returns the "+
			"difference in seconds as an exact decimal, negative where the end comes first, and its size as days, hours, minutes, seconds "+
			"and nanoseconds. A day has 24 hours here, whatever the clocks of a zone do.",
		func(in differenceInput) (differenceOutput, error) {
			start, err := moment("start", in.Start)
			if err != nil {
				return differenceOutput{}, err
			}
			end, err := moment("end", in.End)
			if err != nil {
				return differenceOutput{}, err
			}
			return difference(start, end), nil
		})
}

// difference keeps seconds and nanoseconds apart, as a Duration ends after 292
// years.
func difference(start, end time.Time) differenceOutput {
	out := differenceOutput{Negative: end.Before(start)}
	if out.Negative {
		start, end = end, start
	}
	seconds, nanoseconds := end.Unix()-start.Unix(), int64(end.Nanosecond()-start.Nanosecond())
	if nanoseconds < 0 {
		seconds, nanoseconds = seconds-1, nanoseconds+int64(time.Second)
	}
	out.Days, out.Hours, out.Minutes, out.Seconds = seconds/86400, seconds/3600%24, seconds/60%60, seconds%60
	out.Nanoseconds = nanoseconds
	out.TotalSeconds = strconv.FormatInt(seconds, 10)
	if nanoseconds > 0 {
		out.TotalSeconds += strings.TrimRight(fmt.Sprintf(".%09d", nanoseconds), "0")
	}
	if out.Negative {
		out.TotalSeconds = "-" + out.TotalSeconds
	}
	return out
}

// instant reads a date and time.
func instant(argument, text string) (time.Time, error) {
	var at time.Time
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return at, refuse(argument, "it must be a date and time of RFC 3339, as in 2026-02-03T04:05:06Z")
	}
	return at, nil
}

// moment reads a date, or a date and time.
func moment(argument, text string) (time.Time, error) {
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date, nil
	}
	at, err := instant(argument, text)
	if err != nil {
		return at, refuse(argument, "it must be a date, or a date and time of RFC 3339, as in 2026-02-03 or 2026-02-03T04:05:06Z")
	}
	return at, nil
}

// location gives a zone by a name that the database has on every machine.
func location(argument, name string) (*time.Location, error) {
	if publish.IsTimeZone(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, refuse(argument, "it must be a name of the IANA time zone database, as in Europe/Berlin or Etc/UTC")
}
