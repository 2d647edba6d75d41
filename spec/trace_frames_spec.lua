-- SPDX-License-Identifier: MIT
--
-- The traces of reports, frame by frame: the same on both machines, all of the script's own, and of
-- weft what the script has called, never what stands behind it.

local support = require "support"
local routine = require "weft.routine"

-- The frames of the one report that comes of `body` in 12 ticks, cancelled after the first; frames
-- of this file as "here", with their line counted from that of `body`.
local function framesOf(body, ...)
  local world = support.world()
  local first, before = debug.getinfo(body, "S").linedefined, #support.reports()
  local handle = world:start(body, ...)
  world:tick(0)
  handle:cancel()
  for _ = 1, 12 do world:tick(1) end
  local reports = support.reports()
  assert.equal(before + 1, #reports)
  local trace = reports[before + 1].trace
  local text = trace:gsub("[^\n\t<]*trace_frames_spec%.lua:(%d+)", function(line)
    return "here:" .. line - first
  end)
  local frames = {}
  for frame in text:gmatch "\n\t([^\n]*)" do frames[#frames + 1] = frame end
  return frames
end

describe("the frames of a trace", function()
  it("are the script's, and the function of weft that refused", function()
    assert.same({ "[C]: in function 'weft.routine.wait'", "here:1: in function <here:0>" },
      framesOf(function()
        routine.wait(-1)
      end))
    assert.same({ "[C]: in function 'weft.routine.join'", "here:1: in function <here:0>" },
      framesOf(function()
        routine.join(5)
      end))
    assert.same({ "[C]: in function 'weft.routine.every'", "here:1: in function <here:0>" },
      framesOf(function()
        routine.every(-1)
      end))
  end)

  it("show a condition between waitUntil and its failure", function()
    assert.same({ "[C]: in function 'error'", "here:1: in local 'pred'",
      "[C]: in function 'weft.routine.waitUntil'", "here:1: in function <here:0>" },
      framesOf(function()
        routine.waitUntil(function() error "pred" end)
      end))
    assert.same({ "[C]: in function 'error'", "[C]: in function 'weft.routine.waitUntil'",
      "here:1: in function <here:0>" },
      framesOf(function()
        routine.waitUntil(error)
      end))
  end)

  it("show a shield as one function, also under C functions of others", function()
    assert.same({ "[C]: in function 'error'", "here:4: in function <here:2>",
      "[C]: in function 'weft.routine.shield'", "here:2: in function <here:1>",
      "[C]: in function 'table.sort'", "here:1: in function <here:0>" },
      framesOf(function()
        table.sort({ 2, 1 }, function()
          routine.shield(function()
            pcall(routine.wait, 0)
            error "shielded"
          end)
        end)
      end))
  end)

  it("show where a swallower waits, however it waits", function()
    assert.same({ "[C]: in function 'weft.routine.wait'", "[C]: in function 'pcall'",
      "here:1: in function <here:0>" },
      framesOf(function()
        while true do pcall(routine.wait, 1) end
      end))
    assert.same({ "[C]: in function 'weft.routine.nextTick'",
      "[C]: in function 'weft.routine.waitUntil'", "[C]: in function 'pcall'",
      "here:2: in function <here:0>" },
      framesOf(function()
        local function never() end
        while true do pcall(routine.waitUntil, never) end
      end))
  end)

  it("show one that swallows under C functions", function()
    local enough = false
    assert.same({ "[C]: in function 'weft.routine.wait'", "[C]: in function 'pcall'",
      "here:3: in function <here:1>", "[C]: in function 'table.sort'",
      "here:1: in function <here:0>" },
      framesOf(function()
        table.sort({ 2, 1 }, function()
          for turn = 1, 11 do
            pcall(routine.wait, 1)
            enough = turn
          end
          return false
        end)
      end))
    assert.equal(11, enough)
  end)

  it("are those of a C function that is itself the routine", function()
    assert.same({ "[C]: in function 'error'" }, framesOf(error, "on purpose"))
  end)

  it("of a system end where the world was ticked", function()
    local world = support.world()
    world:on("update", function() error "system" end)
    world:tick(0)
    local trace = support.reports()[1].trace
    assert.truthy(trace:find("^stack traceback:\n\t%[C%]: in function 'error'\n\t[^\n]*in "
      .. "function <[^\n]*>\n\t%[C%]: in method 'tick'\n"), trace)
  end)

  it("are left out of the middle of a long trace only", function()
    local function dig(n)
      if n == 0 then error "deep" end
      return 1 + dig(n - 1)
    end
    local frames = framesOf(function() return dig(100) + 1 end)
    assert.equal(25, #frames)
    assert.equal("[C]: in function 'error'", frames[1])
    assert.equal("...\t(skipping " .. 103 - 24 .. " levels)", frames[13])
    assert.equal("here:0: in function <here:0>", frames[25])
  end)
end)
