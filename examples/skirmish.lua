-- SPDX-License-Identifier: MIT
-- skirmish.lua - two companies fight for a simulated minute, without graphics; `make demo`.
-- Every soldier is one routine: straight-line code that walks, looks, strikes, and dies wherever
-- it happens to be waiting. The dice are our own, so the story is the same on every machine.
--
--   weft exec examples/skirmish.lua [--no-timings]

local weft = require "weft"
local routine = require "weft.routine"

local SOLDIERS, RESERVE, SQUAD, MEDICS = 180, 40, 20, 6 -- a side
local MINUTE, HZ = 60, 60
local REACH, STRIDE = 1.5, 2.2 -- metres, metres a second

local world = weft.world { capacity = 1024 }
local most = { pinned = 0, routines = 0 }

-- --- Dice and chronicle ---------------------------------------------------------------------

local seed = 20260
local function dice(sides)
  seed = seed * 16807 % 2147483647
  return math.floor(seed / 2147483647 * sides) + 1
end

local function tell(text, ...)
  print(("%6.1f s  " .. text):format(world.simTime, ...))
end

local firsts = {}
local function tellOnce(key, ...)
  if not firsts[key] then
    firsts[key] = true
    tell(...)
  end
end

-- --- The field ------------------------------------------------------------------------------

local function company(name, x, direction)
  return { name = name, x = x, direction = direction, standing = {}, took = 0, fell = 0, fled = 0,
    healed = 0, captains = {}, horn = weft.signal() }
end

local red, blue = company("Red", 0, 1), company("Blue", 45, -1)
red.foes, blue.foes = blue, red

local function distance(a, b)
  local dx, dy = a.x - b.x, a.y - b.y
  return math.sqrt(dx * dx + dy * dy)
end

