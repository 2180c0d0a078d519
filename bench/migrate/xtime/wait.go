package xtime

import (
	"fmt"

	"github.com/weirhq/weir"
)

// retryError says when the same call passes, if nobody else comes meanwhile.
type retryError struct{ after weir.Micros }

func (e *retryError) Error() string { return fmt.Sprintf("come back in %d µs", e.after) }
