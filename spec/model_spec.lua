-- SPDX-License-Identifier: MIT
--
-- Random programs of starts, waits, joins, cancels and pauses, run by the scheduler and by a
-- model of it: both must tell the same story, on every machine.

local support = require "support"
local model = require "support.model"
local routine = require "weft.routine"

local CAPACITY = 4000
local SEEDS = support.stress and 15 or 150

-- Numbers that are the same on both machines.
local function generator(seed)
  local state = seed * 7919 % 2147483646 + 1
  for _ = 1, 3 do state = state * 16807 % 2147483647 end
  return function(n)
    state = state * 16807 % 2147483647
    return state % n
  end
end

-- The scheduler with times in milliseconds, and answers as the model gives them.
local function real(world)
  local api = { Cancelled = routine.Cancelled }
  function api.wait(ms) routine.wait(ms / 1000) end
  function api.nextTick() routine.nextTick() end
  function api.waitUnscaled(ms) routine.waitUnscaled(ms / 1000) end
  function api.join(handle, timeout)
    local ok, answer = routine.join(handle, timeout and timeout / 1000)
    return ok == nil and answer or "ended"
  end
  function api.start(...) return (world:start(...)) end
  function api.bare() coroutine.yield() end
  function api.pinned(ms) ("x"):gsub("x", function() routine.wait(ms / 1000) end) end
  api.cancel, api.self, api.isCancelled = routine.cancel, routine.self, routine.isCancelled
  return api, function(ms) return world:tick(ms / 1000) end
end

-- One step of a routine: what it does depends on its own random numbers alone.
local steps = {
  function(api, random) api.wait(random(40)) end,
  function(api, random) api.wait(10 * random(5)) end,
  function(api) api.nextTick() end,
  function(api, random) api.pinned(random(30)) end,
  function(api) if not api.isCancelled() then api.bare() end end,
  function(api, random, story) story.say(tostring(pcall(api.wait, random(20)))) end,
  function(api, random, _, options)
    if options.unscaled then api.waitUnscaled(random(30)) end
  end,
  function(api, random, story)
    local target = story.tasks[1 + random(#story.tasks)]
    local timeout = random(2) == 0 and 1 + random(30) or nil
    if target ~= api.self() then
      local ok, answer = pcall(api.join, target, timeout)
      if not ok and answer == api.Cancelled then error(answer, 0) end
      story.say(ok and answer or "ring")
    end
  end,
  function(api, random, story)
    story.say(tostring(api.cancel(story.tasks[1 + random(#story.tasks)])))
  end,
  function(_, _, story) story.start() end,
  function(_, random) if random(3) == 0 then error("a failure", 0) end end,
}

local function newStory(api, seed, options, now)
  local story = { tasks = {}, lines = {} }
  local function say(id, text)
    story.lines[#story.lines + 1] = ("%d: %d %s"):format(now(), id, text)
  end
  -- What is told after this, by cleanups of a world that closes, is not part of the story.
  function story.close()
    local lines = story.lines
    story.lines = {}
    return lines
  end
  local function body(id)
    local random = generator(seed * 1000 + id)
    local own = setmetatable({ say = function(text) say(id, text) end }, { __index = story })
    local ok, err = pcall(function()
      for _ = 1, 2 + random(12) do
        say(id, "step")
        steps[1 + random(#steps)](api, random, own, options)
      end
    end)
    say(id, ok and "end" or err == api.Cancelled and "cancelled" or "failed")
    if not ok then error(err, 0) end
  end
  function story.start()
    local id = #story.tasks + 1
    if id > CAPACITY then return end
    story.tasks[id] = true
    story.tasks[id] = api.start(body, id)
  end
  return story
end

-- What happens from outside between two ticks.
local function between(random, story, api, world, options)
  for _ = 1, random(3) do story.start() end
  if random(4) == 0 then api.cancel(story.tasks[1 + random(#story.tasks)]) end
  if options.pauses and random(10) == 0 then world.setPaused(random(2) == 0) end
  if options.scales and random(8) == 0 then world.setScale(random(4)) end
end

local function tell(api, tick, world, seed, options, now)
  local story = newStory(api, seed, options, now)
  local random = generator(seed)
  story.start()
  for _ = 1, 60 do
    between(random, story, api, world, options)
    local resumed = tick(5 * random(6))
    story.lines[#story.lines + 1] = "resumed " .. resumed
  end
  return story.close()
end

local function storyOfWorld(seed, options)
  local world = support.world{ capacity = CAPACITY, resumesPerTick = options.resumesPerTick }
  world.onError = function() end
  local api, tick = real(world)
  local outside = { setScale = function(x) world:setTimeScale(x) end }
  function outside.setPaused(on) if on then world:pause() else world:resume() end end
  local lines = tell(api, tick, outside, seed, options, function() return world.tickCount end)
  local stats = world:stats()
  assert.equal(stats.started, stats.completed + stats.failed + stats.cancelled + stats.active)
  world:close()
  return lines
end

local function storyOfModel(seed, options)
  local world = model.new(options)
  local outside = { setScale = function(x) world.scale = x end }
  function outside.setPaused(on) world.paused = on end
  local function tick(ms) return world:tick(ms) end
  return tell(world:api(), tick, outside, seed, options, function() return world.tickCount end)
end

local function compare(seed, options)
  local expected, got = storyOfModel(seed, options), storyOfWorld(seed, options)
  for i = 1, math.max(#expected, #got) do
    if expected[i] ~= got[i] then
      error(("seed %d, line %d: expected '%s', got '%s' (after '%s')"):format(seed, i,
        tostring(expected[i]), tostring(got[i]), tostring(expected[i - 1])), 0)
    end
  end
  return got
end

describe("random programs run as the model says", function()
  it("without a budget, with waits of real time and pauses", function()
    for seed = 1, SEEDS do compare(seed, { unscaled = true, pauses = true, scales = true }) end
  end)

  it("with a budget", function()
    for seed = 1, SEEDS do compare(seed, { resumesPerTick = 1 + seed % 9, pauses = true }) end
  end)
end)

describe("the order of a long random program", function()
  it("is the same on every machine", function()
    local sum, count = 0, 0
    for seed = 1000, 1020 do
      for _, line in ipairs(storyOfWorld(seed, { unscaled = true, pauses = true })) do
        count = count + 1
        for i = 1, #line do sum = (sum * 31 + line:byte(i)) % 1000000007 end
      end
    end
    assert.equal("13273 857161039", count .. " " .. sum)
  end)
end)
