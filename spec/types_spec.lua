-- SPDX-License-Identifier: MIT
-- What editors are told is what there is: the stubs name each function, method and number, no
-- more and no less, and every one has its example.

local support = require "support"
local core = require "weft.core"
local routine = require "weft.routine"
local worlds = require "weft.types"
local routines = require "weft.types_routine"
local owners = require "weft.types_owner"
local buffers = require "weft.types_buffer"
local jobs = require "weft.types_jobs"
local saves = require "weft.types_save"
local services = require "weft.types_service"
local events = require "weft.types_events"
local timers = require "weft.types_timer"
local pools = require "weft.types_pool"

-- Names of the functions of a table, sorted.
local function functions(of, without)
  local list = {}
  for name, value in pairs(of) do
    if type(value) == "function" and not (without and without[name]) then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

local function lines(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  return list
end

-- The fields of a class in a stub, sorted.
local function fields(path, class)
  local list, inside = {}, false
  for _, line in ipairs(lines(path)) do
    inside = line:match "^%-%-%-@class (%S+)" == class or inside and line:find "^%-%-%-" ~= nil
    local name = inside and line:match "^%-%-%-@field (%w+)"
    if name then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- What stands above each function of a file: name -> comment.
local function comments(path)
  local found, above = {}, {}
  for _, line in ipairs(lines(path)) do
    local name = line:match "^function ([%w.:]+)"
    if name then found[name] = table.concat(above, "\n") end
    if line:find "^%-%-%-" then above[#above + 1] = line else above = {} end
  end
  return found
end

describe("the stubs for editors", function()
  it("name the methods of worlds", function()
    assert.same(functions(core.worldMethods, { run = true }), functions(worlds.worldMethods))
  end)

  it("name the methods of handles", function()
    assert.same(functions(core.handleMethods), functions(routines.handle))
  end)

  it("name the methods of owners", function()
    assert.same(functions(core.ownerMethods), functions(owners.owner))
  end)

  it("name the methods of signals, channels and locks", function()
    for _, kind in ipairs { "signal", "channel", "mutex", "semaphore" } do
      assert.same(functions(core[kind .. "Methods"]), functions(events[kind]))
    end
  end)

  it("name the methods of buffers", function()
    local ptr = support.vm == "lua5.4" and { ptr = true } or nil -- only LuaJIT has it
    assert.same(functions(core.bufferMethods, ptr), functions(buffers.buffer, ptr))
  end)

  it("name the functions of weft.timer and the methods of timers", function()
    local timer = require "weft.timer"
    local handle = support.world():owner():after(1, print)
    assert.same(functions(timer), functions(timers.timer))
    assert.same(functions(getmetatable(handle).__index), functions(timers.handle))
  end)

  it("name the functions of weft.pool and the methods of pools", function()
    local pool = require "weft.pool"
    assert.same(functions(pool), functions(pools.pool))
    for name, methods in pairs(pool.methods) do
      assert.same(functions(methods), functions(pools[name]))
    end
  end)

  it("name the functions of weft.save", function()
    assert.same(functions(require "weft.save"), functions(saves))
  end)

  it("name the methods of scopes", function()
    assert.same(functions(core.scopeMethods), functions(routines.scope))
  end)

  it("name the functions of weft.jobs, the methods of jobs and barriers", function()
    assert.same(functions(require "weft.jobs"), functions(jobs.jobs))
    assert.same(functions(core.jobMethods), functions(jobs.job))
    assert.same(functions(core.barrierMethods), functions(jobs.barrier))
  end)

  it("name the functions of weft.service and weft.thread, and the methods", function()
    assert.same(functions(require "weft.service"), functions(services.services))
    assert.same(functions(require "weft.thread"), functions(services.threads))
    assert.same(functions(core.serviceMethods), functions(services.service))
    assert.same(functions(core.threadMethods), functions(services.thread))
    assert.same(functions(core.callMethods), functions(services.call))
  end)

  it("name the functions of weft.routine", function()
    local inLua = { configure = true, stats = true, await = true }
    assert.same(functions(routine, inLua), functions(routines.routine))
  end)

  it("name the numbers of stats", function()
    local names = {}
    for name in pairs(support.world():stats()) do names[#names + 1] = name end
    table.sort(names)
    assert.same(names, fields("lua/weft/types.lua", "weft.Stats"))
  end)

  it("name the options of worlds", function()
    local _, err = pcall(support.world, { nothing = 1 })
    local names = fields("lua/weft/types.lua", "weft.WorldOptions")
    assert.equal(8, #names)
    for _, name in ipairs(names) do assert.truthy(err:find(name, 1, true), name) end
  end)

  it("have an example for each function that scripts call", function()
    for _, file in ipairs { "types", "types_routine", "types_owner", "types_events", "types_buffer",
      "types_timer", "flow", "types_pool", "types_jobs", "types_save", "types_service", "jobs",
      "ffi", "columns", "routine", "run" } do
      for name, comment in pairs(comments("lua/weft/" .. file .. ".lua")) do
        if not name:find "^core%." or name == "core.world" or name == "core.default" then
          assert.truthy(comment:find "\n%-%-%-     %S", file .. ".lua: " .. name)
        end
      end
    end
  end)
end)
