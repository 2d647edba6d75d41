-- SPDX-License-Identifier: MIT
--
-- Thousands of random programs, told by weft and by a slow, obvious model of it, step by step:
-- every event, every result, every number and every status must be the same.
--
-- A failure names its seed and the command that repeats it, and prints the program, made as small
-- as can be. WEFT_SEED=n runs that seed alone; WEFT_PROGRAMS=n so many programs of each kind, from
-- WEFT_SEED on if that is given, too.

local support = require "support"
local duel = require "support.story.duel"
local makeProgram = require "support.story.program"

local FIRST = tonumber(os.getenv "WEFT_SEED")
local mode = os.getenv "WEFT_MODE" or "release"

local function howMany()
  local asked = tonumber(os.getenv "WEFT_PROGRAMS")
  if asked then return asked end
  if FIRST then return 1 end
  if support.stress then return 5 end
  return support.plain and 100 or 12
end

-- The name that scripts/test has for this run of this file.
local function part()
  local label = support.vm
  if mode ~= "release" then label = label .. "-" .. mode end
  if os.getenv "WEFT_JIT" == "off" then label = label .. "-joff" end
  if support.stress then label = label .. "-gc" end
  return ("specs/%s%s/model_spec"):format(label,
    os.getenv "WEFT_HOTLOOP" and "-hotloop" .. os.getenv "WEFT_HOTLOOP" or "")
end

local function fail(seed, problem, program)
  duel.shrink(program)
  error(("seed %d, %s\n\nthe same with less:\n%s\n%s\n\nagain: make test PART='%s' WEFT_SEED=%d")
    :format(seed, problem, duel.print(program), duel.run(program) or "", part(), seed), 0)
end

local function compare(options)
  local first = FIRST or 1
  for seed = first, first + howMany() - 1 do
    local program = makeProgram(seed, options(seed))
    local problem = duel.run(program)
    if problem then fail(seed, problem, program) end
  end
end

local canClose = support.vm == "lua5.4"

describe("random programs run as the model says", function()
  it("with every kind of wait and cancel", function()
    compare(function(seed)
      return { ticks = 20, tasks = 40, capacity = 4 + seed % 37, close = canClose,
        pauses = seed % 2 == 0, scales = seed % 3 == 0, signals = seed % 4 > 0 }
    end)
  end)

  it("with a budget, few places, and posts", function()
    compare(function(seed)
      return { ticks = 30, tasks = 60, capacity = 2 + seed % 17, resumesPerTick = 1 + seed % 9,
        posts = true, pauses = true, unloads = true, signals = true }
    end)
  end)

  it("with owners and their clocks", function()
    compare(function(seed)
      return { ticks = 25, tasks = 50, capacity = 5 + seed % 41, close = canClose and seed % 2 == 0,
        owners = true, scales = true }
    end)
  end)

  it("with scopes", function()
    compare(function(seed)
      return { ticks = 20, tasks = 40, capacity = 4 + seed % 37, scopes = true,
        signals = seed % 2 == 0, owners = seed % 3 == 0 }
    end)
  end)

  it("with everything at once", function()
    compare(function(seed)
      return { ticks = 40, tasks = 80, capacity = 6 + seed % 60, close = canClose, owners = true,
        posts = true, pauses = true, scales = true, unloads = true, signals = true,
        resumesPerTick = seed % 3 == 0 and 1 + seed % 12 or nil }
    end)
  end)
end)

-- A digest of all lines of some long programs: too long where everything is collected all the time,
-- which changes no line of the shorter ones above.
if support.stress then return end

local function digest()
  local sum, count = 0, 0
  for seed = 1, 4 do
    local program = makeProgram(seed, { ticks = 150, tasks = 400, capacity = 60, owners = true,
      posts = true, pauses = true, scales = true, signals = true, resumesPerTick = 20 })
    local problem = duel.run(program, function(lines)
      for _, line in ipairs(lines) do
        count = count + 1
        for i = 1, #line do sum = (sum * 31 + line:byte(i)) % 1000000007 end
      end
    end)
    assert(not problem, problem)
  end
  return count .. " " .. sum
end

describe("a long random program", function()
  it("goes the same way on every machine and in every run", function()
    local first = digest()
    assert.equal("73922 990648009", first)
    assert.equal(first, digest())
  end)
end)
