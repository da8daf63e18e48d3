package result

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration, and a number of seconds in JSON.
type Duration time.Duration

// Seconds is the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

func (d Duration) String() string { return time.Duration(d).String() }

func (d Duration) nanoseconds() int64 { return int64(d) }

// MarshalJSON writes seconds with all nine digits.
func (d Duration) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.9f", time.Duration(d).Seconds()), nil
}

// UnmarshalJSON reads seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s float64
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*d = Duration(time.Duration(s*1e9 + 0.5))
	return nil
}
