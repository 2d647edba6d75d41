-- SPDX-License-Identifier: MIT
--
-- Mutexes and semaphores: first come, first served; and who held one and ends lets go.

local support = require "support"
local several = require "support.several"
local weft = require "weft"
local routine = require "weft.routine"

local collect, answer = several.collect, several.answer

-- Starts a routine that locks, notes its name, and holds on for some ticks.
local function holder(world, mutex, log, name, ticks)
  return world:start(function()
    mutex:lock()
    log[#log + 1] = name
    for _ = 1, ticks or 1 do routine.nextTick() end
    mutex:unlock()
  end)
end

describe("a mutex #wait", function()
  it("is had at once when it is free", function()
    local world, mutex = support.world(), weft.mutex()
    local got = collect(world, function()
      local before = world.tickCount
      local ok = mutex:lock()
      mutex:unlock()
      return ok, mutex:lock(0), world.tickCount - before
    end)
    world:tick(0)
    assert.same({ n = 3, true, true, 0 }, answer(got))
  end)

  it("goes to those that wait in waiting order", function()
    local world, mutex, log = support.world(), weft.mutex(), {}
    for i = 1, 5 do holder(world, mutex, log, i, i % 2) end
    support.settle(12)
    assert.same({ 1, 2, 3, 4, 5 }, log)
    assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
  end)

  it("cannot be taken between an unlock and the turn of the one that waited", function()
    local world, mutex, log = support.world(), weft.mutex(), {}
    local first = world:start(function()
      mutex:lock()
      routine.wait(1)
      mutex:unlock()
      log[#log + 1] = mutex:tryLock()
      mutex:lock()
      log[#log + 1] = "again"
    end)
    support.settle(1)
    holder(world, mutex, log, "second", 2)
    support.settle(1)
    support.ticks(1)
    support.settle(5)
    assert.same({ false, "second", "again" }, log)
    assert.equal("completed", first:status())
  end)

  it("waits no longer than its time limit, and leaves no waiter", function()
    local world, mutex = support.world(), weft.mutex()
    world:start(function() mutex:lock() routine.wait(10) end)
    local got = collect(world, function() return mutex:lock(2) end)
    support.settle(1)
    support.ticks(2)
    assert.equal(2, got.at)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    assert.equal("weft.Mutex (locked, 0 waiting)", tostring(mutex))
    support.ticks(9)
    assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
  end)

  it("is shown by inspect", function()
    local world, mutex = support.world(), weft.mutex()
    world:start(function() mutex:lock() routine.wait(9) end)
    world:start(function() mutex:lock(5) end)
    support.settle(1)
    assert.equal("mutex", world:inspect()[2].waitingOn)
    assert.equal(5, world:inspect()[2].wakesIn)
  end)

  it("may be tried without a wait, also by its holder", function()
    local world, mutex, got = support.world(), weft.mutex(), {}
    world:start(function()
      got[1] = mutex:tryLock()
      got[2] = mutex:tryLock()
      routine.wait(1)
      mutex:unlock()
    end)
    world:start(function()
      got[3] = mutex:tryLock()
      routine.wait(2)
      got[4] = mutex:tryLock()
    end)
    support.settle(1)
    support.ticks(2)
    assert.same({ true, false, false, true }, got)
  end)

  it("works under C functions", function()
    local world, mutex, log = support.world(), weft.mutex(), {}
    for i = 1, 3 do
      world:start(function()
        table.sort({ 1, 2 }, function()
          mutex:lock()
          log[#log + 1] = i
          routine.nextTick()
          mutex:unlock()
          return false
        end)
      end)
    end
    support.settle(10)
    assert.same({ 1, 2, 3 }, log)
  end)

  it("may be used for thousands of turns, by hundreds, without garbage", function()
    local world, mutex = support.world(), weft.mutex()
    local count, inside, worst = 0, 0, 0
    for _ = 1, 100 do
      world:start(function()
        while true do
          mutex:lock()
          inside = inside + 1
          worst = math.max(worst, inside)
          routine.nextTick()
          inside = inside - 1
          count = count + 1
          mutex:unlock()
        end
      end)
    end
    support.settle(250) -- each has had its turn
    assert.is_true(support.growth(function() support.settle(200) end) < 8)
    assert.equal(1, worst)
    assert.is_true(count >= 100)
  end)
end)

describe("who holds a mutex and ends", function()
  local ends = {
    returns = function() end,
    fails = function() error "on purpose" end,
    ["is cancelled"] = function() routine.wait(1e6) end,
    ["is ended by force"] = function() while true do pcall(routine.wait, 1e6) end end,
    ["is ended at a bare yield"] = function() while true do coroutine.yield() end end,
    ["has an owner that is destroyed"] = function() routine.wait(1e6) end,
  }
  for _, how in ipairs{ "returns", "fails", "is cancelled", "is ended by force",
    "is ended at a bare yield", "has an owner that is destroyed" } do
    it("lets go when it " .. how, function()
      local world, mutex = support.world(), weft.mutex()
      local owner = world:owner()
      local h = owner:start(function()
        mutex:lock()
        routine.nextTick()
        ends[how]()
      end)
      support.settle(1)
      local got = collect(world, function() return mutex:lock() end)
      support.settle(2)
      if how:find "owner" then owner:destroy() elseif how:find "^is" then h:cancel() end
      support.settle(15)
      assert.same({ n = 1, true }, answer(got))
      support.reports()
    end)
  end

  it("lets go after its cleanups, which still hold it", function()
    local world, mutex, log = support.world(), weft.mutex(), {}
    local h = world:start(function()
      routine.defer(function() log[#log + 1] = mutex:tryLock() end)
      mutex:lock()
      routine.wait(1e6)
    end)
    support.settle(1)
    holder(world, mutex, log, "next")
    support.settle(1)
    h:cancel()
    support.settle(3)
    assert.same({ false, "next" }, log)
  end)

  it("lets go when the world is unloaded", function()
    local world, mutex = support.world(), weft.mutex()
    world:start(function() mutex:lock() routine.wait(1e6) end)
    world:start(function() mutex:lock() end)
    support.settle(1)
    assert.is_true(world:unload())
    assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
  end)

  it("lets go when the world is dropped as it stands", function()
    local mutex = weft.mutex()
    local function lose()
      local world = weft.world()
      world:start(function() mutex:lock() routine.wait(1e6) end)
      world:start(function() mutex:lock() end)
      world:tick(0)
      world:tick(0)
    end
    lose()
    support.collect()
    support.collect()
    assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
    local world = support.world()
    local got = collect(world, function() return mutex:lock() end)
    world:tick(0)
    assert.same({ n = 1, true }, answer(got))
  end)

  it("lets go of all that it holds", function()
    local world, list = support.world(), {}
    for i = 1, 10 do list[i] = weft.mutex() end
    world:start(function() for i = 1, 10 do list[i]:lock() end end)
    world:tick(0)
    for i = 1, 10 do assert.equal("weft.Mutex (free, 0 waiting)", tostring(list[i])) end
  end)
end)

describe("a turn of a mutex that is cancelled #wait", function()
  it("goes to the next: before it was given, and after", function()
    for _, early in ipairs{ true, false } do
      local world, mutex, log = support.world(), weft.mutex(), {}
      local first = holder(world, mutex, log, "first", 3)
      support.settle(1)
      local second = holder(world, mutex, log, "second")
      holder(world, mutex, log, "third")
      support.settle(1)
      if early then second:cancel() end
      support.settle(2)
      assert.equal("completed", first:status())
      second:cancel()
      support.settle(4)
      assert.same({ "first", "third" }, log)
      assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
    end
  end)

  it("is free when nobody else waits", function()
    local world, mutex, log = support.world(), weft.mutex(), {}
    holder(world, mutex, log, "first", 2)
    support.settle(1)
    local second = holder(world, mutex, log, "second")
    support.settle(1)
    support.settle(1)
    second:cancel()
    assert.equal("weft.Mutex (free, 0 waiting)", tostring(mutex))
    support.settle(1)
  end)
end)

describe("a semaphore #wait", function()
  it("lets so many in at once, the others in waiting order", function()
    local world, sem, log = support.world(), weft.semaphore(2), {}
    local inside, worst = 0, 0
    for i = 1, 6 do
      world:start(function()
        assert(sem:acquire())
        inside = inside + 1
        worst = math.max(worst, inside)
        log[#log + 1] = i
        routine.wait(1)
        inside = inside - 1
        sem:release()
      end)
    end
    support.settle(1)
    support.ticks(9)
    assert.same({ 1, 2, 3, 4, 5, 6 }, log)
    assert.equal(2, worst)
    assert.equal("weft.Semaphore (2 of 2 free, 0 waiting)", tostring(sem))
  end)

  it("gives one routine more than one permit, and takes them back one by one", function()
    local world, sem = support.world(), weft.semaphore(3)
    local shown = {}
    world:start(function()
      for _ = 1, 2 do sem:acquire() end
      sem:release()
      shown[1] = tostring(sem)
      sem:acquire()
      routine.wait(1)
    end)
    support.settle(1)
    assert.equal("weft.Semaphore (2 of 3 free, 0 waiting)", shown[1])
    assert.equal("weft.Semaphore (1 of 3 free, 0 waiting)", tostring(sem))
    support.ticks(1)
    assert.equal("weft.Semaphore (3 of 3 free, 0 waiting)", tostring(sem))
  end)

  it("waits no longer than its time limit", function()
    local world, sem = support.world(), weft.semaphore(1)
    world:start(function() sem:acquire() routine.wait(1e6) end)
    local got = collect(world, function() return sem:acquire(1) end)
    support.settle(1)
    support.ticks(1)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
  end)

  it("passes all permits of one that ends to those that wait", function()
    local world, sem = support.world(), weft.semaphore(3)
    local h = world:start(function()
      for _ = 1, 3 do sem:acquire() end
      routine.wait(1e6)
    end)
    support.settle(1)
    local inside = 0
    for _ = 1, 3 do
      world:start(function()
        sem:acquire()
        inside = inside + 1
        routine.wait(1)
      end)
    end
    support.settle(2)
    h:cancel()
    support.settle(2)
    assert.equal(3, inside)
  end)
end)

describe("misuse of locks", function()
  local function told(fn, ...)
    local world = support.world()
    local args, message = { ... }, nil
    world:start(function()
      local _
      _, message = pcall(fn, args[1], args[2])
    end)
    world:tick(0)
    return message
  end

  it("raises a sentence", function()
    local mutex, sem = weft.mutex(), weft.semaphore(2)
    assert.matches("mutex:lock: this routine holds it already and would wait for itself$",
      told(function() mutex:lock() mutex:lock(1) end))
    assert.matches("mutex:unlock: it is not locked$", told(function() weft.mutex():unlock() end))
    assert.matches("semaphore:acquire: this routine holds all 2 permits and would wait for itself",
      told(function() for _ = 1, 3 do sem:acquire() end end))
    assert.matches("semaphore:release: this routine holds none of its permits$",
      told(function() weft.semaphore(1):release() end))
  end)

  it("of another's mutex raises, and leaves it to the other", function()
    local world, mutex = support.world(), weft.mutex()
    local message
    world:start(function() mutex:lock() routine.wait(1) end)
    world:start(function() message = select(2, pcall(mutex.unlock, mutex)) end)
    world:tick(0)
    assert.matches("mutex:unlock: another routine holds it$", message)
    assert.equal("weft.Mutex (locked, 0 waiting)", tostring(mutex))
  end)

  it("across worlds raises, until the world that uses it is closed", function()
    local one, two = support.world(), support.world()
    local mutex, sem = weft.mutex(), weft.semaphore(1)
    one:start(function()
      mutex:lock()
      sem:acquire()
    end)
    one:tick(0)
    local messages = {}
    local function try()
      messages = {}
      two:start(function()
        messages[1] = select(2, pcall(mutex.lock, mutex))
        messages[2] = select(2, pcall(sem.acquire, sem))
      end)
      two:tick(0)
    end
    try()
    local sentence = ": routines of another world use it; make one for each world$"
    assert.matches("mutex:lock" .. sentence, messages[1])
    assert.matches("semaphore:acquire" .. sentence, messages[2])
    one:close()
    try()
    assert.same({ true, true }, messages)
  end)
end)
