-- SPDX-License-Identifier: MIT
-- What is saved comes back as it was: values of every kind, and what they have in common.

local support = require "support"
local saves = require "support.saves"
local weft = require "weft"
local save = require "weft.save"

local function again(value)
  return saves.again{ value = value }.value
end

describe("a save", function()
  after_each(saves.clean)

  it("brings back what its sections were", function()
    local sections = { one = 1, two = "two", three = { 3 }, ["a name\0like this"] = true,
      [""] = false }
    assert.same(sections, saves.again(sections))
    assert.same({}, saves.again{})
  end)

  it("brings back numbers bit by bit", function()
    for _, number in ipairs{ 0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 2 ^ 31, -2 ^ 31,
      2 ^ 53, -2 ^ 53, 2 ^ 53 + 2, 2 ^ 63, -2 ^ 63, 2 ^ 64, 0.1, -0.1, 1.5, 1e308, 5e-324, 1 / 0,
      -1 / 0 } do
      local back = again(number)
      assert.equal(number, back)
      assert.equal(math.type and math.type(number), math.type and math.type(back))
    end
    assert.equal(-1 / 0, 1 / again(-0.0))
    local nan = again(0 / 0)
    assert.is_true(nan ~= nan)
  end)

  it("brings back integers of 64 bits", function()
    local list = support.chunk54 [[return { math.maxinteger, math.mininteger, 2^53|0 + 1, -1 }]]
    if not list then
      list = loadstring [[
        return { 2^53 + 1LL, -1LL, 0x7fffffffffffffffLL, 0xffffffffffffffffULL }]]()
    end
    for i, back in ipairs(again(list)) do
      assert.equal(type(list[i]), type(back))
      assert.is_true(list[i] == back)
      assert.equal(tostring(list[i]), tostring(back))
    end
  end)

  it("brings back strings of any bytes and lengths", function()
    local all = {}
    for byte = 0, 255 do all[#all + 1] = string.char(byte) end
    local bytes = table.concat(all)
    for _, length in ipairs{ 0, 1, 39, 40, 41, 127, 128, 5000, 1048575, 1048576, 3000000 } do
      local text = bytes:rep(math.ceil(length / 256)):sub(1, length)
      assert.is_true(again{ text, text, [text] = text }[2] == text)
    end
  end)

  it("brings back lists with holes, and keys of all kinds", function()
    local t = { 1, 2, nil, 4, [0] = "zero", [-1] = "minus", [1.5] = "half", [true] = "yes",
      [2 ^ 40] = "far" }
    for i = 30, 10, -1 do t[i] = i end
    t.nested = { { {} }, {} }
    assert.same(t, again(t))
  end)

  it("brings back what several places have in common, and rings", function()
    local shared, ring, key = { "shared" }, {}, { "key" }
    ring.me, ring[ring] = ring, ring
    local sections = saves.again{ a = { shared, shared, ring }, b = { x = shared, [key] = key },
      c = ring }
    assert.equal(sections.a[1], sections.a[2])
    assert.equal(sections.a[1], sections.b.x)
    assert.equal("shared", sections.b.x[1])
    assert.equal(sections.a[3], sections.c)
    assert.equal(sections.c, sections.c.me)
    assert.equal(sections.c, sections.c[sections.c])
    local k = next(sections.b) ~= "x" and next(sections.b) or next(sections.b, "x")
    assert.equal(k, sections.b[k])
  end)

  it("takes any depth", function()
    local deep, depth = {}, support.stress and 20000 or 200000
    local inner = deep
    for _ = 1, depth do
      inner.n = {}
      inner = inner.n
    end
    local back = again(deep)
    for _ = 1, depth do back = back.n end
    assert.is_nil(next(back))
  end)

  it("is the same without compression", function()
    local sections = { text = ("abc"):rep(1000), list = { 1, 2, { 3 } },
      buffer = weft.buffer("i32", 1000) }
    local small = saves.write(sections).bytes
    local result = saves.write(sections, { compress = false })
    assert.is_true(result.bytes > 7000 and small < 1000)
    local back = assert(save.read(saves.path()))
    assert.same({ sections.text, sections.list }, { back.text, back.list })
    assert.equal(1000, #back.buffer)
  end)

  it("brings back buffers of all types", function()
    for _, kind in ipairs{ "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64" } do
      local buffer = weft.buffer(kind, 300)
      for i = 1, 300 do buffer[i] = i % 128 end
      local back = again(buffer)
      assert.equal(buffer:string(), back:string())
      assert.equal(tostring(buffer), tostring(back))
      back[300] = 100 -- it can be written
    end
    assert.equal(0, #again(weft.buffer("f32", 0)))
  end)

  it("brings back views that share their memory", function()
    local whole = weft.buffer("i32", 100)
    for i = 1, 100 do whole[i] = i end
    local sections = saves.again{ a = { whole:slice(11, 20), whole:slice(16, 40) },
      b = whole:slice(31, 40):shared(), c = whole:slice(5, 4) }
    local first, second = sections.a[1], sections.a[2]
    assert.equal(10, #first)
    assert.equal(20, first[10])
    first[6] = -1
    assert.equal(-1, second[1])
    second[25] = -2
    assert.equal(-2, sections.b[10])
    assert.has_error(function() sections.b[1] = 1 end)
    assert.equal(0, #sections.c)
    assert.equal(16, whole[16])
  end)

  it("brings back columns, and the ids of their rows", function()
    for _, count in ipairs{ 0, 1, 63, 64, 65, 500 } do
      local cols, ids = weft.columns{ x = "f64", hp = "u8" }, {}
      for i = 1, count do ids[i] = cols:add{ x = i / 4, hp = i % 256 } end
      for i = 1, count, 3 do cols:remove(ids[i]) end
      local back = again{ cols, cols }
      assert.equal(back[1], back[2])
      back = back[1]
      assert.equal(tostring(cols), tostring(back))
      for i = 1, count do
        assert.equal(cols:alive(ids[i]), back:alive(ids[i]))
        assert.equal(cols:get(ids[i], "x"), back:get(ids[i], "x"))
        assert.equal(cols:get(ids[i], "hp"), back:get(ids[i], "hp"))
      end
      for _ = 1, count + 70 do assert.equal(cols:add{ hp = 7 }, back:add{ hp = 7 }) end
      assert.equal(cols:count(), back:count())
    end
  end)

  it("brings back objects by the names of their metatables", function()
    local Actor = { __index = { hail = function(self) return "I am " .. self.name end } }
    assert.equal(Actor, save.metatable("spec.Actor", Actor))
    local ann = setmetatable({ name = "Ann" }, Actor)
    ann.friend = setmetatable({ name = "Bob", friend = ann }, Actor)
    local back = again(ann)
    assert.equal("I am Ann", back:hail())
    assert.equal("I am Bob", back.friend:hail())
    assert.equal(back, back.friend.friend)
    assert.equal(Actor, getmetatable(back))
  end)

  it("reads objects with the metatable that has the name now", function()
    local before, now = {}, {}
    save.metatable("spec.Changing", before)
    saves.write{ a = setmetatable({}, before) }
    save.metatable("spec.Changing", now)
    assert.equal(now, getmetatable(save.read(saves.path()).a))
    assert.equal(now, getmetatable(again(setmetatable({}, before))))
  end)

  it("touches no metamethod", function()
    local function never() error "called" end
    local meta = { __index = never, __newindex = never, __pairs = never, __len = never,
      __eq = never }
    save.metatable("spec.Touchy", meta)
    local back = again(setmetatable({ 1, 2, x = 3 }, meta))
    assert.equal(3, rawget(back, "x"))
    assert.equal(2, rawget(back, 2))
  end)

  it("tells what it has cost", function()
    local result = saves.write{ a = ("x"):rep(100000) }
    assert.equal(saves.path(), result.path)
    assert.equal(#saves.bytes(), result.bytes)
    assert.is_true(result.rawBytes >= 100000 and result.rawBytes < 100020)
    assert.is_true(result.pauseMs > 0 and result.pauseMs <= result.totalMs)
    assert.is_false(result.kept)
    assert.is_false(result.superseded)
    local _, info = save.read(saves.path())
    assert.same({ file = saves.path(), kept = false, bytes = result.bytes,
      rawBytes = result.rawBytes }, info)
  end)
end)

describe("the save before", function()
  after_each(saves.clean)

  local function damage(name, at)
    local bytes = saves.bytes(name)
    at = at or #bytes
    local changed = string.char((bytes:byte(at) + 1) % 256)
    saves.store(bytes:sub(1, at - 1) .. changed .. bytes:sub(at + 1), name)
  end

  it("is kept, and read where the last one is damaged", function()
    saves.write{ n = 1 }
    assert.is_true(saves.write{ n = 2 }.kept)
    damage "world"
    local sections, info = save.read(saves.path())
    assert.equal(1, sections.n)
    assert.is_true(info.kept)
    assert.equal(saves.path "world.kept", info.file)
    assert.equal(saves.path() .. " is damaged: the checksum of a part of it is wrong", info.why)
  end)

  it("is read where the last one is gone", function()
    saves.write{ n = 1 }
    saves.write{ n = 2 }
    os.remove(saves.path())
    local sections, info = save.read(saves.path())
    assert.equal(1, sections.n)
    assert.equal(saves.path() .. " is not there", info.why)
  end)

  it("is told of, too, where both are damaged", function()
    saves.write{ n = 1 }
    saves.write{ n = 2 }
    damage("world", 20)
    damage("world.kept", 1)
    local sections, reason, text = save.read(saves.path())
    assert.is_nil(sections)
    assert.equal("damaged", reason)
    assert.equal(saves.path() .. " is damaged: the checksum of its head is wrong; " .. saves.path()
      .. ".kept is damaged: it does not begin as a save", text)
  end)
end)
