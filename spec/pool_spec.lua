-- SPDX-License-Identifier: MIT
--
-- Pools: what is rented, what is given back, and who is told that it is not his any more.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local pool = require "weft.pool"
local weft = require "weft"

local raises = support.raises

-- --- Tables ---------------------------------------------------------------------------------

describe("a table that is rented", function()
  it("is empty, whatever was in it before", function()
    local tables = weft.pool.tables()
    local t = tables:rent()
    assert.same({}, t)
    for i = 1, 100 do t[i], t["key" .. i] = i, i end
    setmetatable(t, { __index = { x = 1 } })
    tables:giveBack(t)
    assert.equal(t, tables:rent())
    assert.is_nil(getmetatable(t))
    assert.is_nil(next(t))
    assert.equal(0, #t)
  end)

  it("is nobody else's", function()
    local tables, seen = pool.tables(), {}
    for _ = 1, 3 do
      local list = {}
      for i = 1, 100 do
        list[i] = tables:rent()
        assert.is_nil(seen[list[i]])
        seen[list[i]] = true
      end
      for i = 1, 100 do
        seen[list[i]] = nil
        tables:giveBack(list[i])
      end
    end
    assert.same({ rented = 0, kept = 100, made = 100, dropped = 0 }, tables:stats())
  end)

  it("is the last one that was given back", function()
    local tables = pool.tables()
    local a, b = tables:rent(), tables:rent()
    tables:giveBack(a)
    tables:giveBack(b)
    assert.equal(b, tables:rent())
    assert.equal(a, tables:rent())
  end)

  it("is as new made it and reset left it", function()
    local made = 0
    local tables = pool.tables{
      new = function()
        made = made + 1
        return setmetatable({ parts = {} }, { __metatable = "mine" })
      end,
      reset = function(t) t.name = nil end,
    }
    local t = tables:rent()
    local parts = t.parts
    t.name = "a"
    tables:giveBack(t)
    assert.equal(t, tables:rent())
    assert.is_nil(t.name)
    assert.equal(parts, t.parts)
    assert.equal("mine", getmetatable(t))
    assert.equal(1, made)
  end)
end)

describe("a pool of tables", function()
  it("keeps as many as it was told", function()
    local tables, list = pool.tables{ keep = 2 }, {}
    for i = 1, 3 do list[i] = tables:rent() end
    for i = 1, 3 do tables:giveBack(list[i]) end
    assert.same({ rented = 0, kept = 2, made = 3, dropped = 1 }, tables:stats())
    local none = pool.tables{ keep = 0 }
    none:giveBack(none:rent())
    assert.same({ rented = 0, kept = 0, made = 1, dropped = 1 }, none:stats())
  end)

  it("keeps 1,024 unless told", function()
    local tables, list = pool.tables(), {}
    for i = 1, 1025 do list[i] = tables:rent() end
    for i = 1, 1025 do tables:giveBack(list[i]) end
    assert.equal(1024, tables:stats().kept)
  end)

  it("has some ready, no more than it keeps", function()
    assert.equal(10, pool.tables{ ready = 10 }:stats().kept)
    assert.equal(5, pool.tables{ ready = 10, keep = 5 }:stats().kept)
  end)

  it("lets go of what waits", function()
    local tables = pool.tables{ ready = 3 }
    tables:trim()
    assert.same({ rented = 0, kept = 0, made = 3, dropped = 3 }, tables:stats())
    assert.same({}, tables:rent())
  end)

  it("is told of a table that is given back at once again", function()
    local tables = pool.tables()
    local a, b = tables:rent(), tables:rent()
    tables:giveBack(a)
    raises("^[^:]+pool_spec.lua:%d+: tables:giveBack: the table was given back before$",
      function() tables:giveBack(a) end)
    tables:giveBack(b)
    raises("nothing is rented", tables.giveBack, tables, {})
    assert.equal(2, tables:stats().kept)
  end)

  it("keeps a table rented whose reset fails", function()
    local failing = true
    local tables = pool.tables{ reset = function() if failing then error("no", 0) end end }
    local t = tables:rent()
    raises("^no$", tables.giveBack, tables, t)
    assert.equal(1, tables:stats().rented)
    failing = false
    tables:giveBack(t)
    assert.equal(0, tables:stats().rented)
  end)

  it("cannot empty one with a protected metatable", function()
    local tables = pool.tables()
    local t = setmetatable(tables:rent(), { __metatable = false })
    raises("^tables:giveBack: the table's metatable is protected; the pool needs a reset$",
      tables.giveBack, tables, t)
    assert.equal(1, tables:stats().rented)
  end)

  it("refuses what is none of its business", function()
    local tables = pool.tables()
    local here = "^[^:]+pool_spec.lua:%d+: "
    raises(here .. "tables:giveBack: a table that was rented here expected, got nil$",
      function() tables:giveBack() end)
    raises("got 5$", tables.giveBack, tables, 5)
    raises(here .. "tables:rent: a pool of tables expected, got nil$", function()
      tables.rent()
    end)
    raises("tables:giveBack: a pool of tables expected, got table", tables.giveBack, {})
    raises("tables:trim: a pool", tables.trim, 1)
    raises("tables:stats: a pool", tables.stats, pool.buffers())
    raises(here .. "tables:rent: an owner or nothing expected, got table$", function()
      tables:rent{}
    end)
    raises("tables:rent: new must return a table, got nil", function()
      pool.tables{ new = function() end }:rent()
    end)
    assert.equal(0, tables:stats().made)
  end)

  it("refuses options that it does not know", function()
    local here = "^[^:]+pool_spec.lua:%d+: weft.pool.tables: "
    local function try(options) return function() return pool.tables(options), 1 end end
    raises(here .. "a table of options expected, got 5$", try(5))
    raises(here .. "unknown option 'size'$", try{ size = 5 })
    raises(here .. "keep must be a whole number >= 0, got %-1$", try{ keep = -1 })
    raises("got 0.5", try{ keep = 0.5 })
    raises("got nan", try{ ready = 0 / 0 })
    raises("new must be a function, got table", try{ new = {} })
    raises("debug must be a boolean, got 1", try{ debug = 1 })
  end)
end)

describe("in debug a table", function()
  local function given()
    local tables = pool.tables{ debug = true }
    local t = tables:rent()
    t.x = 1
    tables:giveBack(t)
    return tables, t
  end

  it("that was given back refuses to be read and written, and says where that was", function()
    local _, t = given()
    local text = "^[^:]+pool_spec.lua:%d+: weft.pool: this table was given back at "
      .. "[^:]*pool_spec.lua:%d+; rent another one$"
    raises(text, function() return t.x end)
    raises(text, function() return t[1] end)
    raises(text, function() t.y = 1 end)
    raises(text, function() return t + 1 end)
    raises(text, function() t() end)
    raises("protected", setmetatable, t, nil)
    if support.vm == "lua5.4" then
      raises("given back at", function() return #t end)
      raises("given back at", pairs, t)
      raises("given back at", table.insert, t, 1)
    end
  end)

  it("is rented once and no more", function()
    local tables, t = given()
    for _ = 1, 10 do
      local other = tables:rent()
      assert.is_false(rawequal(t, other))
      tables:giveBack(other)
    end
    assert.same({ rented = 0, kept = 0, made = 11, dropped = 11 }, tables:stats())
  end)

  it("is not given back twice, nor if it is a stranger", function()
    local tables, t = given()
    tables:rent()
    local text = "^[^:]+pool_spec.lua:%d+: tables:giveBack: the table was "
    raises(text .. "given back before, at [^:]*pool_spec.lua:%d+$",
      function() tables:giveBack(t) end)
    raises(text .. "not rented here$", function() tables:giveBack{} end)
    raises("not rented here", function() tables:giveBack(pool.tables():rent()) end)
  end)

  it("is reset and then refuses all the same", function()
    local tables = pool.tables{ debug = true, ready = 5, new = function() return { n = 1 } end,
      reset = function(t) t.n = t.n + 1 end }
    assert.equal(0, tables:stats().kept)
    local t = tables:rent()
    tables:giveBack(t)
    raises("given back at", function() return t.n end)
  end)

  it("does so in all pools that are made with pool.debug", function()
    pool.debug = true
    local tables, quiet = pool.tables(), pool.tables{ debug = false }
    pool.debug = false
    local a, b = tables:rent(), quiet:rent()
    tables:giveBack(a)
    quiet:giveBack(b)
    raises("given back at", function() return a.x end)
    assert.is_nil(b.x)
  end)
end)

-- --- Buffers --------------------------------------------------------------------------------

describe("a buffer that is rented", function()
  it("has its type and count, and is zeroed", function()
    local buffers = weft.pool.buffers()
    local buffer = buffers:rent("f64", 10)
    assert.equal("weft.Buffer: 10 x f64", tostring(buffer))
    buffer:fill(7)
    buffers:giveBack(buffer)
    assert.is_false(rawequal(buffer, buffers:rent("f64", 11)))
    assert.is_false(rawequal(buffer, buffers:rent("i64", 10)))
    local again = buffers:rent("f64", 10)
    assert.is_true(rawequal(buffer, again))
    for i = 1, 10 do assert.equal(0, again[i]) end
  end)

  it("is as it was left where the pool does not clear", function()
    local buffers = pool.buffers{ clear = false }
    buffers:giveBack(buffers:rent("u8", 3):fill(9))
    assert.equal(9, buffers:rent("u8", 3)[2])
  end)

  it("may have no elements", function()
    local buffers = pool.buffers()
    local buffer = buffers:rent("u8", 0)
    buffers:giveBack(buffer)
    assert.is_true(rawequal(buffer, buffers:rent("u8", 0)))
  end)

  it("cannot be touched when it is given back, also through slices", function()
    local buffers = pool.buffers()
    local buffer = buffers:rent("i32", 10)
    local part = buffer:slice(3, 5)
    buffers:giveBack(buffer)
    local text = "^[^:]+pool_spec.lua:%d+: buffer is given back to its pool$"
    for _ = 1, 200 do -- compiled, too
      raises(text, function() return buffer[1] end)
      raises(text, function() part[1] = 5 end)
    end
    raises("buffer:fill: buffer is given back to its pool", buffer.fill, buffer, 1)
    raises("buffer is given back to its pool", jobs.run, function() return #buffer end)
    buffers:rent("i32", 10)
    part[1] = 5
    assert.equal(5, buffer[3])
  end)

  it("in debug cannot for ever, and says where it was given back", function()
    local buffers = pool.buffers{ debug = true }
    local buffer = buffers:rent("i32", 10)
    buffers:giveBack(buffer)
    for _ = 1, 3 do buffers:giveBack(buffers:rent("i32", 10)) end
    raises("buffer is given back to its pool, at [^:]*pool_spec.lua:%d+$",
      function() return buffer[1] end)
    raises("buffers:giveBack: the buffer was given back before, at [^:]*pool_spec.lua:%d+$",
      function() buffers:giveBack(buffer) end)
    assert.same({ rented = 0, kept = 0, made = 4, dropped = 4, keptBytes = 0 }, buffers:stats())
  end)

  it("cannot be given back while a job has any of it", function()
    local buffers = pool.buffers()
    local buffer = buffers:rent("i32", 10):fill(1)
    local job = jobs.run(function(b) return b[1] end, buffer:slice(2, 3))
    raises("^[^:]+pool_spec.lua:%d+: buffers:giveBack: buffer is on loan to job",
      function() buffers:giveBack(buffer) end)
    assert.equal(1, jobSupport.done(job))
    assert.equal(1, buffer[1])
    local reader = jobs.run(function(b) return b[1] end, buffer:shared())
    raises("buffer is on loan to job", buffers.giveBack, buffers, buffer)
    assert.equal(1, jobSupport.done(reader))
    buffers:giveBack(buffer)
    assert.equal(0, buffers:stats().rented)
  end)
end)

describe("a pool of buffers", function()
  it("keeps as many bytes as it was told, those of idle sizes least", function()
    local buffers, list = pool.buffers{ keepBytes = 100 }, {}
    for i = 1, 4 do list[i] = buffers:rent("u8", 30 + i) end
    for i = 1, 3 do buffers:giveBack(list[i]) end
    assert.equal(96, buffers:stats().keptBytes)
    local same = buffers:rent("u8", 31) -- the oldest, used again
    buffers:giveBack(same)
    buffers:giveBack(list[4]) -- 32 goes
    assert.same({ rented = 0, kept = 3, made = 4, dropped = 1, keptBytes = 98 }, buffers:stats())
    assert.is_true(rawequal(same, buffers:rent("u8", 31)))
    assert.is_false(rawequal(list[2], buffers:rent("u8", 32)))
  end)

  it("keeps none that is larger", function()
    local buffers = pool.buffers{ keepBytes = 16 }
    local small, exact = buffers:rent("u8", 1), buffers:rent("f64", 2)
    local large = buffers:rent("u8", 17)
    buffers:giveBack(small)
    buffers:giveBack(large)
    assert.equal(1, buffers:stats().keptBytes)
    buffers:giveBack(exact)
    assert.equal(16, buffers:stats().keptBytes)
    assert.equal(2, buffers:stats().dropped)
  end)

  it("takes back those of a size that it had forgotten", function()
    local buffers = pool.buffers()
    local a, b = buffers:rent("u8", 5), buffers:rent("u8", 5)
    buffers:giveBack(a)
    buffers:trim()
    assert.same({ rented = 1, kept = 0, made = 2, dropped = 1, keptBytes = 0 }, buffers:stats())
    local c = buffers:rent("u8", 5)
    buffers:giveBack(b)
    buffers:giveBack(c)
    assert.equal(2, buffers:stats().kept)
  end)

  it("refuses what it has not lent", function()
    local buffers = pool.buffers()
    local buffer = buffers:rent("u8", 4)
    local text = "^[^:]+pool_spec.lua:%d+: buffers:giveBack: a buffer that is rented here "
      .. "expected, "
    raises(text .. "got one that is not$", function() buffers:giveBack(weft.buffer("u8", 4)) end)
    raises("got one that is not", buffers.giveBack, buffers, buffer:slice())
    raises("got nil", buffers.giveBack, buffers)
    raises("got 7", buffers.giveBack, buffers, 7)
    buffers:giveBack(buffer)
    raises("got one that is not", buffers.giveBack, buffers, buffer)
    raises("^[^:]+pool_spec.lua:%d+: buffers:rent: a pool of buffers expected, got 1$",
      function() buffers.rent(1) end)
    raises("buffers:stats: a pool", buffers.stats, {})
  end)

  it("refuses types, counts and options as weft.buffer does", function()
    local buffers = pool.buffers()
    raises("^[^:]+pool_spec.lua:%d+: buffers:rent: type must be one of i8 .*, got f16$",
      function() buffers:rent("f16", 1) end)
    raises("buffers:rent: count must be a whole number from 0 to 2%^31 %- 1, got %-1",
      function() buffers:rent("u8", -1) end)
    raises("got nan", function() buffers:rent("u8", 0 / 0) end)
    raises("type must be", function() buffers:rent() end)
    raises("weft.pool.buffers: unknown option 'keep'", pool.buffers, { keep = 1 })
    raises("clear must be a boolean, got 0", pool.buffers, { clear = 0 })
    assert.equal(0, buffers:stats().made)
  end)
end)

-- --- Garbage --------------------------------------------------------------------------------

-- The median of what rounds of `fn` leave to the collector, which stands still meanwhile.
local function bytesOf(fn)
  local bytes = {}
  support.collect()
  collectgarbage "stop"
  for round = -101, 101 do
    local before = collectgarbage "count"
    fn()
    bytes[math.max(round, 1)] = (collectgarbage "count" - before) * 1024
  end
  collectgarbage "restart"
  table.sort(bytes)
  return bytes[51]
end

describe("in steady state there is no garbage", function()
  local list = {}

  it("of tables", function()
    local tables = pool.tables()
    assert.equal(0, bytesOf(function()
      for i = 1, 50 do
        local t = tables:rent()
        t.x, t.y, t[1], t[2], list[i] = i, i, i, i, t
      end
      for i = 1, 50 do tables:giveBack(list[i]) end
    end))
  end)

  it("of tables of an owner", function()
    local tables, owner = pool.tables(), support.world():owner()
    assert.equal(0, bytesOf(function()
      for i = 1, 50 do list[i] = tables:rent(owner) end
      for i = 1, 50 do tables:giveBack(list[i]) end
    end))
  end)

  it("of buffers", function()
    local buffers = pool.buffers()
    assert.equal(0, bytesOf(function()
      for i = 1, 20 do list[i] = buffers:rent("f32", i % 5) end
      for i = 1, 20 do buffers:giveBack(list[i]) end
    end))
  end)
end)
