package ulule

import (
	"net/http"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func before(next http.Handler) (http.Handler, error) {
	rate, err := limiter.NewRateFromFormatted("1000-H")
	if err != nil {
		return nil, err
	}
	instance := limiter.New(memory.NewStore(), rate, limiter.WithTrustForwardHeader(true))
	return stdlib.NewMiddleware(instance).Handler(next), nil
}
