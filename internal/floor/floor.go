// Package floor is what benchmarks state their figures as a multiple of: an HMAC-SHA256
// over 64 bytes with the hash reused, the least that a signed state costs.
package floor

import (
	"crypto/hmac"
	"crypto/sha256"
	"time"
)

// HMAC returns a function that computes the floor once.
func HMAC() func() {
	mac := hmac.New(sha256.New, make([]byte, 32))
	message, sum := make([]byte, 64), make([]byte, 0, sha256.Size)
	return func() {
		mac.Reset()
		mac.Write(message)
		sum = mac.Sum(sum[:0])
	}
}

// Ratio is how many HMACs take as long as a call. It compares the least times of many
// rounds, with the call and the floor in turn: whatever else a machine does only ever adds
// to a time.
func Ratio(call func()) float64 {
	const rounds = 2000
	hmac := HMAC()
	leastCall, leastHMAC := timeOf(call), timeOf(hmac)
	for range rounds {
		leastCall = min(leastCall, timeOf(call))
		leastHMAC = min(leastHMAC, timeOf(hmac))
	}
	return float64(leastCall) / float64(leastHMAC)
}

func timeOf(call func()) time.Duration {
	began := time.Now()
	for range 50 {
		call()
	}
	return time.Since(began)
}
