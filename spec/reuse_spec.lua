-- SPDX-License-Identifier: MIT
--
-- Slots, coroutines and stacks are used again and again: the next routine there begins as the first
-- one did, however the last one ended.

local support = require "support"
local routine = require "weft.routine"

local function never() return false end

-- Each leaves what it can, and ends in its own way once it is cancelled after its first tick.
local endings = {
  ["returned"] = function() return "result" end,
  ["failed"] = function() error("on purpose", 0) end,
  ["was cancelled in a wait"] = function() routine.wait(1e6) end,
  ["was cancelled under C functions"] = function()
    table.sort({ 2, 1 }, function() routine.wait(1e6) end)
  end,
  ["was cancelled in a coroutine of its own"] = function()
    coroutine.wrap(function() routine.wait(1e6) end)()
  end,
  ["was ended by force"] = function() while true do pcall(routine.wait, 1) end end,
  ["was ended by force under shields"] = function()
    local function deeper(n)
      if n == 0 then while true do pcall(routine.wait, 1) end end
      routine.shield(deeper, n - 1)
    end
    deeper(63)
  end,
  ["was ended at a bare yield"] = function() while true do coroutine.yield() end end,
  ["failed in a cleanup"] = function()
    routine.defer(function() error("cleanup", 0) end)
    error("body", 0)
  end,
  ["waited with a time limit"] = function() routine.waitUntil(never, 1e6) end,
  ["overflowed its stack"] = function()
    local function deep() return 1 + deep() end
    deep()
  end,
}

local function sortedNames(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- What a routine can see of itself when it begins.
local function look(seen, world)
  local entry = world:inspect()[1]
  seen.asked = { n = select("#", routine.isCancelled()), routine.isCancelled() }
  seen.owner, seen.name, seen.resumes = routine.owner(), entry.name, entry.resumes
  seen.hook = debug.gethook()
  seen.shields = 0
  local function deeper()
    seen.shields = seen.shields + 1
    if seen.shields < 63 then routine.shield(deeper) end
  end
  routine.shield(deeper)
  seen.slept = routine.wait(1)
end

local fresh = { asked = { n = 1, false }, resumes = 1, shields = 63, slept = 1 }

describe("a routine in the slot of one that", function()
  for _, name in ipairs(sortedNames(endings)) do
    it(name .. " begins blank", function()
      local world = support.world { capacity = 1 }
      local owner = world:owner()
      for _ = 1, 3 do
        local old = owner:start(function()
          routine.name "old"
          endings[name]()
        end)
        world:tick(0)
        old:cancel "the reason"
        if old:status() == "cancelling" then world:unload(12) end
        assert.equal(0, world:stats().active)
        local seen, cleaned = {}, nil
        local handle = world:start(function()
          routine.defer(function() cleaned = true end)
          look(seen, world)
        end)
        world:tick(0)
        assert.equal("sleeping", handle:status())
        world:tick(1)
        assert.same(fresh, seen)
        assert.is_true(cleaned)
        assert.equal("completed", handle:status())
        assert.is_nil((handle:error()))
        assert.equal("expired", old:status())
      end
      support.reports()
    end)
  end
end)
