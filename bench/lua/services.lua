-- SPDX-License-Identifier: MIT
-- services.lua - a question to another thread and its answer, both sides asleep in between: a
-- service against luv's thread pool, and against a luv thread that is asked through a pipe and
-- answers by an async handle (an async handle cannot be handed to a luv thread to be asked by).
--
-- usage: services.lua weft|work|thread [at once]
--
-- Wall time: what is measured is how long one waits.

local measure = require "measure"

local side, atOnce = arg[1], tonumber(arg[2] or 1)
local ROUNDS = math.floor(4000 / atOnce)

local sides = {}

function sides.weft()
  local weft = require "weft"
  local core = require "weft.core"
  local world = weft.default()
  local service = weft.service{ inbox = atOnce, main = function()
    local service = require "weft.service"
    for x in service.receive do service.reply(x + 1) end
  end }
  local calls = {}
  local function round(x)
    for i = 1, atOnce do calls[i] = assert(service:call(x + i)) end
    local sum = 0
    for i = 1, atOnce do
      calls[i]:wait()
      sum = sum + calls[i]:result()
    end
    world:tick(0) -- takes in that they have ended
    return sum
  end
  local function run(rounds)
    local begin, sum = core.clock(), 0
    for x = 1, rounds do sum = sum + round(x) end
    return (core.clock() - begin) * 1e6, sum
  end
  return run, function() world:close() end
end

-- Runs luv's loop until `rounds` rounds are over, of which `ask(x)` asks one question.
local function loop(uv, ask)
  local state = { sum = 0 }
  local function begin()
    state.round = state.round + 1
    state.open = atOnce
    for i = 1, atOnce do ask(state.round + i) end
  end
  function state.answer(x)
    state.sum = state.sum + x
    state.open = state.open - 1
    if state.open > 0 then return end
    if state.round < state.rounds then begin() else uv.stop() end
  end
  function state.run(rounds)
    state.rounds, state.round, state.sum = rounds, 0, 0
    local since = uv.hrtime()
    begin()
    uv.run()
    return (uv.hrtime() - since) / 1e3, state.sum
  end
  return state
end

function sides.work()
  local uv = require "luv"
  local state
  local work = uv.new_work(function(x) return x + 1 end, function(x) state.answer(x) end)
  state = loop(uv, function(x) work:queue(x) end)
  return state.run, function() end
end

function sides.thread()
  local uv = require "luv"
  local state
  local async = uv.new_async(function(x) state.answer(x) end)
  local ends = uv.pipe()
  local thread = uv.new_thread(function(fd, back, most)
    local uv = require "luv" -- luacheck: ignore 431
    local input, rest = uv.new_pipe(false), ""
    input:open(fd)
    input:read_start(function(_, data)
      if not data then return input:close() end
      rest = rest .. data
      -- An async handle keeps the last of what was sent: the answers of one look go together.
      local sum, from = 0, 1
      for x, behind in rest:gmatch "(%d+)\n()" do sum, from = sum + x + 1, behind end
      rest = rest:sub(from)
      if most == 1 and from > 1 then back:send(sum) end
    end)
    uv.run()
  end, ends.read, async, atOnce)
  local output = uv.new_pipe(false)
  output:open(ends.write)
  state = loop(uv, function(x) output:write(x .. "\n") end)
  return state.run, function()
    output:close()
    thread:join()
  end
end

local run, close = sides[side]()
run(math.ceil(ROUNDS / 10))
local samples = {}
for i = 1, 5 do
  local us, sum = run(ROUNDS)
  local expected = atOnce * ROUNDS * (ROUNDS + 1) / 2 + ROUNDS * atOnce * (atOnce + 1) / 2
    + ROUNDS * atOnce
  measure.check(sum == expected, "the answers are wrong: %g, not %g", sum, expected)
  samples[i] = us / (ROUNDS * atOnce)
end
close()
table.sort(samples)
measure.print("us", samples[3])
-- luv may crash when a state that has had a thread with a loop of its own is closed.
if side == "thread" then os.exit(true, false) end
