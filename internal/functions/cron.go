// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"
	"time"

	"remit.dev/remit/internal/octool"
	"remit.dev/remit/internal/publish"
)

const (
	// maxCronTimes bounds the times of one call.
	maxCronTimes     = 20
	defaultCronTimes = 5
	// maxCronBytes bounds an expression.
	maxCronBytes = 256
)

type cronInput struct {
	Expression string  `json:"expression" jsonschema:"Five fields: minute, hour, day of month, month, day of week."`
	Zone       *string `json:"zone,omitempty" jsonschema:"Name of the time zone whose clocks count, as in Europe/Berlin. Left out for Etc/UTC."`
	After      *string `json:"after,omitempty" format:"date-time" jsonschema:"Date and time of RFC 3339 after which to look. Left out for now."`
	Count      *int    `json:"count,omitempty" jsonschema:"How many times to give, from 1 to 20. Left out for 5."`
}

type cronOutput struct {
	Zone  string   `json:"zone"`
	Times []string `json:"times" format:"date-time"`
}

func nextCronTimes(now func() time.Time) *octool.Tool {
	return function("next_cron_times", octool.TagAdvanced,
		"Gives the next times at which a cron expression fires. Use it to check a schedule before it is relied upon. It returns them "+
			"in their order, each with its offset from UTC. Where both the day of month and the day of week are given, either is enough.",
		func(in cronInput) (cronOutput, error) {
			if len(in.Expression) > maxCronBytes {
				return cronOutput{}, refuse("expression", fmt.Sprintf("it has %d characters, more than %d", len(in.Expression), maxCronBytes))
			}
			schedule, err := publish.ParseCron(in.Expression)
			if err != nil {
				return cronOutput{}, refuse("expression", err.Error())
			}
			count := valueOr(in.Count, defaultCronTimes)
			if count < 1 || count > maxCronTimes {
				return cronOutput{}, refuse("count", fmt.Sprintf("it is %d, and must be from 1 to %d", count, maxCronTimes))
			}
			out := cronOutput{Zone: valueOr(in.Zone, "Etc/UTC"), Times: []string{}}
			zone, err := location("zone", out.Zone)
			if err != nil {
				return cronOutput{}, err
			}
			after := now()
			if in.After != nil {
				if after, err = instant("after", *in.After); err != nil {
					return cronOutput{}, err
				}
			}
			for at := after.In(zone); len(out.Times) < count; {
				if at = schedule.Next(at); at.IsZero() || at.Year() > 9999 {
					break
				}
				out.Times = append(out.Times, at.Format(time.RFC3339))
			}
			return out, nil
		})
}

func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
