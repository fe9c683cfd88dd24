package floor

import "testing"

func BenchmarkHMAC(b *testing.B) {
	hmac := HMAC()
	b.ReportAllocs()
	for b.Loop() {
		hmac()
	}
}

func TestRatioMakesTheCall(t *testing.T) {
	calls := 0
	if ratio := Ratio(func() { calls++ }); ratio < 0 || calls == 0 {
		t.Errorf("after %d calls, the ratio is %v", calls, ratio)
	}
}
