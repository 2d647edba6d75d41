-- SPDX-License-Identifier: MIT
--
-- Columns: rows that come and go, and ids that never mean another one.

local support = require "support"
local weft = require "weft"

local raises = support.raises

local function bodies()
  return weft.columns{ x = "f32", hp = "u8" }
end

describe("weft.columns", function()
  it("makes columns without rows", function()
    local cols = bodies()
    assert.equal(0, cols:count())
    assert.equal("weft.Columns: 0 x hp, x", tostring(cols))
  end)

  it("refuses what names no types", function()
    raises("^[^:]+:%d+: weft.columns: a table of types by name expected, got nil$", function()
      weft.columns()
    end)
    raises("got an empty one", weft.columns, {})
    raises("got string", weft.columns, "f32")
    raises("^[^:]+:%d+: weft.columns: column 'x': type must be one of i8 .* f64, got f16$",
      function() weft.columns{ x = "f16" } end)
    raises("the name of a column must be a string, got 1", weft.columns, { "f32" })
  end)
end)

describe("a row", function()
  it("has the values it was added with, and 0 elsewhere", function()
    local cols = bodies()
    local a, b = cols:add{ x = 1.5, hp = 7 }, cols:add{ hp = 9 }
    local c = cols:add()
    assert.equal(3, cols:count())
    assert.equal(1.5, cols:get(a, "x"))
    assert.equal(7, cols:get(a, "hp"))
    assert.equal(0, cols:get(b, "x"))
    assert.equal(9, cols:get(b, "hp"))
    assert.equal(0, cols:get(c, "hp"))
    assert.is_true(cols:set(b, "x", -2))
    assert.equal(-2, cols:get(b, "x"))
  end)

  it("is gone when it was removed, for ever", function()
    local cols = bodies()
    local a, b = cols:add{ x = 1 }, cols:add{ x = 2 }
    assert.is_true(cols:remove(a))
    assert.is_false(cols:alive(a))
    assert.is_true(cols:alive(b))
    assert.equal(2, cols:get(b, "x"))
    local ids = { [a] = true, [b] = true }
    for _ = 1, 1000 do
      local id = cols:add{ x = 3 }
      assert.is_nil(ids[id])
      ids[id] = true
      assert.is_true(cols:remove(id))
    end
    assert.same({ nil, "gone" }, { cols:remove(a) })
    assert.same({ nil, "gone" }, { cols:get(a, "x") })
    assert.same({ nil, "gone" }, { cols:set(a, "x", 1) })
    assert.equal(1, cols:count())
  end)

  it("keeps its values while the columns grow", function()
    local cols, ids = weft.columns{ n = "i32", sq = "f64" }, {}
    for i = 1, 1000 do ids[i] = cols:add{ n = i, sq = i * i } end
    for i = 1, 1000 do
      assert.equal(i, cols:get(ids[i], "n"))
      assert.equal(i * i, cols:get(ids[i], "sq"))
    end
  end)
end)

