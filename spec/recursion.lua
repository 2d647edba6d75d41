-- SPDX-License-Identifier: MIT
-- Recursions that do not end by themselves, each through another C function. A
-- recursion is a table: name, run() that never returns in peace, and, where a
-- protected call on the way keeps the error, run() returns that error last. The list is also a
-- map by name.
-- Knows nothing of weft, so that child processes may use it alone.

local recursion = {}

local function endless(name, run)
  local entry = { name = name, run = run }
  recursion[#recursion + 1] = entry
  recursion[name] = entry
end

endless("gsub", function()
  local function dig() return (("ab"):gsub("b", dig)) end
  return dig()
end)

endless("sort", function()
  local function dig()
    table.sort({ 1, 2, 3 }, dig)
    return true
  end
  return dig()
end)

local function nested(call)
  return function()
    local object = setmetatable({}, {})
    getmetatable(object).__tostring = function(self) return call(self) .. "" end
    return call(object)
  end
end

endless("tostring", nested(tostring))
endless("format", nested(function(v) return string.format("%s", v) end))

endless("wrap", function()
  local function dig() return coroutine.wrap(dig)() .. "" end
  return dig()
end)

-- The coroutines pass the error on as a value that they return.
endless("resume", function()
  local function dig() return select(-1, coroutine.resume(coroutine.create(dig))) end
  return dig()
end)

endless("load reader", function()
  local function dig()
    local chunk, err = load(dig)
    if not chunk then error(err, 0) end
    return nil
  end
  return dig()
end)

endless("load of deep nesting", function()
  local chunk, err = load("return " .. ("("):rep(5000) .. "1" .. (")"):rep(5000))
  if not chunk then error(err, 0) end
  return chunk()
end)

endless("load of nested functions", function()
  local chunk, err = load(("return function() "):rep(500) .. (" end"):rep(500))
  if not chunk then error(err, 0) end
  return chunk()
end)

local modules = 0
endless("require", function()
  local function dig()
    modules = modules + 1
    local name = "weft-spec-deep-" .. modules
    package.preload[name] = dig
    local ok, err = pcall(require, name)
    package.preload[name], package.loaded[name] = nil, nil
    if not ok then error(err, 0) end
    return true
  end
  return dig()
end)

endless("pcall", function()
  local function dig() return select(-1, pcall(dig)) end
  return dig()
end)

endless("xpcall", function()
  local function handler(err) return err end
  local function dig() return select(-1, xpcall(dig, handler)) end
  return dig()
end)

endless("a handler that fails", function()
  local function handler() return nil .. "" end
  return select(-1, xpcall(error, handler))
end)

endless("a handler that recurses", function()
  local function handler(err) return (("b"):gsub("b", function() return handler(err) end)) end
  return select(-1, xpcall(error, handler, "first"))
end)

endless("__index", function()
  local object = setmetatable({}, { __index = function(self, key) return self[key + 1] .. "" end })
  return object[1]
end)

endless("__lt", function()
  local meta = {}
  meta.__lt = function(a, b)
    local less = a < b
    return not less
  end
  return tostring(setmetatable({}, meta) < setmetatable({}, meta))
end)

endless("__concat", function()
  local object = setmetatable({}, { __concat = function(a, b) return (a .. b) .. "" end })
  return object .. "x"
end)

endless("__call", function()
  local object = setmetatable({}, { __call = function(self) return self() .. "" end })
  return object()
end)

endless("Lua frames", function()
  local function dig(n) return dig(n + 1) + 1 end
  return dig(1)
end)

if _VERSION == "Lua 5.4" then
  endless("__close", load [[
    local function dig()
      local guard <close> = setmetatable({}, { __close = dig })
      return 1
    end
    return dig()
  ]])

  endless("table.concat through __index", function()
    local meta = { __len = function() return 1 end }
    local object = setmetatable({}, meta)
    meta.__index = function() return table.concat(object) end
    return table.concat(object)
  end)

  endless("pairs through __pairs", function()
    local object = setmetatable({}, {})
    getmetatable(object).__pairs = function(self)
      local next = pairs(self)
      return next
    end
    return pairs(object)
  end)
end

return recursion
