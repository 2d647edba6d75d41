-- SPDX-License-Identifier: MIT
--
-- Owners: who starts what, who ends with whom, and what a dead one answers.

local support = require "support"
local routine = require "weft.routine"

-- A body that waits for ever and notes its end.
local function stayer(log)
  return function(name)
    routine.defer(function() log[#log + 1] = name end)
    routine.wait(1e6)
  end
end

describe("an owner", function()
  it("starts routines that know it", function()
    local world = support.world()
    local owner = world:owner()
    local seen, args = {}, nil
    owner:start(function(...) args = { ... } seen[1] = routine.owner() end, 1, "two")
    routine.startOwned(owner, function() seen[2] = routine.owner() end)
    world:start(function() seen[3] = routine.owner() == nil end)
    world:tick(0)
    assert.same({ 1, "two" }, args)
    assert.equal(owner, seen[1])
    assert.equal(owner, seen[2])
    assert.is_true(seen[3])
  end)

  it("does not own what its routines start", function()
    local world = support.world()
    local owner = world:owner()
    local handle
    owner:start(function() handle = world:start(function() routine.wait(5) end) end)
    support.settle(2)
    owner:destroy()
    world:tick(0)
    assert.equal("sleeping", handle:status())
  end)

  it("never runs a routine inline", function()
    local world = support.world()
    local ran = false
    local handle = world:owner():start(function() ran = true end)
    assert.is_false(ran)
    assert.equal("queued", handle:status())
  end)

  it("is one object wherever it is asked for, also when all had forgotten it", function()
    local world = support.world()
    local owner = world:owner()
    local found = {}
    for i = 1, 2 do
      owner:start(function()
        routine.wait(i)
        found[i] = routine.owner()
      end)
    end
    world:tick(0)
    support.collect()
    world:tick(1)
    assert.equal(owner, found[1])
    owner, found[1] = nil, nil -- luacheck: ignore
    support.collect()
    world:tick(1)
    assert.is_true(found[2]:alive())
    assert.truthy(tostring(found[2]):match "^weft.Owner: %d+%.%d+ %(alive%)$")
  end)

  it("lives on when nobody holds it", function()
    local world = support.world()
    local turns = 0
    world:owner():start(function() while true do turns = turns + 1 routine.nextTick() end end)
    for _ = 1, 5 do
      support.collect()
      world:tick(0)
    end
    assert.equal(5, turns)
  end)

  it("is told by world:inspect", function()
    local world = support.world()
    local owner = world:owner()
    owner:start(function() routine.wait(3) end)
    world:start(function() routine.wait(3) end)
    owner:setTimeScale(2)
    world:tick(0)
    world:tick(1)
    local list = world:inspect()
    assert.equal(owner, list[1].owner)
    assert.is_nil(list[2].owner)
    assert.equal(1, list[1].wakesIn)
    owner:setTimeScale(0)
    list = world:inspect()
    assert.equal("time", list[1].waitingOn)
    assert.equal(1, list[1].wakesIn)
  end)

  it("outlives a configure of its world", function()
    local world = support.world()
    local owner = world:owner()
    world:configure{ capacity = 4 }
    assert.is_true(owner:alive())
    local got
    owner:start(function() got = routine.owner() end)
    world:tick(0)
    assert.equal(owner, got)
  end)

  it("may be one of very many", function()
    local world = support.world()
    local owners = { world:owner() }
    for i = 2, 3000 do owners[i] = world:owner(owners[i - 1]) end
    local log = {}
    owners[3000]:start(stayer(log), "deep")
    world:tick(0)
    owners[1]:destroy()
    world:tick(0)
    assert.same({ "deep" }, log)
    for i = 1, 3000 do assert.is_false(owners[i]:alive()) end
  end)
end)

describe("owner:destroy", function()
  it("cancels what it owns in order, its children's after its own, and nobody else's", function()
    local world = support.world()
    local log = {}
    local stay = stayer(log)
    local top, other = world:owner(), world:owner()
    local left, right = world:owner(top), world:owner(top)
    right:start(stay, "right")
    left:start(stay, "left")
    top:start(stay, "top 1")
    world:owner(left):start(stay, "below left")
    top:start(stay, "top 2")
    local kept = other:start(stay, "other")
    world:tick(0)
    assert.is_true(top:destroy())
    assert.same({}, log)
    world:tick(0)
    assert.same({ "top 1", "top 2", "left", "below left", "right" }, log)
    assert.is_false(left:alive())
    assert.is_true(other:alive())
    assert.equal("sleeping", kept:status())
  end)

  it("never enters what had not begun", function()
    local world = support.world()
    local ran = false
    local owner = world:owner()
    local handle = owner:start(function() ran = true end)
    owner:destroy()
    assert.equal("cancelled", handle:status())
    world:tick(0)
    assert.is_false(ran)
  end)

  it("answers false from the second time on, and its parent's does too", function()
    local world = support.world()
    local top = world:owner()
    local child = world:owner(top)
    assert.is_true(child:destroy())
    assert.is_false(child:destroy())
    assert.is_true(top:destroy())
    assert.is_false(top:destroy())
    assert.is_false(child:destroy())
  end)

  it("leaves the parent and its other children alone", function()
    local world = support.world()
    local top = world:owner()
    local a, b = world:owner(top), world:owner(top)
    a:destroy()
    assert.is_true(top:alive())
    assert.truthy(b:start(function() end))
    assert.truthy(top:start(function() end))
  end)

  it("from its own routine ends that at its next wait", function()
    local world = support.world()
    local owner = world:owner()
    local log = {}
    local handle = owner:start(function()
      routine.defer(function() log[#log + 1] = "cleaned" end)
      assert.is_true(owner:destroy())
      log[#log + 1] = tostring(owner:alive())
      log[#log + 1] = tostring(routine.isCancelled())
      assert.is_false(owner:destroy())
      routine.wait(1)
      log[#log + 1] = "not here"
    end)
    local sibling = owner:start(function() log[#log + 1] = "nor here" end)
    world:tick(0)
    assert.same({ "false", "true", "cleaned" }, log)
    assert.equal("cancelled", handle:status())
    assert.equal("cancelled", sibling:status())
  end)

  it("from its own routine that then returns leaves it completed", function()
    local world = support.world()
    local owner = world:owner()
    local handle = owner:start(function() owner:destroy() return 1 end)
    world:tick(0)
    assert.equal("completed", handle:status())
  end)

  it("from a sibling in the same tick comes before that one's turn", function()
    local world = support.world()
    local owner = world:owner()
    local log = {}
    owner:start(function() routine.wait(1) owner:destroy() log[#log + 1] = "first" end)
    owner:start(function()
      local _, err = pcall(routine.wait, 1)
      log[#log + 1] = tostring(err == routine.Cancelled)
    end)
    world:tick(0)
    world:tick(1)
    assert.same({ "first" }, log)
    world:tick(0)
    assert.same({ "first", "true" }, log)
  end)

  it("works from a cleanup of its routine", function()
    local world = support.world()
    local owner = world:owner()
    local ended = 0
    owner:onDestroyed(function() ended = ended + 1 end)
    local handle = owner:start(function()
      routine.defer(function() owner:destroy() end)
      routine.wait(1)
    end)
    owner:start(function() routine.wait(100) end)
    world:tick(0)
    handle:cancel()
    support.settle(3)
    assert.equal(1, ended)
    assert.equal(0, world:stats().active)
  end)

  it("works while the world is paused", function()
    local world = support.world()
    local log = {}
    local owner = world:owner()
    owner:start(stayer(log), "gone")
    world:tick(0)
    world:pause()
    owner:destroy()
    world:tick(1)
    assert.same({ "gone" }, log)
  end)

  it("works from a system, a post and a routine of another world", function()
    local other = support.world()
    local world = support.world()
    local owners = { world:owner(), world:owner(), world:owner() }
    for _, owner in ipairs(owners) do owner:start(function() routine.wait(9) end) end
    world:tick(0)
    local sub = world:on("update", function() owners[1]:destroy() end)
    world:post(function() owners[2]:destroy() end)
    other:start(function() owners[3]:destroy() end)
    other:tick(0)
    world:tick(0)
    sub:off()
    assert.equal(0, world:stats().active)
  end)
end)

describe("a destroyed owner", function()
  it("starts nothing, has no children, and says so", function()
    local world = support.world()
    local owner = world:owner()
    local ran = false
    owner:destroy()
    for _, result in ipairs {
      { owner:start(function() ran = true end) },
      { routine.startOwned(owner, function() ran = true end) },
      { world:owner(owner) },
      { owner:setTimeScale(2) },
    } do
      assert.is_nil(result[1])
      assert.equal("destroyed", result[2])
    end
    assert.is_false(owner:disable())
    assert.is_false(owner:enable())
    assert.is_false(owner:alive())
    world:tick(0)
    assert.is_false(ran)
    assert.equal(0, world:stats().started)
    assert.truthy(tostring(owner):find "destroyed")
  end)

  it("refuses in a routine's cleanup and in onDestroyed", function()
    local world = support.world()
    local owner = world:owner()
    local why = {}
    owner:start(function()
      routine.defer(function() why[1] = select(2, owner:start(print)) end)
      routine.wait(5)
    end)
    owner:onDestroyed(function() why[2] = select(2, owner:start(print)) end)
    world:tick(0)
    owner:destroy()
    world:tick(0)
    assert.same({ "destroyed", "destroyed" }, why)
  end)

  it("is not confused with the one that has its slot next", function()
    local world = support.world()
    local old = world:owner()
    old:destroy()
    local fresh, ran = {}, 0
    for i = 1, 20 do fresh[i] = world:owner() end
    for _, owner in ipairs(fresh) do owner:start(function() ran = ran + 1 end) end
    assert.is_false(old:alive())
    assert.is_false(old:destroy())
    assert.is_false(old:disable())
    assert.equal("destroyed", select(2, old:start(print)))
    assert.equal("destroyed", select(2, old:setTimeScale(0)))
    world:tick(0)
    assert.equal(20, ran)
    for _, owner in ipairs(fresh) do assert.is_true(old ~= owner and owner:alive()) end
  end)
end)

describe("owner:disable", function()
  it("cancels its routines and its children's, and starts none", function()
    local world = support.world()
    local log = {}
    local top = world:owner()
    local child = world:owner(top)
    child:start(stayer(log), "child")
    top:start(stayer(log), "top")
    world:tick(0)
    assert.is_true(top:disable())
    assert.is_false(top:disable())
    assert.is_true(top:alive())
    world:tick(0)
    assert.same({ "top", "child" }, log)
    assert.same({ nil, "disabled" }, { top:start(print) })
    assert.same({ nil, "disabled" }, { child:start(print) })
    assert.same({ nil, "disabled" }, { world:owner(child):start(print) })
  end)

  it("ends with enable, which restarts nothing", function()
    local world = support.world()
    local owner = world:owner()
    local runs = 0
    owner:start(function() runs = runs + 1 routine.wait(1) runs = runs + 1 end)
    world:tick(0)
    owner:disable()
    assert.is_true(owner:enable())
    assert.is_false(owner:enable())
    support.ticks(3)
    assert.equal(1, runs)
    owner:start(function() runs = runs + 1 end)
    world:tick(0)
    assert.equal(2, runs)
  end)

  it("counts for a child until both are enabled", function()
    local world = support.world()
    local top = world:owner()
    local child = world:owner(top)
    top:disable()
    child:disable()
    top:enable()
    assert.truthy(top:start(function() end))
    assert.equal("disabled", select(2, child:start(print)))
    child:enable()
    assert.truthy(child:start(function() end))
  end)

  it("from its own routine ends that at its next wait", function()
    local world = support.world()
    local owner = world:owner()
    local passed = false
    local handle = owner:start(function()
      owner:disable()
      routine.nextTick()
      passed = true
    end)
    world:tick(0)
    assert.equal("cancelled", handle:status())
    assert.is_false(passed)
    assert.is_true(owner:alive())
  end)

  it("does not keep it from being destroyed", function()
    local world = support.world()
    local owner = world:owner()
    local ended = false
    owner:onDestroyed(function() ended = true end)
    owner:disable()
    owner:destroy()
    assert.is_true(ended)
    assert.equal("destroyed", select(2, owner:start(print)))
  end)
end)

describe("owners when scripts are loaded anew", function()
  it("let go of everything the old script started", function()
    local world = support.world()
    local n, env, old = 0, nil, nil
    local function script(owner)
      old = old or owner:start(function() while true do n = n + 1 routine.wait(1) end end)
      owner:start(function() while true do n = n + 1 routine.wait(1) end end)
    end
    for _ = 1, 5 do
      if env then env:destroy() end
      env = world:owner()
      script(env)
      world:tick(0)
    end
    n = 0
    support.ticks(3)
    assert.equal(3, n)
    assert.equal("cancelled", old:status())
  end)
end)