describe("columns", function()
  it("may be changed by finalizers while the columns grow", function()
    local core = require "weft.core"
    local buffer, finalize = core.buffer, nil
    core.buffer = function(...) -- which collects garbage when there is much
      local run = finalize
      finalize = nil
      local made = buffer(...)
      if run then run() end
      return made
    end
    local cols = assert(loadfile "lua/weft/columns.lua")().columns{ x = "i32", y = "i32" }
    core.buffer = buffer
    local ids, added = {}, nil
    for i = 1, 64 do ids[i] = cols:add{ x = i, y = -i } end
    finalize = function()
      cols:remove(ids[10])
      cols:remove(ids[20])
      added = cols:add{ x = 100, y = -100 }
      cols:set(ids[1], "x", 7)
    end
    local last = cols:add{ x = 65, y = -65 }
    assert.equal(64, cols:count())
    for i = 1, 64 do
      assert.equal(i ~= 10 and i ~= 20, cols:alive(ids[i]))
      if cols:alive(ids[i]) then
        assert.equal(i == 1 and 7 or i, cols:get(ids[i], "x"))
        assert.equal(-i, cols:get(ids[i], "y"))
      end
    end
    assert.equal(100, cols:get(added, "x"))
    assert.equal(65, cols:get(last, "x"))
    assert.is_not.equal(added, last)
  end)

  it("refuse values that do not fit, and have then changed nothing", function()
    local cols = bodies()
    local id = cols:add{ x = 1, hp = 2 }
    raises("^[^:]+:%d+: columns:add: column 'hp': a u8 element must be .*, got 256$", function()
      cols:add{ x = 3, hp = 256 }
    end)
    raises("^[^:]+:%d+: columns:set: column 'x': an f32 element must be a number, got string$",
      function() cols:set(id, "x", "much") end)
    raises("got nil", cols.set, cols, id, "x", nil)
    assert.equal(1, cols:count())
    assert.equal(1, cols:get(id, "x"))
    assert.equal(0, cols:get(cols:add(), "hp"))
  end)

  it("refuse names that are none of theirs", function()
    local cols = bodies()
    local id = cols:add()
    raises("^[^:]+:%d+: columns:add: there is no column 'y'$", function() cols:add{ y = 1 } end)
    raises("columns:get: there is no column 'y'", cols.get, cols, id, "y")
    raises("columns:set: there is no column 'nil'", cols.set, cols, id, nil, 1)
    raises("columns:add: a table of values expected, got 5", cols.add, cols, 5)
    assert.equal(1, cols:count())
  end)

  it("take numbers that are no ids for rows that are gone", function()
    local cols = bodies()
    cols:add()
    for _, id in ipairs { 0, -1, 1, 1.5, 2 ^ 53, 2 ^ 60, 1 / 0, 0 / 0 } do
      assert.is_false(cols:alive(id))
      assert.same({ nil, "gone" }, { cols:remove(id) })
    end
    raises("columns:alive: an id expected, got nil", cols.alive, cols, nil)
    raises("columns:remove: an id expected, got string", cols.remove, cols, "1")
  end)

  it("refuse to be called without themselves", function()
    local cols = bodies()
    for _, name in ipairs { "add", "remove", "alive", "get", "set", "count" } do
      raises("columns:" .. name .. ": columns expected, got table", cols[name], {}, 1)
      raises("columns:" .. name .. ": columns expected, got 3", cols[name], 3)
    end
  end)

  it("keep no row beyond the generations of its slot", function()
    local cols = bodies()
    local first = cols:add()
    cols:remove(first)
    cols._generations[1] = 2 ^ 29 - 1 -- as if it had been used so often
    local last = cols:add{ hp = 5 }
    assert.is_true(last < 2 ^ 53)
    assert.equal(5, cols:get(last, "hp"))
    cols:remove(last)
    local other = cols:add()
    assert.is_false(cols:alive(last))
    assert.is_true(cols:alive(other))
    assert.is_true(other ~= last and other % 2 ^ 24 ~= last % 2 ^ 24)
  end)

  it("do what a simple model does", function()
    local seed = tonumber(os.getenv "WEFT_SEED") or os.time()
    math.randomseed(seed)
    local random = math.random
    for _ = 1, support.stress and 5 or 40 do
      local cols, model, ids, dead = weft.columns{ a = "i16", b = "f64" }, {}, {}, {}
      for _ = 1, 400 do
        local what = random(10)
        local id = ids[1] and ids[random(#ids)]
        if what <= 4 or not id then
          local a, b = random(-9, 9), random() < 0.5 and random() or nil
          id = assert(cols:add{ a = a, b = b })
          assert.is_nil(model[id])
          model[id] = { a = a, b = b or 0 }
          ids[#ids + 1] = id
        elseif what <= 7 then
          local at = random(#ids)
          id = table.remove(ids, at)
          assert.is_true(cols:remove(id))
          model[id], dead[#dead + 1] = nil, id
        else
          model[id].a = what
          assert.is_true(cols:set(id, "a", what))
        end
        assert.equal(#ids, cols:count())
      end
      for id, row in pairs(model) do
        assert.equal(row.a, cols:get(id, "a"), "WEFT_SEED=" .. seed)
        assert.equal(row.b, cols:get(id, "b"), "WEFT_SEED=" .. seed)
      end
      for _, id in ipairs(dead) do assert.is_false(cols:alive(id), "WEFT_SEED=" .. seed) end
    end
  end)
end)
