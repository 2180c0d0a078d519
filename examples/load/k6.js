// k6 run k6.js: a constant rate of requests, whatever the answers take.
//
//   k6 run -e URL=http://127.0.0.1:8000/items -e RATE=100 -e TIME=10s k6.js
//
// The thresholds fail the run (exit code 99) when an answer is neither 200 nor
// 429, when a refusal names no wait, or when refusals are slow.
import http from "k6/http";
import { check } from "k6";
import { Counter, Trend } from "k6/metrics";

const url = __ENV.URL || "http://127.0.0.1:8000/items";

const passed = new Counter("passed");
const refused = new Counter("refused");
const refusalTime = new Trend("refusal_time", true);

// A refusal is an answer as it should be: it is no failed request.
http.setResponseCallback(http.expectedStatuses(200, 429));

export const options = {
  scenarios: {
    steady: {
      executor: "constant-arrival-rate",
      rate: Number(__ENV.RATE || 100),
      timeUnit: "1s",
      duration: __ENV.TIME || "10s",
      preAllocatedVUs: 20,
      maxVUs: 200,
    },
  },
  thresholds: {
    checks: ["rate==1"],
    http_req_failed: ["rate==0"],
    refusal_time: ["p(99)<50"],
  },
};

export default function () {
  const answer = http.get(url);
  if (answer.status === 429) {
    refused.add(1);
    refusalTime.add(answer.timings.duration);
    check(answer, { "a refusal says when to come back": (r) => Number(r.headers["Retry-After"]) >= 1 });
    return;
  }
  passed.add(1);
  check(answer, { "the answer is 200": (r) => r.status === 200 });
}
