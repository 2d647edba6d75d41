-- SPDX-License-Identifier: MIT
-- The layer check finds what it is there to find. Each spec builds a small tree that breaks one
-- rule and looks at what scripts/layers says about it.

local support = require "support"

-- A tree that keeps the rules; each spec changes one file.
local function tree()
  return {
    ["csrc/include/weft.h"] = "#ifndef WEFT_H\n#ifdef __cplusplus\n#endif\n#endif\n",
    ["csrc/base/base.h"] = '#include "weft.h"\n',
    ["csrc/platform/clock.c"] = '#ifdef __linux__\n#endif\n#include "base/base.h"\n',
    ["csrc/core/heap.h"] = '#include "base/base.h"\n',
    ["csrc/core/sched.h"] = '#include "core/heap.h"\n',
    ["csrc/core/sched_wait.c"] = '#include "core/sched.h"\n',
    ["csrc/core/fiber.h"] = '#include "base/base.h"\n',
    ["csrc/core/routine.c"] = '#include "core/sched.h"\n#include "core/fiber.h"\n',
    ["csrc/lua/compat.h"] = "#if LUA_VERSION_NUM >= 504\n#endif\n#include <lua.h>\n",
    ["csrc/lua/world.c"] = '#include "lua/compat.h"\n#include "weft.h"\n',
    ["lua/weft/init.lua"] = 'local routine = require "weft.routine"\n',
    ["lua/weft/routine.lua"] = 'local core = require "weft.core"\n',
  }
end

local function write(root, path, text)
  assert(os.execute(("mkdir -p '%s/%s'"):format(root, path:match "^(.*)/")))
  local out = assert(io.open(root .. "/" .. path, "w"))
  out:write(text)
  out:close()
end

-- Checks the tree with `path` holding `text`; returns the exit status and the output.
local function check(path, text)
  local root = os.tmpname()
  os.remove(root)
  local files = tree()
  if path then files[path] = text end
  for name, content in pairs(files) do write(root, name, content) end
  local status, output = support.shell("scripts/layers " .. root)
  os.execute(("rm -r '%s'"):format(root))
  return status, output
end

local function refuses(path, text, message)
  local status, output = check(path, text)
  assert.equal(1, status)
  assert.is_not_nil(output:find(message, 1, true), output)
  assert.is_not_nil(output:find("layers: 1 breaches", 1, true), output)
end

describe("the layer check", function()
  it("passes a tree that keeps the rules", function()
    local status, output = check()
    assert.equal("layers: 12 files, no breach\n", output)
    assert.equal(0, status)
  end)

  it("refuses an include of a higher layer", function()
    refuses("csrc/core/heap.h", '#include "core/sched.h"\n',
      "csrc/core/heap.h:1: heap (layer 2) may not include sched (layer 3)")
    refuses("csrc/base/base.h", '\n#include "core/heap.h"\n', "csrc/base/base.h:2: base")
  end)

  it("keeps sched and fiber apart", function()
    refuses("csrc/core/sched_wait.c", '#include "core/fiber.h"\n', "sched (layer 3)")
    refuses("csrc/core/fiber.h", '#include "sched.h"\n', "fiber (layer 3)")
  end)

  it("lets jobs see fibers, and keeps jobs and sched apart", function()
    local status, output = check("csrc/core/jobs.c", '#include "core/fiber.h"\n')
    assert.equal("layers: 13 files, no breach\n", output)
    assert.equal(0, status)
    refuses("csrc/core/jobs.c", '#include "core/sched.h"\n', "jobs (layer 3) may not include sched")
  end)

  it("lets the binding see weft.h alone", function()
    refuses("csrc/lua/world.c", '#include "base/base.h"\n', "lua (layer 5) may not include base")
    refuses("csrc/lua/world.c", '#include "core/sched.h"\n', "may not include sched")
  end)

  it("keeps Lua out of the core", function()
    refuses("csrc/core/routine.c", "#include <lua.h>\n", "only csrc/lua knows Lua")
  end)

  it("keeps conditional compilation in its rooms", function()
    refuses("csrc/core/heap.h", "#ifdef __linux__\n#endif\n", "csrc/core/heap.h:1: #ifdef belongs")
    refuses("csrc/lua/world.c", "# if LUA_VERSION_NUM\n#endif\n", "#if belongs")
    refuses("csrc/core/routine.c", "#ifndef WEFT_ROUTINE_H\n#endif\n", "#ifndef belongs")
  end)

  it("refuses files that belong to no room and includes that lead nowhere", function()
    refuses("csrc/core/misc.c", "", "in no room")
    refuses("csrc/core/heap.h", '#include "gone.h"\n', 'cannot find the included file "gone.h"')
  end)

  it("refuses a ring of requires", function()
    refuses("lua/weft/routine.lua", 'local weft = require("weft")\n',
      "a ring of requires: weft -> weft.routine -> weft")
  end)
end)
