// SPDX-License-Identifier: Apache-2.0

//go:build race

package e2e

// raceDetector says whether these tests run with the race detector.
const raceDetector = true
