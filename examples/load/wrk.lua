-- What wrk.sh prints: requests by status, and times. wrk runs this file once in
-- each thread; done runs once, at the end.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(_)
  passed, refused, other = 0, 0, 0
end

function response(status, _, _)
  if status < 400 then
    passed = passed + 1
  elseif status == 429 then
    refused = refused + 1
  else
    other = other + 1
  end
end

function done(summary, latency, _)
  local sum = { passed = 0, refused = 0, other = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do
      sum[name] = sum[name] + thread:get(name)
    end
  end
  local seconds = summary.duration / 1e6
  print(string.format("passed   %d, %.1f a second", sum.passed, sum.passed / seconds))
  print(string.format("refused  %d (429), %.0f a second", sum.refused, sum.refused / seconds))
  print(string.format("other    %d", sum.other + summary.errors.connect + summary.errors.read + summary.errors.timeout))
  print(string.format("latency  half within %.2f ms, 99 %% within %.2f ms", latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
