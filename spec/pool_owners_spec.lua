-- SPDX-License-Identifier: MIT
--
-- What an owner rents from pools, and when it goes back.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local pool = require "weft.pool"
local weft = require "weft"

local raises = support.raises

describe("what an owner rents", function()
  it("is given back when it is destroyed and all that it owned has ended", function()
    local world = support.world()
    local tables, buffers = pool.tables(), pool.buffers()
    local owner, other = world:owner(), world:owner()
    for i = 1, 5 do
      tables:rent(owner)[1] = i
      buffers:rent("u8", i, owner)[1] = i
    end
    local kept = tables:rent(other)
    local early = tables:rent(owner)
    tables:giveBack(early)
    assert.equal(6, tables:stats().rented)
    world:start(function() end)
    owner:start(function() weft.routine.shield(weft.routine.wait, 2) end)
    world:tick(0)
    owner:destroy()
    world:tick(1)
    assert.equal(6, tables:stats().rented)
    world:tick(1)
    world:tick(0)
    assert.equal(1, tables:stats().rented)
    assert.equal(0, buffers:stats().rented)
    tables:giveBack(kept)
    other:destroy()
    assert.equal(0, tables:stats().rented)
    assert.same({ nil, "destroyed" }, { tables:rent(owner) })
    assert.same({ nil, "destroyed" }, { buffers:rent("u8", 1, owner) })
  end)

  it("is not rented if the owner ends while it is made", function()
    local world = support.world()
    for _, debugging in ipairs { false, true } do
      local owner = world:owner()
      local made
      local tables = pool.tables{ debug = debugging, new = function()
        owner:destroy()
        made = {}
        return made
      end }
      assert.same({ nil, "destroyed" }, { tables:rent(owner) })
      assert.equal(0, tables:stats().rented)
      assert.is_false(pcall(tables.giveBack, tables, made))
    end
  end)

  it("may go back in any order before", function()
    local world = support.world()
    local tables, owner = pool.tables(), world:owner()
    for first = 1, 3 do
      local list = { tables:rent(owner), tables:rent(owner), tables:rent(owner) }
      for i = 0, 2 do tables:giveBack(list[(first + i) % 3 + 1]) end
    end
    assert.equal(0, tables:stats().rented)
    tables:rent(owner)
    owner:destroy()
    assert.same({ rented = 0, kept = 3, made = 3, dropped = 0 }, tables:stats())
  end)

  it("in debug says that it ended so", function()
    local world = support.world()
    local tables, owner = pool.tables{ debug = true }, world:owner()
    local t = tables:rent(owner)
    owner:destroy()
    raises("given back at the end of its owner", function() return t.x end)
  end)

  it("goes back also if the reset of one fails, which is reported", function()
    local world = support.world()
    local tables = pool.tables{ reset = function(t) if t.bad then error("bad one", 0) end end }
    local owner = world:owner()
    for i = 1, 3 do tables:rent(owner).bad = i == 2 end
    owner:destroy()
    world:tick(0)
    assert.same({ rented = 0, kept = 2, made = 3, dropped = 1 }, tables:stats())
    assert.equal(1, #support.reports())
    assert.truthy(tostring(support.reports()[1].err):find "bad one")
  end)

  it("ends with the job that has it", function()
    local world = support.world()
    local buffers, owner = pool.buffers(), world:owner()
    local buffer = buffers:rent("i32", 100, owner)
    local job = jobs.run(function(b) b[1] = 5 return b[1] end, buffer)
    owner:destroy()
    assert.same({ rented = 0, kept = 0, made = 1, dropped = 1, keptBytes = 0 }, buffers:stats())
    assert.equal(5, jobSupport.done(job))
    raises("a buffer that is rented here expected", buffers.giveBack, buffers, buffer)
  end)
end)
