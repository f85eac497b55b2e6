// SPDX-License-Identifier: Apache-2.0

// Package functions holds the functions that every operator registers: what a
// model gets wrong when it works it out by itself. Each only computes. The clock
// is passed in, and nothing else is read.
package functions

import (
	"context"
	"time"

	"remit.dev/remit/internal/octool"
)

// Provider lists the functions. The clock is what current_time reads, and
// next_cron_times where it is not told from when.
func Provider(now func() time.Time) octool.Provider {
	return octool.Tools(
		currentTime(now), convertTime(), timeDifference(), nextCronTimes(now),
		calculate(), ipBlockInfo(), textDigest(), jsonLookup(),
	)
}

// function describes one of them. A description that breaks a rule of structure is
// an error in this package, which its tests would show, so that it panics.
func function[In, Out any](name, tag, description string, call func(In) (Out, error)) *octool.Tool {
	tool, err := octool.Typed(octool.Definition{
		Name: name, Description: description, Access: octool.AccessLocal, Tags: []string{tag},
	}, func(_ context.Context, _ any, in In) (Out, error) { return call(in) })
	if err != nil {
		panic(err)
	}
	return tool
}

// refuse is the error of an argument that a function does not take.
func refuse(argument, message string) error {
	return &octool.ArgumentError{Argument: "/" + argument, Message: message}
}
