-- SPDX-License-Identifier: MIT
-- weft.trace: what ran when, as a file that cjson can read.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"
local jobs = require "weft.jobs"
require "support.jobs"
local cjson = require "cjson"

local trace = weft.trace
local path

local function read()
  assert.is_true(trace.write(path))
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return cjson.decode(text)
end

-- The events of a category, or of a name.
local function those(document, key, value)
  local list = {}
  for _, event in ipairs(document.traceEvents) do
    if event[key] == value then list[#list + 1] = event end
  end
  return list
end

local function names(events)
  local list = {}
  for i, event in ipairs(events) do list[i] = event.name end
  return list
end

local function isInside(inner, outer)
  -- Both are rounded to whole ns.
  return inner.tid == outer.tid and inner.ts >= outer.ts - 0.002
    and inner.ts + inner.dur <= outer.ts + outer.dur + 0.002
end

describe("weft.trace", function()
  before_each(function() path = os.tmpname() end)
  after_each(function()
    trace.stop()
    os.remove(path)
  end)

  it("has the stages of each tick in their order, inside the tick", function()
    local world = support.world()
    assert.is_true(trace.start())
    world:tick(0)
    world:tick(0)
    trace.stop()
    local document = read()
    local ticks, stages = those(document, "cat", "tick"), those(document, "cat", "stage")
    assert.equal(2, #ticks)
    assert.same({ world.tickCount - 1, world.tickCount }, { ticks[1].args.id, ticks[2].args.id })
    local order = { "posts", "messages", "timers", "preUpdate", "update", "routines", "postUpdate" }
    for i = 1, #order do order[#order + 1] = order[i] end
    assert.same(order, names(stages))
    for i, stage in ipairs(stages) do
      assert.equal("X", stage.ph)
      assert.is_true(isInside(stage, ticks[i <= 7 and 1 or 2]))
    end
  end)

  it("has the fixed steps of a world that has some, and the passes of an unload", function()
    local world = support.world { fixedStep = 0.5 }
    trace.start()
    world:tick(0)
    world:start(routine.wait, 1)
    world:unload()
    local stages = names(those(read(), "cat", "stage"))
    assert.equal("fixedUpdate", stages[5])
    assert.equal("unload", stages[9])
  end)

  it("has each resume, by the routine's name or where its function is", function()
    local world = support.world()
    local function named()
      routine.name "Anna \"the \\ fast\" \1\195\164\255"
      routine.nextTick()
    end
    world:start(named)
    world:start(function() routine.wait(1) end)
    trace.start()
    for _ = 1, 3 do world:tick(1) end
    local document = read()
    local resumes = those(document, "cat", "routine")
    assert.equal(4, #resumes)
    local text = "Anna \"the \\ fast\" \1\195\164\239\191\189"
    assert.equal(1, #those(document, "name", text))
    local here = debug.getinfo(named, "S")
    assert.equal(("%s:%d"):format(here.short_src, here.linedefined):sub(1, 31), resumes[1].name)
    local stages = those(document, "name", "routines")
    assert.is_true(isInside(resumes[1], stages[1]) and isInside(resumes[2], stages[1]))
    assert.is_true(isInside(resumes[3], stages[2]))
    assert.is_true(resumes[1].ts + resumes[1].dur <= resumes[2].ts + 0.002)
  end)

  it("has the resumes of those that wait on their stack, and of many at once", function()
    local world = support.world { capacity = 3000 }
    for _ = 1, 2000 do world:start(function() routine.nextTick() end) end
    for _ = 1, 10 do
      world:start(function()
        table.sort({ 3, 1, 2 }, function(a, b)
          routine.nextTick()
          return a < b
        end)
      end)
    end
    local resumed = 0
    trace.start()
    for _ = 1, 20 do resumed = resumed + world:tick(0) end
    assert.equal(resumed, #those(read(), "cat", "routine"))
  end)

  it("has jobs on the thread that runs them, and calls that a worker", function()
    local world = support.world()
    trace.start()
    local job = jobs.run(function() return 5 end)
    local got
    world:start(function() got = routine.await(job) end)
    repeat world:tick(0) until got
    jobs.waitAll()
    trace.stop()
    local document = read()
    local done = those(document, "cat", "job")
    assert.equal(1, #done)
    local threads = {}
    for _, event in ipairs(those(document, "name", "thread_name")) do
      threads[event.tid] = event.args.name
    end
    assert.equal("world", threads[those(document, "cat", "tick")[1].tid])
    assert.is_true(done[1].dur >= 0)
  end)

  it("has what a save holds its caller up for", function()
    local saves = require "support.saves"
    local world = support.world()
    local result
    trace.start()
    world:start(function()
      result = routine.await(weft.save.write(saves.path(), { list = { 1, 2, 3 } }))
    end)
    repeat world:tick(0) until result
    trace.stop()
    local document = read()
    local copies = those(document, "name", "save: copy")
    assert.equal(1, #copies)
    assert.is_true(isInside(copies[1], those(document, "cat", "routine")[1]))
    assert.is_true(math.abs(copies[1].dur / 1000 - result.pauseMs) < 1e-5)
    saves.clean()
  end)

  it("tells inspect how long each routine has run since", function()
    local world = support.world()
    world:start(routine.wait, 9)
    world:tick(0)
    assert.is_nil(world:inspect()[1].wallMs)
    trace.start()
    world:start(function()
      for _ = 1, 1e5 do math.sin(1) end
      routine.wait(9)
    end)
    world:tick(0)
    trace.stop()
    local list = world:inspect()
    assert.equal(0, list[1].wallMs)
    assert.is_true(list[2].wallMs > 0)
    world:unload()
    world:start(routine.wait, 9)
    world:tick(0)
    assert.equal(0, world:inspect()[1].wallMs) -- the slot's last routine is not this one
  end)

  it("keeps as many spans as it was told, and counts the others", function()
    local world = support.world()
    trace.start(10)
    world:tick(0)
    world:tick(0)
    local kept, dropped = trace.stop()
    assert.same({ 10, 6 }, { kept, dropped })
    local document = read()
    assert.equal(6, document.otherData.dropped)
    assert.equal(10, #those(document, "ph", "X"))
  end)

  it("refuses to start twice, and stops as often as one likes", function()
    assert.is_true(trace.start(10))
    assert.is_true(trace.isOn())
    assert.same({ n = 2, nil, "running" }, { n = select("#", trace.start()), trace.start() })
    assert.same({ 0, 0 }, { trace.stop() })
    assert.is_false(trace.isOn())
    assert.same({ 0, 0 }, { trace.stop() })
  end)

  it("forgets the trace before", function()
    local world = support.world()
    trace.start()
    world:tick(0)
    trace.stop()
    trace.start(5)
    trace.stop()
    assert.equal(0, #those(read(), "ph", "X"))
  end)

  it("may be started and stopped in the middle of a tick", function()
    local world = support.world()
    world:start(function()
      trace.start()
      routine.nextTick()
      routine.nextTick()
      trace.stop()
    end)
    for _ = 1, 4 do world:tick(0) end
    assert.equal(1, #those(read(), "cat", "tick")) -- the one that it saw from end to end
  end)

  it("says why a file cannot be written", function()
    trace.start(5)
    support.world():tick(0)
    local ok, why = trace.write "/no/such/folder/trace.json"
    assert.is_nil(ok)
    assert.equal("/no/such/folder/trace.json: No such file or directory", why)
    assert.same({ n = 2, nil, "/dev/full: No space left on device" },
      { n = 2, trace.write "/dev/full" })
  end)

  it("refuses what is no number of spans, or no path", function()
    for _, bad in ipairs { 0, -1, 0.5, 16777217, 0 / 0, "10", {} } do
      local _, why = pcall(trace.start, bad)
      assert.matches("weft.trace.start: a whole number of spans from 1 to 16777216 expected, got ",
        why, 1, true)
    end
    local _, why = pcall(trace.write, 5)
    assert.matches("weft.trace.write: a path expected, got 5", why, 1, true)
    _, why = pcall(trace.write, "a\0b")
    assert.matches("weft.trace.write: the path has a zero byte in it", why, 1, true)
    assert.is_false(trace.isOn())
  end)
end)
