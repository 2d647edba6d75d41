-- SPDX-License-Identifier: MIT
--
-- waitUntil, every and slice while a debug hook lets other routines run between any two of their
-- instructions. In processes of their own: a hook is a matter of the whole VM on LuaJIT.

local support = require "support"

local PROGRAM = [[
  if jit then jit.off() end
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = 8 }
  local step = routine.slice { count = 3, ms = 1e12 }
  local perTick, most = {}, 0

  local function turns(period, count)
    local total = 0
    for n in routine.every(period, count) do total = total + n end
    return total
  end

  local function steps(count)
    for _ = 1, count do
      local tick = world.tickCount
      perTick[tick] = (perTick[tick] or 0) + 1
      step()
    end
    return count
  end

  local function interrupt()
    if routine.self() then routine.nextTick() end
  end

  local function body(hooked, answers)
    if hooked then debug.sethook(interrupt, "", %d) end
    answers[1] = turns(0.75, 12)
    answers[2] = turns(0, 5)
    answers[3] = tostring(routine.waitUntil(function() return false end, 2))
    answers[4] = select(2, routine.waitUntil(function() return nil end, 2))
    local start = world.simTime
    answers[5] = tostring(routine.waitUntil(function() return world.simTime > start + 2 end, 1e6))
    answers[6] = steps(10)
    if hooked then debug.sethook() end
    answers.done = true
  end

  local all = { {}, {}, {} }
  for i = 1, 3 do world:start(body, i == %d, all[i]) end
  for _ = 1, 20000 do
    if world:stats().active == 0 then break end
    world:tick(0.25)
  end
  for i = 1, 3 do print(table.concat(all[i], " "), tostring(all[i].done)) end
  for tick = 1, world.tickCount do most = math.max(most, perTick[tick] or 0) end
  print(most <= 5) -- three, and one for each of the others
  os.exit(0)
]]

describe("waits that come again, with a hook that waits #wait", function()
  for _, interval in ipairs { 1, 2, 3, 5, 7, 11, 50 } do
    it("every " .. interval .. " instructions, answer as without it", function()
      for hooked = 1, 3 do
        local status, output = support.child(PROGRAM:format(interval, hooked))
        assert.equal(("12 5 false timeout true 10\ttrue\n"):rep(3) .. "true\n", output)
        assert.equal(0, status)
      end
    end)
  end
end)
