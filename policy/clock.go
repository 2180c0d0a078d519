package policy

import "time"

// wallClock is the time that tokens are judged by. Limits are judged by the
// clock of their store.
func wallClock() time.Time { return time.Now() }