local function leaveField(me, how)
  local list = me.side.standing
  local last = list[#list]
  list[me.place], last.place = last, me.place
  list[#list] = nil
  if #list == SOLDIERS * 2 / 3 then me.side.horn:fire() end
  me.gone = true
  me.side[how] = me.side[how] + 1
end

-- --- What a soldier does --------------------------------------------------------------------

-- The few foes that are closest now.
local function candidates(me)
  local near = {}
  for _, foe in ipairs(me.side.foes.standing) do
    local far, at = distance(me, foe), #near + 1
    while at > 1 and near[at - 1].far > far do at = at - 1 end
    if at <= 4 then
      table.insert(near, at, { foe = foe, far = far })
      near[5] = nil
    end
  end
  return near
end

-- Sizes the candidates up, a few ticks for each look, and returns the weakest of them. The looks
-- happen inside table.sort: the routine waits there, with the sort under way.
local function choose(me)
  local near = candidates(me)
  local function look(candidate)
    if not candidate.worth then
      routine.nextTick()
      candidate.worth = candidate.far + candidate.foe.health * 0.2
    end
    return candidate.worth
  end
  table.sort(near, function(a, b) return look(a) < look(b) end)
  return near[1] and near[1].foe
end

-- Walks up to the foe; false if one of them is gone before it gets there.
local function approach(me, foe)
  while not foe.gone do
    local far = distance(me, foe)
    if far <= REACH then return true end
    local step = math.min(STRIDE * routine.nextTick(), far) / far
    me.x, me.y = me.x + (foe.x - me.x) * step, me.y + (foe.y - me.y) * step
  end
  return false
end

-- Cancelling a soldier is what kills it: whatever it waits for ends here and its defer runs.
local function hit(me, foe)
  foe.health = foe.health - dice(10) - (me.captain and 3 or 0)
  if foe.health <= 0 and not foe.gone then
    foe.fate = "fell"
    tellOnce("blood", "first blood: %s's %s falls", foe.side.name, foe.title)
    routine.cancel(foe.handle)
  end
end

local function strike(me, foe)
  routine.wait(0.4 + dice(40) / 100)
  if foe.gone or distance(me, foe) > REACH * 2 then return end
  if dice(100) <= 55 then hit(me, foe) end
end

local function soldier(me)
  me.fate = "fled"
  routine.defer(function()
    leaveField(me, me.fate)
    if me.captain then tell("%s's %s %s", me.side.name, me.title, me.fate) end
  end)
  routine.wait(dice(300) / 100) -- nobody starts at the same moment
  while true do
    local foe = choose(me)
    if not foe then
      routine.wait(0.5)
    elseif approach(me, foe) then
      strike(me, foe)
    end
  end
end

-- --- Captains, medics, the reserve ----------------------------------------------------------

local function enlist(side, title, captain)
  local me = { side = side, title = title, captain = captain, health = captain and 60 or 30,
    x = side.x - side.direction * dice(100) / 10, y = dice(600) / 10 }
  side.took = side.took + 1
  side.standing[#side.standing + 1] = me
  me.place = #side.standing
  me.handle = assert(world:start(soldier, me))
  return me
end

local CRIES = { "Hold the line!", "With me, with me!", "Not one step back!", "For the river!" }

-- The cry is spoken letter by letter, from inside gsub.
local function cry(me, words)
  local begun = world.simTime
  local loud = words:gsub("%a", function(letter)
    routine.wait(0.06)
    return letter:upper()
  end)
  local took = world.simTime - begun
  tell('%s\'s %s: "%s" (in %.1f s)', me.side.name, me.title, loud, took)
end

local NAMES = {
  Red = { "Aldric", "Berta", "Corin", "Dagny", "Edda", "Falk", "Gisla", "Harald", "Ida" },
  Blue = { "Jorun", "Kettil", "Lova", "Magna", "Njord", "Olav", "Petra", "Runa", "Sten" },
}

-- A squad follows its captain; when he is gone, some of it has seen enough.
local function squad(side, number)
  local captain = enlist(side, "captain " .. NAMES[side.name][number], true)
  local men = {}
  for i = 1, SQUAD - 1 do men[i] = enlist(side, ("soldier %d.%d"):format(number, i)) end
  if number <= 2 then
    routine.wait(2 + number)
    cry(captain, CRIES[dice(#CRIES)])
  end
  routine.join(captain.handle)
  local runs = 0
  for _, man in ipairs(men) do
    if not man.gone and dice(100) <= 30 and routine.cancel(man.handle) then runs = runs + 1 end
  end
  if runs > 0 then tell("%s's squad %d loses heart: %d run", side.name, number, runs) end
end

local function mostHurt(side)
  local worst
  for _, man in ipairs(side.standing) do
    if man.health < 16 and not man.tended and (not worst or man.health < worst.health) then
      worst = man
    end
  end
  return worst
end

local function medic(side)
  while true do
    local man = mostHurt(side)
    if man then
      man.tended = true
      routine.wait(1.5)
      man.tended = nil
      if not man.gone then
        man.health = man.health + 12
        side.healed = side.healed + 1
      end
    end
    routine.wait(0.5)
  end
end

-- Marches when the horn tells that a third of the company is gone, or when it has waited too long.
local function reserve(side)
  side.horn:wait(45)
  tell("%s is down to %d: the reserve marches", side.name, #side.standing)
  for i = 1, RESERVE do
    enlist(side, ("reservist %d"):format(i))
    routine.wait(0.1)
  end
end

-- --- The minute -----------------------------------------------------------------------------

local function muster(side)
  for number = 1, SOLDIERS / SQUAD do world:start(squad, side, number) end
  for _ = 1, MEDICS do world:start(medic, side) end
  world:start(reserve, side)
end

world:on("postUpdate", function()
  local stats = world:stats()
  most.pinned = math.max(most.pinned, stats.pinned)
  most.routines = math.max(most.routines, stats.active)
end)

-- Sums where everybody stands, to the millimetre.
local function digest()
  local sum = 0
  for _, side in ipairs { red, blue } do
    for _, man in ipairs(side.standing) do
      sum = (sum * 31 + math.floor(man.x * 1000) * 7 + math.floor(man.y * 1000)) % 1000000007
    end
  end
  return sum
end

local function thousands(n)
  local text = ("%d"):format(n)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

local function report()
  print()
  print("         took the field   fell   fled   standing   treated")
  for _, side in ipairs { red, blue } do
    print(("  %-6s %14d %6d %6d %10d %9d"):format(side.name, side.took, side.fell, side.fled,
      #side.standing, side.healed))
  end
  local ahead = #red.standing - #blue.standing
  local winner = ahead == 0 and "nobody" or ahead > 0 and "Red" or "Blue"
  print(("\nAfter %d seconds %s holds the field; its digest is %d."):format(MINUTE, winner,
    digest()))
end

muster(red)
muster(blue)
tell("%d red and %d blue take the field", SOLDIERS, SOLDIERS)
world:owner():every(15, function()
  tell("%d red and %d blue stand", #red.standing, #blue.standing)
end, { count = 3 })
local begin = os.clock()
world:run { hz = HZ, ticks = MINUTE * HZ, speed = "max" }
local seconds = os.clock() - begin
report()

local stats = world:stats()
print(("%s routines, at most %d at once; %s resumes; at most %d waits at once inside sort or gsub.")
  :format(thousands(stats.started), most.routines, thousands(stats.resumed), most.pinned))
if arg[1] ~= "--no-timings" then
  print(("%s ticks in %.2f s on %s, %.0f times real time: %.0f ns a resume, the battle included.")
    :format(thousands(world.tickCount), seconds, jit and "LuaJIT" or _VERSION, MINUTE / seconds,
      seconds * 1e9 / stats.resumed))
end
-- Closing cancels whoever still fights; that is nobody's defeat, and the report is out.
tell = function() end
world:close()
