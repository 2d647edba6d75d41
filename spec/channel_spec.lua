-- SPDX-License-Identifier: MIT
--
-- Channels: values in the order of putting, each for one that gets, none lost and none twice.

local support = require "support"
local several = require "support.several"
local weft = require "weft"

local collect, answer = several.collect, several.answer

-- Starts a routine that gets `count` values, one after the other.
local function getter(world, channel, log, count)
  return world:start(function()
    for _ = 1, count or 1 do
      local value = channel:get()
      log[#log + 1] = value
    end
  end)
end

local function putter(world, channel, ...)
  local values = { n = select("#", ...), ... }
  return world:start(function()
    for i = 1, values.n do channel:put(values[i]) end
  end)
end

describe("a channel #wait", function()
  it("gives values in the order of putting", function()
    local world, channel, log = support.world(), weft.channel(3), {}
    putter(world, channel, 1, 2, 3)
    getter(world, channel, log, 3)
    world:tick(0)
    assert.same({ 1, 2, 3 }, log)
  end)

  it("gives the values themselves, nil and false too", function()
    local world, channel = support.world(), weft.channel(4)
    local object = {}
    putter(world, channel, nil, false, object)
    local got = collect(world, function() return channel:get(), channel:get(), channel:get() end)
    world:tick(0)
    assert.same({ n = 3, nil, false, object }, answer(got))
    assert.equal(object, got[3])
  end)

  it("makes who gets wait while it is empty, those first come first served", function()
    local world, channel, log = support.world(), weft.channel(2), {}
    for i = 1, 3 do
      world:start(function()
        local value = channel:get()
        log[#log + 1] = i .. value
      end)
    end
    support.settle(1)
    putter(world, channel, "a", "b", "c")
    support.settle(2)
    assert.same({ "1a", "2b", "3c" }, log)
  end)

  it("makes who puts wait while it is full, those first come first served", function()
    local world, channel, log, got = support.world(), weft.channel(1), {}, {}
    for i = 1, 3 do
      world:start(function()
        local ok = channel:put(i)
        log[#log + 1] = { i, ok, world.tickCount }
      end)
    end
    support.settle(3)
    assert.same({ { 1, true, 1 } }, log)
    for _ = 1, 3 do
      getter(world, channel, got)
      support.settle(2)
    end
    assert.same({ 1, 2, 3 }, got)
    assert.same({ 2, true }, { log[2][1], log[2][2] })
    assert.equal(3, log[3][1])
  end)

  it("of capacity 0 is where put and get meet", function()
    local world, log = support.world(), {}
    for _, channel in ipairs{ weft.channel(0), weft.channel() } do
      world:start(function()
        channel:put "x"
        log[#log + 1] = "put"
      end)
      support.settle(2)
      assert.same({}, log)
      getter(world, channel, log)
      support.settle(2)
      assert.same({ "x", "put" }, log)
      log[1], log[2] = nil, nil
      getter(world, channel, log)
      support.settle(1)
      putter(world, channel, "y")
      support.settle(2)
      assert.same({ "y" }, log)
      log[1] = nil
    end
  end)

  it("waits no longer than a time limit, and leaves nothing", function()
    local world, channel = support.world(), weft.channel(1)
    local got = collect(world, function() return channel:get(1) end)
    support.settle(1)
    support.ticks(1)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    putter(world, channel, "kept")
    local put = collect(world, function() return channel:put("not kept", 1) end)
    support.settle(1)
    support.ticks(1)
    assert.same({ n = 2, nil, "timeout" }, answer(put))
    local log = {}
    getter(world, channel, log, 2)
    support.settle(2)
    assert.same({ "kept" }, log)
  end)

  it("gives a value at once that is put in the tick in which the limit would be due", function()
    local world, channel = support.world(), weft.channel(1)
    local got = collect(world, function() return channel:get(1) end)
    support.settle(1)
    local sub = world:on("update", function() channel:put "just in time" end)
    world:tick(1)
    sub:off()
    assert.same({ n = 1, "just in time" }, answer(got))
  end)

  it("works under C functions", function()
    local world, channel = support.world(), weft.channel(1)
    local got = collect(world, function()
      return (("abc"):gsub(".", function(c) return c .. channel:get() end))
    end)
    support.settle(1)
    world:start(function()
      local list = { 1, 2, 3 }
      table.sort(list, function() channel:put "-" return false end)
    end)
    support.settle(10)
    assert.equal("a-b-c-", got[1])
  end)

  it("is shown by inspect", function()
    local world, channel = support.world(), weft.channel(1)
    getter(world, channel, {})
    support.settle(1)
    assert.equal("channel", world:inspect()[1].waitingOn)
    channel:close()
    support.settle(1)
  end)

  -- Of one that puts, each that gets has the values in order. Two that get may run in another order
  -- than they were served in.
  it("passes thousands of values from many to many, each once and in order", function()
    local world, channel = support.world{ capacity = 64 }, weft.channel(5)
    local rounds = support.stress and 20 or 300
    local had, got, ordered = {}, 0, true
    for p = 1, 10 do
      world:start(function()
        for i = 1, rounds do channel:put(p * 1000 + i) end
      end)
    end
    for _ = 1, 7 do
      world:start(function()
        local last = {}
        for value in function() return channel:get() end do
          local p = math.floor(value / 1000)
          ordered = ordered and value > (last[p] or 0) and not had[value]
          last[p], had[value] = value, true
          got = got + 1
        end
      end)
    end
    for _ = 1, rounds * 10 do
      if got == rounds * 10 then break end
      world:tick(0)
    end
    assert.equal(rounds * 10, got)
    assert.is_true(ordered)
    channel:close()
    support.settle(2)
    assert.equal(0, world:stats().active)
  end)

  it("leaves no garbage that grows with the values that passed", function()
    local world, channel = support.world(), weft.channel(2)
    world:start(function() while true do channel:put(world) end end)
    world:start(function() while true do channel:get() end end)
    support.settle(50)
    assert.is_true(support.growth(function() support.settle(1000) end) < 8)
  end)
end)

describe("closing a channel #wait", function()
  it("lets who gets have what is left, then gives nil and closed", function()
    local world, channel = support.world(), weft.channel(2)
    putter(world, channel, 1, 2)
    support.settle(1)
    assert.is_true(channel:close())
    assert.is_false(channel:close())
    local got = collect(world, function()
      local a, b = channel:get(), channel:get()
      return a, b, channel:get()
    end)
    support.settle(1)
    assert.same({ n = 4, 1, 2, nil, "closed" }, answer(got))
  end)

  it("ends the waits of those that get and those that put, whose values are not kept", function()
    local world, channel, empty = support.world(), weft.channel(1), weft.channel(1)
    local weak = setmetatable({}, { __mode = "v" })
    putter(world, channel, "kept")
    weak[1] = {}
    local put = collect(world, function() return channel:put(weak[1]) end)
    local get = collect(world, function() return empty:get() end)
    support.settle(2)
    channel:close()
    empty:close()
    support.settle(1)
    assert.same({ n = 2, nil, "closed" }, answer(put))
    assert.same({ n = 2, nil, "closed" }, answer(get))
    support.collect()
    assert.is_nil(weak[1])
    local log = {}
    getter(world, channel, log, 2)
    support.settle(1)
    assert.same({ "kept" }, log)
  end)

  it("refuses what is put later", function()
    local world, channel = support.world(), weft.channel(1)
    channel:close()
    local put = collect(world, function() return channel:put(1) end)
    world:tick(0)
    assert.same({ n = 2, nil, "closed" }, answer(put))
  end)
end)

describe("a value on its way to one that is cancelled #wait", function()
  it("goes to the next that waits", function()
    local world, channel, log = support.world(), weft.channel(1), {}
    local first = getter(world, channel, log)
    local second = getter(world, channel, log)
    getter(world, channel, log)
    support.settle(1)
    channel:put "x"
    first:cancel()
    second:cancel()
    support.settle(2)
    assert.same({ "x" }, log)
    assert.equal("weft.Channel (0 of 1)", tostring(channel))
  end)

  it("is back at its place in the queue when nobody else waits", function()
    for order = 1, 2 do
      local world, channel, log = support.world(), weft.channel(3), {}
      local handles = { getter(world, channel, log), getter(world, channel, log) }
      support.settle(1)
      for i = 1, 5 do channel:put(i) end -- two handed over, three queued
      handles[order]:cancel()
      handles[3 - order]:cancel()
      support.settle(1)
      assert.equal("weft.Channel (5 of 3)", tostring(channel))
      getter(world, channel, log, 5)
      support.settle(1)
      assert.same({ 1, 2, 3, 4, 5 }, log)
    end
  end)

  it("keeps the order for those that come in between", function()
    local world, channel, log = support.world(), weft.channel(3), {}
    local first = getter(world, channel, log)
    support.settle(1)
    channel:put(1)
    channel:put(2)
    first:cancel()
    getter(world, channel, log, 2)
    support.settle(1)
    assert.same({ 1, 2 }, log)
  end)

  it("is not lost without a queue either", function()
    local world, channel, log = support.world(), weft.channel(0), {}
    getter(world, channel, log)
    support.settle(1)
    local put = collect(world, function() return channel:put "x" end)
    support.settle(2)
    assert.same({ n = 1, true }, answer(put))
    assert.same({ "x" }, log)
    local first = getter(world, channel, log)
    support.settle(1)
    channel:put "y"
    first:cancel()
    support.settle(1)
    getter(world, channel, log)
    support.settle(1)
    assert.same({ "x", "y" }, log)
  end)

  it("is put when the routine that put it is cancelled afterwards, and not before", function()
    local world, channel, log = support.world(), weft.channel(1), {}
    putter(world, channel, "a")
    local late, later = putter(world, channel, "b"), putter(world, channel, "c")
    support.settle(1)
    later:cancel()
    getter(world, channel, log)
    support.settle(1)
    late:cancel() -- its value is in the queue already
    getter(world, channel, log, 2)
    support.settle(2)
    assert.same({ "a", "b" }, log)
    assert.equal("cancelled", late:status())
  end)

  it("is freed with the world, and what is queued with the channel", function()
    local weak = setmetatable({}, { __mode = "v" })
    local channel = weft.channel(1)
    local function lose()
      local world = weft.world()
      world:start(function() channel:put{} end)
      weak[1] = {}
      local value = weak[1]
      world:start(function()
        channel:put(value)
      end)
      world:tick(0)
      world:tick(0)
    end
    lose()
    support.collect()
    support.collect()
    assert.is_nil(weak[1])
    weak[2] = channel:get()
    assert.same("table", type(weak[2]))
    assert.is_true(channel:put{})
    weak[3] = {}
    local other = weft.channel(1)
    other:put(weak[3])
    other = nil -- luacheck: ignore
    support.collect()
    support.collect()
    assert.is_nil(weak[3])
  end)
end)

describe("a channel outside of routines", function()
  it("takes and gives at once or says why not", function()
    local channel = weft.channel(1)
    assert.same({ nil, "empty" }, { channel:get() })
    assert.is_true(channel:put(1))
    assert.same({ nil, "full" }, { channel:put(2) })
    assert.equal(1, channel:get())
    assert.same({ nil, "full" }, { weft.channel():put(1) })
    channel:close()
    assert.same({ nil, "closed" }, { channel:get() })
    assert.same({ nil, "closed" }, { channel:put(1) })
  end)

  it("feeds routines that wait", function()
    local world, channel, log = support.world(), weft.channel(), {}
    getter(world, channel, log, 2)
    support.settle(1)
    local sub = world:on("update", function() channel:put "from a system" end)
    world:tick(0)
    sub:off()
    local sig = weft.signal()
    sig:connect(function(value) log.put = { channel:put(value) } end)
    world:start(function() sig:fire "from a listener" end)
    support.settle(2)
    assert.same({ "from a system", "from a listener", put = { true } }, log)
  end)

  it("takes from routines that wait", function()
    local world, channel = support.world(), weft.channel()
    local put = collect(world, function() return channel:put "x" end)
    support.settle(1)
    assert.equal("x", channel:get())
    assert.same({ nil, "empty" }, { channel:get() })
    support.settle(1)
    assert.same({ n = 1, true }, answer(put))
  end)
end)

describe("a channel between worlds", function()
  it("is refused to routines of a second one, until the first is closed", function()
    local one, two = support.world(), support.world()
    local channel, message = weft.channel(3), nil
    one:start(function() channel:put(1) end)
    one:tick(0)
    local function try()
      two:start(function() message = select(2, pcall(channel.get, channel)) end)
      two:tick(0)
    end
    try()
    assert.matches("channel:get: routines of another world use it; make one for each world$",
      message)
    one:close()
    try()
    assert.equal(1, message)
  end)
end)
