-- SPDX-License-Identifier: MIT
-- rows_save.lua - the rows of rows.lua about saves: what a save costs the world, and all of it,
-- beside a library that encodes on the one thread that there is.

-- What is judged: `pause` is how long the world stands still, which for a peer is all of it.
local BARS = { pause = 0.4, total = 0.6, read = 0.6 }

local function sides(script, vm, what, n)
  local file = "build/bench/save-" .. vm
  return {
    weft = script(vm, "save", "weft", what, n, file),
    ["lua-cjson"] = script(vm, "save", "cjson", what, n, file),
    ["lua-messagepack"] = script(vm, "save", "messagepack", what, n, file),
  }
end

return function(add, script, needing)
  for _, vm in ipairs { "lua5.4", "luajit" } do
    for _, what in ipairs { "columns", "tables" } do
      local n = what == "columns" and 1000000 or 100000
      local group = { free = true, runs = 3, sides = sides(script, vm, what, n), rows = {} }
      local name = what == "columns" and "save of 1,000,000 rows, " or "save of 100,000 tables, "
      for _, peer in ipairs { "lua-cjson", "lua-messagepack" } do
        needing(peer, group.sides[peer])
        for _, key in ipairs { "pause", "total", "read" } do
          group.rows[#group.rows + 1] = { name = name .. key, vm = vm, peer = peer, key = key,
            bar = BARS[key], unit = "ms" }
        end
        group.rows[#group.rows + 1] = { name = name .. "bytes", vm = vm, peer = peer,
          key = "bytes", unit = "B" }
      end
      add(group)
    end
  end
end
