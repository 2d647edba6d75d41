-- SPDX-License-Identifier: MIT
-- A save goes on beside the world, which it holds up only to copy; whatever else happens meanwhile.

local support = require "support"
local saves = require "support.saves"
local jobsSupport = require "support.jobs"
local weft = require "weft"
local routine = require "weft.routine"
local jobs = require "weft.jobs"
local save = require "weft.save"

-- Ticks a world, and waits for all jobs in between, until something is so.
local function tickUntil(world, done)
  for _ = 1, 100 do
    world:tick(0.001)
    if done() then return end
    jobs.waitAll()
  end
  error "it never came"
end

-- A background job that holds its thread until it is let go. There is one such thread.
local function holdBackground()
  local gate = saves.path "gate"
  local job = jobs.schedule({ priority = "background", fn = function(path)
    repeat local file = io.open(path) until file
  end }, gate)
  while job:status() == "queued" do jobs.stats() end
  return function()
    saves.store("open", "gate")
    job:wait()
  end
end

describe("a save", function()
  after_each(saves.clean)

  it("is awaited in a routine while the world ticks on", function()
    local world = support.world()
    local release = holdBackground()
    local result, ticks = nil, 0
    world:start(function() result = routine.await(save.write(saves.path(), { n = 7 })) end)
    world:on("preUpdate", function() ticks = ticks + 1 end)
    for _ = 1, 5 do world:tick(1) end
    assert.is_nil(result)
    release()
    tickUntil(world, function() return result end)
    assert.equal(#saves.bytes(), result.bytes)
    assert.equal(7, save.read(saves.path()).n)
    assert.is_true(ticks > 5)
  end)

  it("holds what there was when it was asked for", function()
    local release = holdBackground()
    local t, buffer, cols = { 1 }, weft.buffer("i32", 3):fill(1), weft.columns{ x = "i8" }
    local id = cols:add{ x = 1 }
    local job = save.write(saves.path(), { t = t, buffer = buffer, cols = cols })
    t[1], t[2] = 2, 2
    buffer:fill(2)
    cols:set(id, "x", 2)
    cols:add{ x = 2 }
    release()
    jobsSupport.done(job)
    local sections = save.read(saves.path())
    assert.same({ 1 }, sections.t)
    assert.equal(1, sections.buffer[3])
    assert.equal(1, sections.cols:get(id, "x"))
    assert.equal(1, sections.cols:count())
  end)

  -- One unit moves in each tick, so their sum is always the same.
  it("equals the state at the end of exactly one tick", function()
    local world = support.world()
    local accounts, list, dirty = { tick = 0, 100, 100, 100, 100 }, {}, false
    world:on("update", function()
      local from = accounts.tick % 4 + 1
      accounts.tick = accounts.tick + 1
      accounts[from], accounts[from % 4 + 1] = accounts[from] - 1, accounts[from % 4 + 1] + 1
    end)
    world:on("postUpdate", function()
      if not dirty then return end
      dirty = false
      list[#list + 1] = save.write(saves.path(#list + 1), { accounts = accounts })
    end)
    for tick = 1, 100 do
      if tick % 7 == 0 then world:post(function() dirty = true end) end
      world:tick(0.016)
    end
    assert.equal(14, #list)
    for i, job in ipairs(list) do
      jobsSupport.done(job)
      local then_ = save.read(saves.path(i)).accounts
      local expected = { tick = 7 * i, 100, 100, 100, 100 }
      for tick = 0, 7 * i - 1 do
        local from = tick % 4 + 1
        expected[from], expected[from % 4 + 1] = expected[from] - 1, expected[from % 4 + 1] + 1
      end
      assert.same(expected, then_)
    end
    assert.is_true(math.abs(world.simTime - 1.6) < 1e-9)
  end)

  it("does not copy what a job is writing", function()
    local buffer, cols = weft.buffer("f32", 10), weft.columns{ x = "f32" }
    cols:add{ x = 1 }
    local path = saves.path "gate"
    local function work(_, gate)
      repeat local file = io.open(gate) until file
    end
    local job = assert(jobs.run(work, buffer:slice(3, 4), path))
    local other = cols:forEachParallel(function(_, _, _, gate)
      repeat local file = io.open(gate) until file
    end, path)
    local ok, err = pcall(save.write, saves.path(), { a = { b = buffer } })
    assert.is_false(ok)
    assert.truthy(err:find "weft%.save%.write: sections%.a%.b: buffer is on loan to job %d+$")
    ok, err = pcall(save.write, saves.path(), { a = { b = cols } })
    assert.is_false(ok)
    assert.truthy(err:find "weft%.save%.write: sections%.a%.b: columns: buffer is on loan to job")
    assert.is_true(save.write(saves.path(), { a = buffer:slice(5) }):wait())
    saves.store("open", "gate")
    assert(job:wait() and other:wait())
    assert.equal(10, #saves.again{ a = buffer, c = cols }.a)
  end)

  it("copies what jobs only read", function()
    local buffer = weft.buffer("f32", 10):fill(4)
    local path = saves.path "gate"
    local job = assert(jobs.run(function(_, gate)
      repeat local file = io.open(gate) until file
    end, buffer:shared(), path))
    local saving = save.write(saves.path(), { a = buffer })
    saves.store("open", "gate")
    jobsSupport.done(saving)
    jobsSupport.done(job)
    assert.equal(4, save.read(saves.path()).a[10])
  end)

  it("of one path that was asked for last stays, of many at once", function()
    local list = {}
    for i = 1, 12 do
      list[i] = save.write(saves.path(), { n = i, weight = ("x"):rep(200000 - 9000 * i) },
        { priority = i % 2 == 0 and "normal" or "background" })
    end
    for _, job in ipairs(list) do jobsSupport.done(job) end
    assert.equal(12, save.read(saves.path()).n)
    assert.is_false(list[12]:result().superseded)
  end)

  it("goes beside saves of other paths", function()
    local list = {}
    for i = 1, 8 do list[i] = save.write(saves.path(i), { n = i }) end
    for i, job in ipairs(list) do
      jobsSupport.done(job)
      assert.equal(i, save.read(saves.path(i)).n)
    end
  end)

  it("need not be awaited, and a failure of it is reported once", function()
    local world = support.world()
    support.within(function() save.write("/nowhere/at/all", { n = 1 }) end)
    tickUntil(world, function() return support.reports()[1] end)
    for _ = 1, 10 do world:tick(1) end
    assert.equal(1, #support.reports())
    assert.equal("weft.save.write: cannot create /nowhere/at/all.new: No such file or directory",
      support.reports()[1].err)
  end)

  it("raises in the routine that awaits it when it fails", function()
    local world = support.world()
    local ok, err
    world:start(function() ok, err = pcall(routine.await, save.write("/nowhere/at/all", {})) end)
    tickUntil(world, function() return ok ~= nil end)
    assert.is_false(ok)
    assert.truthy(err:find("cannot create /nowhere/at/all.new", 1, true))
    for _ = 1, 10 do world:tick(1) end
    assert.equal(0, #support.reports())
  end)

  it("goes on when the routine that awaits it is cancelled, or its world is closed", function()
    local world = support.world()
    local release = holdBackground()
    local handle = world:start(function() routine.await(save.write(saves.path(1), { n = 1 })) end)
    local job
    world:start(function()
      job = save.write(saves.path(2), { n = 2 })
      routine.await(job)
    end)
    world:tick(1)
    handle:cancel()
    world:tick(1)
    assert.equal("cancelled", handle:status())
    assert.is_true(world:unload())
    world:close()
    release()
    jobsSupport.done(job)
    jobs.waitAll()
    assert.equal(1, save.read(saves.path(1)).n)
    assert.equal(2, save.read(saves.path(2)).n)
  end)

  it("can be called off until it has begun", function()
    saves.write{ n = 1 }
    local release = holdBackground()
    local job = save.write(saves.path(), { n = 2 })
    assert.is_true(job:cancel())
    release()
    assert.equal("cancelled", job:status())
    assert.is_false(job:cancel())
    assert.equal(1, save.read(saves.path()).n)
    assert.equal(3, saves.write{ n = 3 } and save.read(saves.path()).n)
    assert.is_false(job:cancel())
  end)

  it("is written by the thread that waits for it, if it has not begun", function()
    local release = holdBackground()
    local job = save.write(saves.path(), { n = 1 })
    assert.is_true(job:wait())
    assert.equal(1, save.read(saves.path()).n)
    release()
  end)

  it("can be waited for with others", function()
    local world = support.world()
    local first, list
    world:start(function()
      first = routine.any{ save.write(saves.path(1), {}) }
      list = routine.all{ save.write(saves.path(2), {}), save.write(saves.path(3), {}) }
    end)
    tickUntil(world, function() return list end)
    assert.equal(1, first)
    assert.equal(saves.path(2), list[1][1].path)
    assert.equal(saves.path(3), list[2][1].path)
  end)

  it("is finished before its Lua state ends, however many there are", function()
    local status, text = support.child(([[
      local weft = require "weft"
      local jobs = require "weft.jobs"
      jobs.configure{ background = 1 }
      local folder = %q
      for i = 1, 10 do
        weft.save.write(folder .. i, { n = i, b = weft.buffer("f64", 100000) })
      end
    ]]):format(saves.path ""))
    assert.equal("", text)
    assert.equal(0, status)
    for i = 1, 10 do assert.equal(i, save.read(saves.path(i)).n) end
  end)

  it("says where and why it has failed, also when its Lua state ends unasked", function()
    local status, text = support.child [[
      require("weft").save.write("/nowhere/at/all", { n = 1 })
    ]]
    assert.equal("weft: job 1 'save' failed, and nobody awaited it: weft.save.write: cannot create "
      .. "/nowhere/at/all.new: No such file or directory\n", text)
    assert.equal(0, status)
  end)

  it("takes values of any size", function()
    local megabytes = support.stress and 3 or 24
    local buffer = weft.buffer("u32", megabytes * 262144)
    for i = 1, #buffer, 5000 do buffer[i] = i end
    local back = saves.again{ big = buffer, text = ("payload "):rep(megabytes * 100000) }
    assert.equal(buffer:string(), back.big:string())
    assert.equal(megabytes * 800000, #back.text)
  end)
end)

describe("a world that is loaded", function()
  after_each(saves.clean)

  -- What a script was at is state; routines and timers are started anew from it.
  it("goes on where it was, and nothing of the old one does", function()
    local function patrol(state, log)
      while state.leg <= 3 do
        while state.left > 0 do state.left = state.left - routine.nextTick() end
        log[#log + 1] = state.leg
        state.leg, state.left = state.leg + 1, 2
      end
    end
    local world, log = support.world(), {}
    local state = { leg = 1, left = 2 }
    local old = world:start(patrol, state, log)
    for _ = 1, 4 do world:tick(1) end
    saves.write{ guard = state, log = log }
    world:unload()
    assert.equal("cancelled", old:status())

    local loaded = save.read(saves.path())
    local new = support.world()
    local handle = new:start(patrol, loaded.guard, loaded.log)
    for _ = 1, 12 do
      new:tick(1)
      world:tick(1)
    end
    assert.equal("completed", handle:status())
    assert.same({ 1, 2, 3 }, loaded.log)
    assert.same({ 1 }, log)
  end)
end)
