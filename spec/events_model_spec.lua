-- SPDX-License-Identifier: MIT
--
-- Random programs of routines that wait for signals, channels and locks, are cancelled, run out of
-- time and end holding things, against a slow model: lines that are searched from the front, and
-- for each wait the answer that it must get.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"
local newModel = require "support.events_model"

local pack = support.pack

-- Park and Miller's generator: the same on both machines.
local function dice(seed)
  local state = seed
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end

local function differ(got, expected)
  for i = 1, math.max(got.n, #expected) do
    if got[i] ~= expected[i] then return true end
  end
  return false
end

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function program(seed)
  local roll = dice(seed)
  local world = support.world { capacity = 40 }
  local model = newModel()
  local objects = { signal = {}, channel = {}, mutex = {}, semaphore = {} }
  for i = 1, 2 do
    objects.signal[i] = weft.signal()
    objects.channel[i] = weft.channel((i - 1) * roll(3))
    objects.mutex[i] = weft.mutex()
    objects.semaphore[i] = weft.semaphore(i)
    model:add(i, objects.channel[i], tonumber(tostring(objects.channel[i]):match "of (%d+)"), i)
  end
  local wrong, handles, values = nil, {}, 0

  local function fail(text, ...)
    wrong = wrong or ("seed %d, tick %d: "):format(seed, world.tickCount) .. text:format(...)
  end

  -- Calls a wait and holds its answer against the model's.
  local function check(r, what, fn, ...)
    local got = pack(pcall(fn, ...))
    local expected = model:answer(r, got)
    if differ(got, expected) then
      fail("%s of routine %d gave %s, %s, %s and not %s, %s, %s", what, r, tostring(got[1]),
        tostring(got[2]), tostring(got[3]), tostring(expected[1]), tostring(expected[2]),
        tostring(expected[3]))
    end
    if got[2] == routine.Cancelled then error(routine.Cancelled, 0) end
    return unpack(got, 2, got.n)
  end

  local function newValue()
    values = values + 1
    return values
  end

  -- What a routine may do; each tells the model first.
  local acts = {
    function(r, i, limit)
      model:waitSignals(r, { i }, limit, world.simTime)
      check(r, "wait", objects.signal[i].wait, objects.signal[i], limit)
    end,
    function(r, _, limit)
      model:waitSignals(r, { 2, 1 }, limit, world.simTime, true)
      check(r, "any", routine.any,
        { objects.signal[2], objects.signal[1], timeout = limit })
    end,
    function(r, i, limit)
      local value = newValue()
      model:put(r, i, value, limit, world.simTime)
      check(r, "put", objects.channel[i].put, objects.channel[i], value, limit)
    end,
    function(r, i, limit)
      model:get(r, i, limit, world.simTime)
      check(r, "get", objects.channel[i].get, objects.channel[i], limit)
    end,
    function(r, i, limit)
      if model:holds(r, "mutex", i) > 0 then
        model:release(r, "mutex", i)
        objects.mutex[i]:unlock()
      else
        model:acquire(r, "mutex", i, limit, world.simTime)
        check(r, "lock", objects.mutex[i].lock, objects.mutex[i], limit)
      end
    end,
    function(r, i, limit)
      local held = model:holds(r, "semaphore", i)
      if held == i or held > 0 and roll(2) == 1 then
        model:release(r, "semaphore", i)
        objects.semaphore[i]:release()
      else
        model:acquire(r, "semaphore", i, limit, world.simTime)
        check(r, "acquire", objects.semaphore[i].acquire, objects.semaphore[i], limit)
      end
    end,
    function(_, i)
      local value = newValue()
      model:fire(i, value)
      objects.signal[i]:fire(value)
    end,
    function(_, i)
      local value = newValue()
      local waited = model:fireOne(i, value)
      if objects.signal[i]:fireOne(value) ~= waited then fail("fireOne is not %s", waited) end
    end,
    function(r)
      model:nextTick(r)
      check(r, "nextTick", function() routine.nextTick() end)
    end,
  }

  local function body(r)
    for _ = 1, roll(12) do
      local limit = roll(3) == 1 and roll(8) * 0.25 or nil
      local act, i = acts[roll(#acts)], roll(2)
      if roll(6) == 1 then
        -- Under a C function the whole stack waits.
        local ok, err = true, nil
        table.sort({ 1, 2 }, function()
          if ok then ok, err = pcall(act, r, i, limit) end
          return false
        end)
        if not ok then error(err, 0) end
      else
        act(r, i, limit)
      end
    end
  end

  local function start()
    local r = #handles + 1
    model:start(r)
    handles[r] = world:start(function()
      local ok, err = pcall(body, r)
      model:finish(r)
      if not ok then error(err, 0) end
    end)
    if not handles[r] then
      model:finish(r)
      handles[r] = false
    end
  end

  -- What is due is over when the routine stage begins.
  world:on("update", function() model:timeOut(world.simTime) end)

  local outside = {
    start, start, start,
    function()
      local r = roll(#handles + 1)
      if not handles[r] then return end
      model:cancel(r)
      handles[r]:cancel()
    end,
    acts[7], acts[8],
    function(_, i)
      local value = newValue()
      local expected = model:putOutside(i, value)
      if objects.channel[i]:put(value) ~= expected then fail("a put outside is wrong") end
    end,
    function(_, i)
      local expected = model:getOutside(i)
      if objects.channel[i]:get() ~= expected then fail("a get outside is wrong") end
    end,
  }
  for _ = 1, support.stress and 15 or 40 do
    for _ = 1, roll(5) do outside[roll(#outside)](0, roll(2)) end
    world:tick(roll(3) * 0.25)
    for i = 1, 2 do
      if objects.signal[i]:waiting() ~= model:waiting(i) then fail("waiting of %d is wrong", i) end
    end
    if wrong then break end
  end
  for r = 1, #handles do
    if handles[r] then
      model:cancel(r)
      handles[r]:cancel()
    end
  end
  for _ = 1, 4 do world:tick(0) end
  for i = 1, 2 do
    if not wrong and not tostring(objects.mutex[i]):find "free, 0 waiting" then
      fail("mutex %d is held by nobody", i)
    end
    local free = ("%d of %d free"):format(i, i)
    if not wrong and not tostring(objects.semaphore[i]):find(free, 1, true) then
      fail("semaphore %d has lost a permit", i)
    end
    for _, value in ipairs(model:left(i)) do
      if not wrong and objects.channel[i]:get() ~= value then fail("channel %d lost a value", i) end
    end
    if not wrong and objects.channel[i]:get() ~= nil then fail("channel %d has too many", i) end
  end
  if not wrong and world:stats().active > 0 then fail("somebody waits for ever") end
  for _, report in ipairs(support.reports()) do fail("reported: %s", tostring(report.err)) end
  world:close()
  return wrong
end

describe("random programs with signals, channels and locks", function()
  local first = tonumber(os.getenv "WEFT_SEED" or nil)
  for part = 1, 10 do
    it("get the answers of the model, part " .. part .. " #wait", function()
      local count = support.stress and 3 or 40
      for seed = first or part * 1000, first or part * 1000 + count do
        local wrong = program(seed)
        assert.is_nil(wrong, wrong and wrong .. "; again with WEFT_SEED=" .. seed)
      end
    end)
  end
end)
