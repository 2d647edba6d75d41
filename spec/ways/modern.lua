-- SPDX-License-Identifier: MIT
-- Ways to a wait that only Lua 5.4 has: its metamethods, library functions that
-- respect metamethods, to-be-closed variables, hooks of one thread. Chunks with
-- syntax of 5.4 are strings, so that this file parses everywhere. See
-- ways/init.lua for what a way is.

local ways = {}

-- A chunk gets `pause` as its only argument and returns the answer.
local function modern(name, pinned, source)
  local run = assert(load("local pause = ...\n" .. source, "=" .. name))
  ways[#ways + 1] = { name = name, pinned = pinned, run = run }
end

-- One that waits in several `__close` in a row.
local function closing(name, pinned, source)
  modern(name, pinned, source)
  ways[#ways].closing = true
end

modern("__len", false, [[
  local list = setmetatable({}, { __len = function() pause() return 7 end })
  return tostring(#list + #list)
]])

modern("the integer and bit metamethods", false, [[
  local meta = {}
  local function value(v) return type(v) == "table" and v.n or v end
  local function op(fn)
    return function(a, b) pause() return setmetatable({ n = fn(value(a), value(b)) }, meta) end
  end
  meta.__idiv = op(function(a, b) return a // b end)
  meta.__band = op(function(a, b) return a & b end)
  meta.__bor = op(function(a, b) return a | b end)
  meta.__bxor = op(function(a, b) return a ~ b end)
  meta.__shl = op(function(a, b) return a << b end)
  meta.__shr = op(function(a, b) return a >> b end)
  meta.__bnot = op(function(a) return ~a end)
  local x = setmetatable({ n = 12 }, meta)
  return tostring((((~(x // 5) | 9) & 0xff ~ x) << 2 >> 1).n)
]])

modern("__pairs and its iterator", nil, [[
  local object = setmetatable({}, { __pairs = function()
    pause()
    return function(_, k) pause() k = (k or 0) + 1 if k < 3 then return k, k * 5 end end
  end })
  local out = {}
  for k, v in pairs(object) do out[#out + 1] = k .. "=" .. v end
  return table.concat(out, " ")
]])

-- A list whose every access goes through metamethods, for table functions.
local PROXY = [[
  local function proxy(store)
    return setmetatable({}, {
      __index = function(_, k) pause() return store[k] end,
      __newindex = function(_, k, v) pause() store[k] = v end,
      __len = function() pause() return #store end,
    })
  end
]]

modern("table.concat through __index", true, PROXY .. [[
  return table.concat(proxy { "a", "b", "c" }, "+")
]])

modern("table.insert and table.remove through metamethods", true, PROXY .. [[
  local store = { 1, 2 }
  table.insert(proxy(store), 1, 0)
  return table.remove(proxy(store)) .. ":" .. table.concat(store, ",")
]])

modern("table.unpack and table.move through metamethods", true, PROXY .. [[
  local store = {}
  table.move(proxy { 5, 6, 7 }, 2, 3, 1, proxy(store))
  return select("#", table.unpack(proxy(store))) .. table.concat(store, ",")
]])

modern("table.sort through __index and __newindex", true, PROXY .. [[
  local store = { 2, 1 }
  table.sort(proxy(store))
  return table.concat(store, ",")
]])

modern("ipairs through __index", nil, PROXY .. [[
  local out = {}
  for i, v in ipairs(proxy { "x", "y" }) do out[i] = v .. i end
  return table.concat(out)
]])

closing("__close at the end of a block", false, [[
  local log = {}
  local function closer(name)
    return setmetatable({}, { __close = function() pause() log[#log + 1] = name end })
  end
  do
    local a <close> = closer "a"
    local b <close> = closer "b"
    log[#log + 1] = "body"
  end
  local function leave()
    local c <close> = closer "c"
    return "left"
  end
  log[#log + 1] = leave()
  return table.concat(log, " ")
]])

closing("__close after break and after an error", nil, [[
  local log = {}
  local function closer(name)
    return setmetatable({}, { __close = function(_, err)
      pause()
      log[#log + 1] = name .. (err and tostring(err) or "")
    end })
  end
  for i = 1, 3 do
    local a <close> = closer "loop"
    if i == 1 then break end
  end
  local ok, err = pcall(function()
    local b <close> = closer "on"
    error("fire", 0)
  end)
  if err ~= "fire" then error(err, 0) end
  return table.concat(log, " ")
]])

closing("the closing value of a for loop", false, [[
  local log = {}
  local guard = setmetatable({}, { __close = function() pause() log[#log + 1] = "shut" end })
  local function each(_, k) if k < 3 then return k + 1 end end
  for k in each, nil, 0, guard do
    pause()
    log[#log + 1] = k
    if k == 2 then break end
  end
  return table.concat(log, " ")
]])

modern("coroutine.close of a suspended coroutine", true, [[
  local log = {}
  local co = coroutine.create(function()
    local a <close> = setmetatable({}, { __close = function()
      pause()
      pause()
      log[#log + 1] = "inner"
    end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  local ok, err = coroutine.close(co)
  if not ok then error(err, 0) end
  return log[1] .. coroutine.status(co)
]])

modern("a count hook", true, [[
  local calls, busy = 0, false
  local before = { debug.gethook() }
  debug.sethook(function()
    if busy then return end
    busy = true
    if calls < 3 then calls = calls + 1 pause() end
    busy = false
  end, "", 100)
  local ok, sum = pcall(function()
    local sum = 0
    for i = 1, 2000 do sum = sum + i end
    return sum
  end)
  debug.sethook(table.unpack(before, 1, 3))
  if not ok then error(sum, 0) end
  return calls .. " " .. sum
]])

modern("a line hook", true, [[
  local lines = {}
  local before = { debug.gethook() }
  local function body()
    local a = 1
    a = a + 1
    return a
  end
  local start = debug.getinfo(body, "S").linedefined
  local finish = debug.getinfo(body, "S").lastlinedefined
  debug.sethook(function(_, line)
    if line > start and line < finish and debug.getinfo(2, "f").func == body then
      pause()
      lines[#lines + 1] = line - start
    end
  end, "l")
  local ok, err = pcall(body)
  debug.sethook(table.unpack(before, 1, 3))
  if not ok then error(err, 0) end
  return err .. " " .. table.concat(lines, ",")
]])

return ways
