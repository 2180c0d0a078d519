package header_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
)

// What a surface does with an outcome: refuse, or write the fields and go on.
func Example() {
	w, err := header.New(header.Config{NoLegacy: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	o := &weir.Outcome{ // from a Limiter or a Decider
		RetryAfter: 180_000,
		Takes:      []weir.Take{{Limit: weir.MustLimit("create-job", "5/s"), Cost: 1}},
		Decisions:  []weir.Decision{{RetryAfter: 180_000, ResetAfter: 980_000}},
	}
	serve := func(rw http.ResponseWriter, r *http.Request) {
		if !o.Allowed {
			w.Refuse(rw, r, o)
			return
		}
		w.Write(rw.Header(), o)
		w.Expose(rw.Header(), r)
		fmt.Fprintln(rw, "created")
	}

	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/jobs", http.NoBody)
	r.Header.Set("Accept", "text/plain")
	serve(rec, r)
	fmt.Println(rec.Code, http.StatusText(rec.Code))
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "Retry-After"} {
		fmt.Println(name+":", rec.Header().Get(name))
	}
	fmt.Print(rec.Body)
	// Output:
	// 429 Too Many Requests
	// RateLimit: "create-job";r=0;t=1
	// RateLimit-Policy: "create-job";q=5;w=1
	// Retry-After: 1
	// Quota Exceeded: create-job allows 5/s; retry in 1 s
}

// A rule that answers in its own words, and hides that it limits.
func ExampleConfig_problem() {
	w, err := header.New(header.Config{
		NoRateLimit: true,
		NoLegacy:    true,
		Problem: func(_ *http.Request, o *weir.Outcome, p *header.Problem) {
			if o.Cause == weir.ByDeny {
				*p = header.Problem{Status: http.StatusNotFound, Detail: "there is nothing here"}
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var o weir.Outcome
	o.Refuse(weir.ByDeny, nil)
	rec := httptest.NewRecorder()
	w.Refuse(rec, httptest.NewRequest(http.MethodGet, "/", http.NoBody), &o)
	fmt.Print(rec.Body)
	// Output:
	// {"type":"about:blank","title":"Not Found","status":404,"detail":"there is nothing here"}
}
