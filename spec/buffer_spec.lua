-- SPDX-License-Identifier: MIT
--
-- Buffers: what goes in, what comes out, and what is refused.

local support = require "support"
local weft = require "weft"
local core = require "weft.core"

local jit = support.vm == "luajit"

local raises = support.raises

-- The bounds of each whole type; those of i64 have a spec of their own.
local WHOLE = {
  i8 = { -128, 127 }, u8 = { 0, 255 }, i16 = { -32768, 32767 }, u16 = { 0, 65535 },
  i32 = { -2147483648, 2147483647 }, u32 = { 0, 4294967295 },
}
local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, i64 = 8, f32 = 4, f64 = 8 }

local function write(buffer, i, value) buffer[i] = value end
local function read(buffer, i) return buffer[i] end

local function list(buffer)
  local values = {}
  for i = 1, #buffer do values[i] = tonumber(buffer[i]) end
  return values
end

describe("weft.buffer", function()
  it("makes zeroed elements of each type", function()
    for type, bytes in pairs(BYTES) do
      local buffer = weft.buffer(type, 5)
      assert.equal(5, #buffer)
      for i = 1, 5 do assert.is_true(buffer[i] == 0, type) end
      assert.equal(("\0"):rep(5 * bytes), buffer:string())
      assert.equal("weft.Buffer: 5 x " .. type, tostring(buffer))
    end
  end)

  it("makes one without elements", function()
    local buffer = weft.buffer("f64", 0)
    assert.equal(0, #buffer)
    assert.equal("", buffer:string())
    assert.equal(0, #buffer:fill(1):slice():copy())
    raises("it has no elements, got index 1", read, buffer, 1)
  end)

  it("refuses other types, by name", function()
    raises("^[^:]+:%d+: weft.buffer: type must be one of i8 u8 .* f64, got f16$", function()
      weft.buffer("f16", 1)
    end)
    raises("got nil", weft.buffer, nil, 1)
    raises("got table", weft.buffer, {}, 1)
  end)

  it("refuses counts out of their range", function()
    for _, count in ipairs { -1, 1.5, 2 ^ 31, 1 / 0, 0 / 0, "5", false } do
      raises("weft.buffer: count must be a whole number from 0 to 2%^31 %- 1, got ", weft.buffer,
        "u8", count)
    end
    raises("got nil", weft.buffer, "u8")
  end)

  it("takes counts of any kind that are whole", function()
    assert.equal(3, #weft.buffer("u8", 3.0))
    if jit then assert.equal(3, #weft.buffer("u8", loadstring "return 3LL" ())) end
  end)

  it("gives its memory back when nobody holds it", function()
    support.collect()
    local before = core.bufferBytes()
    local buffer = weft.buffer("f32", 1000)
    assert.equal(before + 4000, core.bufferBytes())
    local slice = buffer:slice(2, 3)
    buffer = nil -- luacheck: ignore
    support.collect()
    assert.equal(before + 4000, core.bufferBytes())
    slice[1] = 4
    assert.equal(4, slice[1])
    slice = nil -- luacheck: ignore
    support.collect()
    assert.equal(before, core.bufferBytes())
  end)

  it("looks for garbage when much was made", function()
    support.collect()
    local before, most = core.bufferBytes(), 0
    for _ = 1, 60 do
      weft.buffer("u8", 8 * 1024 * 1024)
      most = math.max(most, core.bufferBytes())
    end
    assert.is_true(most - before < 320 * 1024 * 1024, most)
  end)

  -- Refused for sure: what the system grants of that size has to be cleared under ASan.
  it("says that memory is missing", function()
    local limit = "ulimit -v 4000000"
    if os.getenv "WEFT_MODE" == "asan" then
      limit = "export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1"
        .. ":max_allocation_size_mb=512"
    end
    local status, text = support.child([[
      local weft = require "weft"
      local ok, err = pcall(weft.buffer, "f64", 2 ^ 31 - 1)
      io.write(tostring(ok), " ", tostring(err))
    ]], limit)
    assert.equal(0, status)
    assert.truthy(text:find "false .*not enough memory for 2147483647 elements of f64", text)
  end)
end)

describe("an element", function()
  it("holds every value at the ends of its type, and none past them", function()
    for type, ends in pairs(WHOLE) do
      local buffer = weft.buffer(type, 2)
      for _, value in ipairs(ends) do
        buffer[2] = value
        assert.equal(value, buffer[2])
        assert.equal(0, buffer[1])
      end
      for _, value in ipairs { ends[1] - 1, ends[2] + 1, ends[1] + 0.5, 2 ^ 64, 1 / 0, 0 / 0 } do
        raises("buffer: an? " .. type .. " element must be a whole number from ", write, buffer, 1,
          value)
      end
      assert.equal(0, buffer[1])
    end
  end)

  it("is a whole Lua number where it is whole", function()
    for type in pairs(WHOLE) do
      local buffer = weft.buffer(type, 1)
      buffer[1] = 7.0
      assert.equal("7", tostring(buffer[1]))
    end
  end)

  it("refuses what is no number", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 1)
      for _, value in ipairs { "1", {}, true, print, buffer } do
        raises("^[^:]+:%d+: buffer: an? " .. type .. " element must be a .*, got ", function()
          buffer[1] = value
        end)
      end
      raises("got nil", write, buffer, 1, nil)
      assert.is_true(buffer[1] == 0)
    end
  end)

  it("of f64 is every float, bit for bit; one of f32 rounds", function()
    local wide, narrow = weft.buffer("f64", 1), weft.buffer("f32", 1)
    for _, value in ipairs { 0.1, -0.0, 5e-324, 1 / 0, -1 / 0, 2 ^ 53 + 2, 1e300 } do
      wide[1] = value
      assert.equal(value, wide[1])
      assert.equal(1 / value, 1 / wide[1])
    end
    wide[1], narrow[1] = 0 / 0, 0 / 0
    assert.is_true(wide[1] ~= wide[1] and narrow[1] ~= narrow[1])
    narrow[1] = 0.1
    assert.equal(0.10000000149011612, narrow[1])
    narrow[1] = 1e300
    assert.equal(1 / 0, narrow[1])
  end)

  it("of i64 holds all 64 bits", function()
    local buffer = weft.buffer("i64", 2)
    local values = support.vm == "lua5.4" and { math.maxinteger, math.mininteger, -1, 2 ^ 53 }
      or loadstring "return {0x7fffffffffffffffLL, -0x8000000000000000LL, -1, 2^53}" ()
    for _, value in ipairs(values) do
      buffer[1] = value
      assert.is_true(buffer[1] == value)
      buffer[2] = buffer[1]
      assert.is_true(buffer[2] == value)
    end
    for _, value in ipairs { 0.5, 2 ^ 63, -2 ^ 63 - 2048, 0 / 0 } do
      raises("buffer: an i64 element must be a whole number from %-2%^63 to 2%^63 %- 1", write,
        buffer, 1, value)
    end
    buffer[1] = -2 ^ 63
    assert.is_true(buffer[1] == -2 ^ 63)
  end)

  if jit then
    it("takes 64-bit integers wherever they fit", function()
      local long, unsigned = loadstring "return function(v) return v + 0LL end, 1ULL" ()
      for type in pairs(BYTES) do
        local buffer = weft.buffer(type, 1)
        buffer[long(1)] = long(100)
        assert.is_true(buffer[long(1)] == 100, type)
        buffer[1] = unsigned
        assert.is_true(buffer[1] == 1, type)
      end
      raises("got cdata", write, weft.buffer("i64", 1), 1, unsigned * 2 ^ 63)
      raises("got cdata", write, weft.buffer("u8", 1), 1, long(256))
      local wide = weft.buffer("f64", 1)
      wide[1] = unsigned * 2 ^ 63
      assert.equal(2 ^ 63, wide[1])
      raises("index must be a whole number from 1 to 1", read, wide, long(2))
    end)
  end

  it("has an index from 1 to the end, and no other", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 3)
      for _, i in ipairs { 0, 4, -1, 1.5, 1 / 0, -1 / 0, 0 / 0, 2 ^ 53, 2 ^ 32 + 1 } do
        raises("buffer: index must be a whole number from 1 to 3, got ", read, buffer, i)
        raises("buffer: index must be a whole number from 1 to 3, got ", write, buffer, i, 1)
      end
      for _, i in ipairs { "1", "nothing", true, {} } do
        raises("^[^:]+:%d+: buffer: index must be a whole number from 1 to 3, got ", function()
          return buffer[i]
        end)
        raises("index must be a whole number", write, buffer, i, 1)
      end
      raises("got nil", function() return buffer[nil] end)
      assert.same({ 0, 0, 0 }, list(buffer))
    end
    raises("got nothing", read, weft.buffer("u8", 1), "nothing")
  end)

  it("may be written in a loop that is compiled, and refused in it", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 300)
      local ok, err = pcall(function()
        for i = 1, 400 do buffer[i] = i % 100 end
      end)
      assert.is_false(ok)
      assert.truthy(err:find "from 1 to 300, got 301", err)
      local sum = 0
      for i = 1, #buffer do sum = sum + tonumber(buffer[i]) end
      assert.equal(3 * 4950, sum)
      ok, err = pcall(function()
        for i = 1, 300 do buffer[i] = i < 250 and 1 or "x" end
      end)
      assert.is_false(ok)
      assert.truthy(err:find "got string", err)
    end
  end)
end)

describe("buffer:fill", function()
  it("fills all, or a range", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 7)
      assert.equal(buffer, buffer:fill(3))
      assert.same({ 3, 3, 3, 3, 3, 3, 3 }, list(buffer))
      buffer:fill(1, 6)
      buffer:fill(2, 2, 4)
      buffer:fill(9, 8)
      buffer:fill(9, 3, 2)
      assert.same({ 3, 2, 2, 2, 3, 1, 1 }, list(buffer))
    end
  end)

  it("refuses ranges outside, and values that are none", function()
    local buffer = weft.buffer("u8", 4)
    for _, range in ipairs { { 0, 2 }, { 1, 5 }, { 4, 2 }, { 6, 5 }, { 1.5, 2 }, { "1", 2 } } do
      raises("buffer:fill: the range must lie within 1 to 4, got ", buffer.fill, buffer, 1,
        range[1], range[2])
    end
    raises("^[^:]+:%d+: buffer:fill: a u8 element must be .*, got 256$", function()
      buffer:fill(256)
    end)
    raises("got nil", buffer.fill, buffer)
    assert.same({ 0, 0, 0, 0 }, list(buffer))
  end)
end)

describe("a slice", function()
  it("is the same memory, numbered from 1", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 6)
      for i = 1, 6 do buffer[i] = i end
      local slice = buffer:slice(3, 5)
      assert.same({ 3, 4, 5 }, list(slice))
      slice[1] = 33
      assert.is_true(buffer[3] == 33)
      slice:slice(2):fill(9)
      assert.same({ 1, 2, 33, 9, 9, 6 }, list(buffer))
      assert.equal(2, #buffer:slice(5))
      assert.equal(0, #buffer:slice(7))
      raises("from 1 to 3, got 4", read, slice, 4)
      raises("from 1 to 3, got 0", write, slice, 0, 1)
    end
  end)

  it("refuses ranges outside", function()
    local buffer = weft.buffer("u8", 4)
    raises("buffer:slice: the range must lie within 1 to 4, got 0 to 2", buffer.slice, buffer, 0, 2)
    raises("got 2 to 9", buffer.slice, buffer, 2, 9)
    raises("got 9 to its end", buffer.slice, buffer, 9)
    raises("within 1 to 2, got 1 to 3", function() buffer:slice(2, 3):slice(1, 3) end)
  end)
end)

describe("a copy", function()
  it("has memory of its own", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 3):fill(5)
      local copy = buffer:slice(2, 3):copy()
      buffer:fill(1)
      assert.same({ 5, 5 }, list(copy))
      assert.equal("weft.Buffer: 2 x " .. type, tostring(copy))
    end
  end)
end)

describe("buffer:string", function()
  it("gives the bytes of what it shows", function()
    local buffer = weft.buffer("u16", 3)
    buffer[1], buffer[2], buffer[3] = 0x4142, 0x4344, 0x4546
    assert.equal(6, #buffer:string())
    assert.truthy(({ CD = 1, DC = 1 })[buffer:slice(2, 2):string()])
  end)
end)

describe("buffer:shared", function()
  it("gives a view that can be read and not be written", function()
    for type in pairs(BYTES) do
      local buffer = weft.buffer(type, 2):fill(4)
      local shared = buffer:shared()
      assert.same({ 4, 4 }, list(shared))
      for _ = 1, 2 do
        raises("^[^:]+:%d+: buffer: this view is read%-only, as :shared%(%) gives it$", function()
          shared[1] = 1
        end)
        raises("buffer:fill: this view is read%-only", shared.fill, shared, 1)
        shared = shared:slice(1, 1)
      end
      buffer[1] = 7
      assert.same({ 7 }, list(shared))
      assert.equal("weft.Buffer: 1 x " .. type .. ", read-only", tostring(shared))
      local copy = shared:copy()
      copy[1] = 1
      assert.same({ 1 }, list(copy))
    end
  end)
end)

describe("a buffer's methods", function()
  it("refuse what is no buffer", function()
    local buffer = weft.buffer("u8", 1)
    for _, name in ipairs { "fill", "copy", "slice", "string", "shared" } do
      for _, other in ipairs { 5, "x", {}, io.stdout, false } do
        raises("buffer:" .. name .. ": a buffer expected, got ", buffer[name], other, 1)
      end
    end
  end)

  it("cannot be replaced through a metatable", function()
    assert.is_not.table(getmetatable(weft.buffer("u8", 1)))
  end)
end)

describe("a buffer", function()
  it("is equal to itself only, and may be a key", function()
    local a, b = weft.buffer("u8", 1), weft.buffer("u8", 1)
    local known = { [a] = "a", [b] = "b" }
    assert.is_true(a == a and a ~= b)
    assert.equal("a", known[a])
    assert.equal("b", known[b])
  end)

  it("goes through a model of random calls", function()
    local seed = tonumber(os.getenv "WEFT_SEED") or os.time()
    math.randomseed(seed)
    local random = math.random
    local names = { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64" }
    for _ = 1, support.stress and 20 or 200 do
      local count = random(1, 12)
      local buffer, model = weft.buffer(names[random(9)], count), {}
      for i = 1, count do model[i] = 0 end
      for _ = 1, 50 do
        local i = random(1, count)
        local j = random(i, count)
        local value = random(0, 100)
        local what = random(4)
        if what == 1 then
          buffer[i], model[i] = value, value
        elseif what == 2 then
          buffer:fill(value, i, j)
          for k = i, j do model[k] = value end
        elseif what == 3 then
          local slice = buffer:slice(i, j)
          slice[1], model[i] = value, value
          slice[#slice], model[j] = value, value
        else
          buffer = buffer:copy()
        end
        assert.same(model, list(buffer), "WEFT_SEED=" .. seed)
      end
    end
  end)

  if jit then
    it("gives a C pointer, whose elements are numbered from 0", function()
      local ffi = require "ffi"
      for type in pairs(BYTES) do
        local buffer = weft.buffer(type, 3)
        buffer:slice(2, 3):ptr()[0] = 9
        assert.same({ 0, 9, 0 }, list(buffer))
        assert.is_false(pcall(function() buffer:shared():ptr()[0] = 1 end))
        assert.is_true(buffer:shared():ptr()[1] == 9)
      end
      assert.is_true(ffi.istype("float *", weft.buffer("f32", 1):ptr()))
      raises("buffer:ptr: a buffer expected", weft.buffer("u8", 1).ptr, 5)
    end)

    it("that FFI code has made by hand is refused", function()
      local ffi = require "ffi"
      local bare = ffi.new(ffi.typeof(weft.buffer("f32", 1)))
      raises("the buffer was never made", read, bare, 1)
      raises("the buffer was never made", bare.fill, bare, 1)
    end)
  end
end)
