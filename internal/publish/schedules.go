// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"errors"
	"fmt"
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
		if !IsTimeZone(schedule.TimeZone) {
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
		return nil, cmp.Or(faultyFields(strings.Fields(expression)), err)
	}
	if schedule.Next(cronEpoch).IsZero() {
		return nil, errCronNever
	}
	return schedule, nil
}

// cronFields are the names of the fields, and the values that they take.
var cronFields = [...]struct{ name, values string }{
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day of month", "1 to 31"},
	{"month", "1 to 12 or JAN to DEC"},
	{"day of week", "0 to 7 or SUN to SAT"},
}

// faultyFields names the fields that the parser refuses by themselves: what it says
// is about its own options. It returns nil if there are none.
func faultyFields(fields []string) error {
	var faulty []string
	for i, field := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = strings.ToLower(field)
		if _, err := cronParser.Parse(strings.Join(alone, " ")); err != nil {
			faulty = append(faulty, fmt.Sprintf("the %s cannot be %s: use %s, as * or in lists, ranges and steps (1,2 1-5 */5)",
				cronFields[i].name, quoted(field), cronFields[i].values))
		}
	}
	if len(faulty) == 0 {
		return nil
	}
	return errors.New(strings.Join(faulty, "; "))
}

// cronEpoch is any time: all dates occur within the years after it.
var cronEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
