-- SPDX-License-Identifier: MIT
-- Waits in loops hot enough to be compiled: on LuaJIT traces form before, around
-- and after them, at hotloop 1, 2 and 5. The sums tell whether a value was lost.
-- The same programs run on Lua 5.4, where they are ordinary programs.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"

local jit = rawget(_G, "jit")
local HOT = jit and { 1, 2, 5 } or { 0 }

local function sethot(n)
  if not jit then return end
  jit.flush()
  require("jit.opt").start("hotloop=" .. n, "hotexit=2")
end

local programs = {}

programs["a wait in every turn of a loop"] = function()
  local sum = 0
  for i = 1, 60 do
    sum = sum + i
    routine.nextTick()
  end
  return sum
end

programs["a wait in one turn of fifty"] = function()
  local sum = 0
  for i = 1, 2000 do
    sum = (sum + i * i) % 65521
    if i % 50 == 0 then routine.nextTick() end
  end
  return sum
end

programs["a metamethod that waits now and then"] = function()
  local object = setmetatable({}, {
    __index = function(_, key)
      if key % 40 == 0 then routine.nextTick() end
      return key * 2
    end,
    __lt = function()
      routine.nextTick()
      return true
    end,
  })
  local sum = 0
  for i = 1, 1200 do
    sum = sum + object[i]
    if i % 200 == 0 and object < object then sum = sum + 1 end
  end
  return sum
end

programs["a sort comparator in a hot loop"] = function()
  local count, sum = 0, 0
  for round = 1, 30 do
    local list = {}
    for i = 1, 12 do list[i] = (i * 7 + round) % 13 end
    table.sort(list, function(a, b)
      count = count + 1
      if count % 60 == 0 then routine.nextTick() end
      return a < b
    end)
    for i = 1, 12 do sum = sum + list[i] * i end
  end
  return sum
end

programs["a gsub callback in a hot loop"] = function()
  local count, length = 0, 0
  for _ = 1, 60 do
    local text = ("abcdef"):gsub(".", function(letter)
      count = count + 1
      if count % 30 == 0 then routine.nextTick() end
      return letter .. letter
    end)
    length = length + #text
  end
  return length
end

programs["an iterator and a generator in hot loops"] = function()
  local sum = 0
  for v in coroutine.wrap(function()
    for i = 1, 300 do
      if i % 30 == 0 then routine.nextTick() end
      coroutine.yield(i)
    end
  end) do
    for k = 1, 3 do sum = sum + v * k end
  end
  return sum
end

programs["a protected call that fails after waits"] = function()
  local caught = 0
  local function risky(i)
    if i % 20 == 0 then routine.nextTick() end
    if i % 3 == 0 then error(i, 0) end
    return i
  end
  for i = 1, 600 do
    local ok, v = pcall(risky, i)
    if type(v) ~= "number" then error(v, 0) end
    caught = caught + (ok and 1 or v % 7)
    for k = 1, 4 do caught = caught + k end
  end
  return caught
end

programs["floats, strings and closures over waits"] = function()
  local x, text = 0.5, ""
  for i = 1, 400 do
    local keep = i
    local function grow() return keep / 7 end
    x = (x * 1.25 + grow()) % 97.5
    if i % 25 == 0 then
      routine.nextTick()
      text = text .. ("%.3f;"):format(x)
    end
  end
  return text
end

programs["recursion that waits at the bottom"] = function()
  local function fib(n)
    if n < 2 then
      return n
    end
    if n == 9 then routine.nextTick() end
    return fib(n - 1) + fib(n - 2)
  end
  return fib(15)
end

local function plain(program)
  local nexttick = routine.nextTick
  routine.nextTick = function() return 0 end
  local answer = program()
  routine.nextTick = nexttick
  return answer
end

local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)

for _, name in ipairs(names) do
  local program = programs[name]
  for _, hot in ipairs(HOT) do
    local where = jit and " with hotloop " .. hot or ""
    describe(name .. where, function()
      setup(function() sethot(hot) end)
      teardown(function() sethot(os.getenv "WEFT_HOTLOOP" or 56) end)

      it("computes in interleaved routines what it computes alone", function()
        local world = support.world { capacity = 8 }
        local expected, answers = plain(program), {}
        local handles = {}
        for id = 1, 3 do
          handles[id] = world:start(function()
            routine.wait(id * 0.25)
            answers[id] = program()
          end)
        end
        for _ = 1, 120 do
          world:tick(1)
          if world:stats().active == 0 then break end
        end
        for id = 1, 3 do
          assert.equal("completed", handles[id]:status())
          assert.equal(expected, answers[id])
        end
      end)

      it("ends cleanly when it is cancelled in the middle", function()
        local world = support.world { capacity = 8 }
        local seen, sums = {}, {}
        for id = 1, 3 do
          local h
          h = world:start(function()
            local ok, err = pcall(program)
            seen[id] = not ok and rawequal(err, routine.Cancelled)
            sums[id] = drive.hot()
          end)
          for _ = 1, id * 2 do world:tick(1) end
          h:cancel()
          world:tick(1)
          assert.equal("completed", h:status())
        end
        assert.same({ true, true, true }, seen)
        assert.same({ drive.hotsum, drive.hotsum, drive.hotsum }, sums)
      end)
    end)
  end
end

describe("a tick that raises after stack switches", function()
  it("leaves the loops of its caller as they were", function()
    sethot(1)
    local world = support.world { capacity = 4 }
    world:start(function()
      for _ = 1, 20 do ("x"):gsub("x", function() routine.nextTick() end) end
    end)
    for _ = 1, 20 do
      world:tick(1)
      assert.is_false(pcall(world.tick, world, -1))
      assert.is_false(pcall(world.tick, world, 0 / 0))
      assert.equal(drive.hotsum, drive.hot())
    end
    sethot(os.getenv "WEFT_HOTLOOP" or 56)
  end)
end)

if jit then
  -- In a process of its own: a hook is a matter of the whole VM there, and of its compiler.
  local HOOKED = [[
    jit.off()
    local weft, routine = require "weft", require "weft.routine"
    local world = weft.world { capacity = 4 }
    local waits, sum, other = 0, 0, 0
    local h = world:start(function()
      debug.sethook(function()
        waits = waits + 1
        routine.nextTick()
      end, "", 500)
      for i = 1, 3000 do sum = sum + i end
      debug.sethook()
    end)
    local function beside()
      for _ = 1, 20 do
        other = other + 1
        %s
      end
    end
    world:start(beside)
    for _ = 1, 60 do world:tick(1) end
    print(h:status(), sum, other, waits > 2)
    os.exit(0)
  ]]

  describe("a wait in a debug hook of LuaJIT", function()
    for _, case in ipairs {
      { "compact waits", "routine.nextTick()" },
      { "bare yields", "coroutine.yield()" },
      { "pinned waits", 'string.gsub("x", "x", function() routine.nextTick() end)' },
      { "waits under pcall", "pcall(routine.wait, 1)" },
      { "waits for several", "routine.any{ h, timeout = 1 } routine.all{ h, timeout = 1 }" },
    } do
      it("works beside " .. case[1] .. ", though no hook fires meanwhile", function()
        local status, output = support.child(HOOKED:format(case[2]))
        assert.equal("completed\t4501500\t20\ttrue\n", output)
        assert.equal(0, status)
      end)
    end
  end)
end
