-- SPDX-License-Identifier: MIT
-- measure.lua - what every Lua side of a bench row shares: the calibrated loop, the checks, the
-- printed result. Runs on Lua 5.4, LuaJIT and Tarantool alike and knows nothing of weft.
--
-- Times are processor time of the process (os.clock), not wall time: each side is one thread that
-- never sleeps, so on a quiet machine both are the same, and on a busy one the time that other
-- programs took does not count.

local measure = {}

local clock = os.clock

-- Prints one result; the driver reads lines of "key number".
function measure.print(key, number)
  io.write(string.format("%s %.17g\n", key, number))
  io.flush()
end

local function time(run, rounds, now)
  now = now or clock
  local begin = now()
  run(rounds)
  return now() - begin
end

-- Rounds that take about `target` units of the clock, of seconds by itself. The doubling warms
-- caches and compilers up as well.
local function calibrate(run, target, now)
  local rounds = 1
  while true do
    local taken = time(run, rounds, now)
    if taken >= target / 4 then
      return math.max(1, math.floor(rounds * target / taken))
    end
    rounds = rounds * 2
  end
end

-- Nanoseconds per operation: the median of five batches of `run(rounds)`, a round being `ops`
-- operations and a batch about `target` seconds. `counted`, if given, tells how many operations
-- there were so far, for loops whose rounds are not exact.
function measure.loop(ops, run, target, counted)
  collectgarbage()
  collectgarbage()
  local rounds = calibrate(run, target or 0.025)
  local samples = {}
  for i = 1, 5 do
    local before = counted and counted()
    local taken = time(run, rounds)
    samples[i] = taken / (counted and counted() - before or rounds * ops) * 1e9
  end
  table.sort(samples)
  return samples[3]
end

-- Nanoseconds per operation of `run()`, which is `ops` of them, without what `prepare()` takes
-- before each: the median of as many rounds as take half a second, at least nine.
function measure.part(ops, prepare, run)
  local samples, spent = {}, 0
  for _ = 1, 2 do
    prepare()
    run()
  end
  while spent < 0.5 or #samples < 9 do
    prepare()
    local taken = time(run)
    spent = spent + taken
    samples[#samples + 1] = taken / ops * 1e9
  end
  table.sort(samples)
  return samples[math.ceil(#samples / 2)]
end

-- Nanoseconds on the wall per operation, where other threads do the work: the median of five
-- batches as above, of 200 ms each. `now` gives nanoseconds.
function measure.wall(ops, run, now)
  collectgarbage()
  collectgarbage()
  local rounds, samples = calibrate(run, 2e8, now), {}
  for i = 1, 5 do samples[i] = time(run, rounds, now) / (rounds * ops) end
  table.sort(samples)
  return samples[3]
end

function measure.check(condition, message, ...)
  if not condition then error("check failed: " .. message:format(...), 0) end
end

-- Numbers that are the same on every VM: Lehmer's generator, exact in a double.
function measure.random(seed)
  local state = seed
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end

-- The numbers 1..n in a random order.
function measure.permutation(n, seed)
  local random, list = measure.random(seed), {}
  for i = 1, n do list[i] = i end
  for i = n, 2, -1 do
    local j = random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- Checks that `seen` is one round of all the numbers 1..n: in order, or far out of it, as the side
-- claims.
local function checkRound(seen, first, n, shuffled)
  local met, distance = {}, 0
  for k = 1, n do
    local i = seen[first + k]
    measure.check(not met[i], "routine %d was resumed twice in one round", i)
    met[i] = true
    distance = distance + math.abs(i - k)
    measure.check(shuffled or i == k, "resume %d went to routine %d", k, i)
  end
  measure.check(not shuffled or n < 100 or distance / n > n / 4,
    "the order is not shuffled: mean distance %.1f", distance / n)
end

-- Checks `rounds` rounds, and that each repeats the order of the first.
function measure.checkOrder(seen, n, rounds, shuffled)
  measure.check(#seen == n * rounds, "%d resumes instead of %d", #seen, n * rounds)
  checkRound(seen, 0, n, shuffled)
  for i = n + 1, #seen do
    measure.check(seen[i] == seen[i - n], "the order changed from one round to the next")
  end
end

-- Checks that each of 1..n had `rounds` turns, in whatever order its loop gave them.
function measure.checkTurns(seen, n, rounds)
  local turns = {}
  for i = 1, n do turns[i] = 0 end
  for k = 1, #seen do turns[seen[k]] = turns[seen[k]] + 1 end
  for i = 1, n do
    measure.check(turns[i] == rounds, "routine %d had %d turns of %d", i, turns[i], rounds)
  end
end

-- Resident bytes of this process.
function measure.resident()
  local file = assert(io.open("/proc/self/statm"))
  local pages = file:read("*l"):match("^%d+ (%d+)")
  file:close()
  return tonumber(pages) * 4096
end

return measure
