-- SPDX-License-Identifier: MIT
--
-- Random programs of timers, run by a world and by a model of it: both must call the same ones, in
-- the same ticks, in the same order, with the same intervals, on every machine.

local support = require "support"
local model = require "support.timer_model"
local timer = require "weft.timer"

local SEEDS = support.stress and 20 or 300

-- Numbers that are the same on both machines.
local function generator(seed)
  local state = seed * 7919 % 2147483646 + 1
  for _ = 1, 3 do state = state * 16807 % 2147483647 end
  return function(n)
    state = state * 16807 % 2147483647
    return state % n
  end
end

-- --- The two worlds -------------------------------------------------------------------------

local function realTimers()
  local world = support.world()
  local api = { owners = {} }
  function api.owner(parent) return world:owner(parent) end
  function api.start(fn, o)
    local options = { delay = o.delay / 1000, unscaled = o.unscaled,
      count = o.count < math.huge and o.count or nil }
    local seconds = o.period / 1000
    if o.once then
      local function call() fn(1) end
      if o.owner then return (o.owner:after(o.delay / 1000, call, { unscaled = o.unscaled })) end
      return timer.after(o.delay / 1000, call, { unscaled = o.unscaled })
    end
    if o.owner then return (o.owner:every(seconds, fn, options)) end
    return timer.every(seconds, fn, options)
  end
  function api.setScale(owner, x) owner:setTimeScale(x) end
  function api.disable(owner) owner:disable() owner:enable() end
  function api.worldScale(x) world:setTimeScale(x) end
  function api.pauseWorld(on) if on then world:pause() else world:resume() end end
  function api.remaining(t) return math.floor(t:remaining() * 1000 + 0.5) end
  function api.post(fn) world:post(fn) end
  function api.system(fn) world:on("update", fn) end
  function api.tick(ms) world:tick(ms / 1000) end
  function api.alive() return world:stats().timers end
  function api.close() world:close() end
  return api
end

local function modelTimers()
  local world = model.new()
  local api = {}
  function api.owner(parent) return world:owner(parent) end
  function api.start(fn, o) return world:start(fn, o) end
  function api.setScale(owner, x) owner:setScale(x) end
  function api.disable(owner) owner:cancelAll() end
  function api.worldScale(x) world.scale = x end
  function api.pauseWorld(on) world.paused = on end
  function api.remaining(t) return math.floor(t:remaining() + 0.5) end
  function api.post(fn) world.posts[#world.posts + 1] = fn end
  function api.system(fn) world.systems[#world.systems + 1] = fn end
  function api.tick(ms) world:tick(ms) end
  function api.alive() return #world.timers end
  function api.close() end
  return api
end

-- --- The program ----------------------------------------------------------------------------

local SCALES = { 0, 0.5, 1, 2 }

local function newProgram(api, seed)
  local program = { random = generator(seed), lines = {}, list = {} }
  local random, lines, list = program.random, program.lines, program.list
  local level = api.owner()
  local owners = { level, api.owner(level), api.owner() }
  local tick = 0

  local function say(text) lines[#lines + 1] = tick .. ": " .. text end
  local function any() return list[1 + random(#list)] end

  local step

  local function start()
    local id = #list + 1
    local once = random(2) == 0
    local period = random(4) == 0 and 0 or 4 * random(40)
    local options = {
      once = once, delay = random(5) == 0 and 0 or 4 * random(60),
      period = once and 0 or period,
      count = once and 1 or random(2) == 0 and 1 + random(6) or math.huge,
      unscaled = random(4) == 0, owner = random(3) == 0 and owners[1 + random(3)] or nil,
    }
    local acts = random(3) == 0
    local handle = api.start(function(n)
      say(id .. " called for " .. n)
      if acts then step() end
    end, options)
    if handle then list[id] = handle end
  end

  local steps = {
    start, start, start,
    function() say("cancel " .. tostring(any():cancel())) end,
    function() say("pause " .. tostring(any():pause())) end,
    function() say("resume " .. tostring(any():resume())) end,
    function() say("resume " .. tostring(any():resume())) end,
    function() say("remaining " .. api.remaining(any())) end,
    function() api.setScale(owners[1 + random(3)], SCALES[1 + random(4)]) end,
    function() if random(4) == 0 then api.disable(owners[1 + random(3)]) end end,
    function() if random(3) == 0 then api.worldScale(SCALES[1 + random(4)]) end end,
    function() if random(3) == 0 then api.pauseWorld(random(2) == 0) end end,
    function() api.post(start) end,
  }

  function step()
    if #list < 400 then steps[1 + random(#steps)]() end
  end

  api.system(function() if random(4) == 0 then step() end end)

  function program.run()
    api.post(start)
    api.post(start)
    for _ = 1, 60 do
      tick = tick + 1
      if #list > 0 then api.post(function() for _ = 1, random(4) do step() end end) end
      api.tick(4 * random(30))
      say("alive " .. api.alive())
    end
    program.lines = {}
    api.close()
    return lines
  end

  return program
end

local function compare(seed)
  local expected = newProgram(modelTimers(), seed).run()
  local got = newProgram(realTimers(), seed).run()
  for i = 1, math.max(#expected, #got) do
    if expected[i] ~= got[i] then
      error(("seed %d, line %d: expected '%s', got '%s' (after '%s')"):format(seed, i,
        tostring(expected[i]), tostring(got[i]), tostring(expected[i - 1])), 0)
    end
  end
  return got
end

describe("random programs of timers", function()
  it("run as the model says", function()
    local calls = 0
    for seed = 1, SEEDS do
      for _, line in ipairs(compare(seed)) do
        if line:find("called", 1, true) then calls = calls + 1 end
      end
    end
    assert.is_true(calls > 20 * SEEDS, calls)
  end)

  it("have the same order on every machine", function()
    local sum, count = 0, 0
    for seed = 1000, 1020 do
      for _, line in ipairs(newProgram(realTimers(), seed).run()) do
        count = count + 1
        for i = 1, #line do sum = (sum * 31 + line:byte(i)) % 1000000007 end
      end
    end
    assert.equal("5446 583992876", count .. " " .. sum)
  end)
end)
