// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

func checkSchedules(v *validation) {
	for i := range v.spec.Schedules {
		schedule, path := &v.spec.Schedules[i], root.Child("schedules").Index(i)
		if _, err := ParseCron(schedule.Cron); err != nil {
			v.add(RuleSchedule, path.Child("cron"), "%s: %s", quoted(schedule.Cron), err)
		}
		if !isTimeZone(schedule.TimeZone) {
			v.add(RuleTimeZone, path.Child("timeZone"),
				"%s is not a name of the IANA time zone database: use one as in Europe/Berlin or Etc/UTC", quoted(schedule.TimeZone))
		}
	}
}

// cronParser reads five fields. Where both days are given either is enough, as
// in every crontab.
var cronParser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom)

var (
	errCronFields = errors.New("a schedule has five fields: minute, hour, day of month, month, day of week")
	errCronNever  = errors.New("there is no such day in any year, so it never fires: correct the day or the month")
)

// ParseCron reads a five-field cron expression, names of months and weekdays in
// any case. It returns an error for any other, a time zone within it included,
// and for one that never fires.
func ParseCron(expression string) (cron.Schedule, error) {
	// Counting here also keeps the parser from a TZ= prefix, for which it would
	// read files.
	if len(strings.Fields(expression)) != 5 || strings.Contains(expression, "=") {
		return nil, errCronFields
	}
	// The parser takes an upper-case H for a hash, that in THU too.
	schedule, err := cronParser.Parse(strings.ToLower(expression))
	if err != nil {
		return nil, err
	}
	if schedule.Next(cronEpoch).IsZero() {
		return nil, errCronNever
	}
	return schedule, nil
}

// cronEpoch is any time: all dates occur within the years after it.
var cronEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
