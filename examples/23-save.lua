-- SPDX-License-Identifier: MIT
-- 23-save.lua - routines and timers end with the process. What they are at is kept in tables: the
-- step, the moment on the game's own clock when it is over, what is left of a timer. The tables
-- are saved, and after reading routines and timers are started anew from them.
local weft = require "weft"
local routine, timer, save = weft.routine, weft.timer, weft.save

local world = weft.default()
local game, started

local function now() return game.clock + world.simTime - started end

local steps = { "kneaded", "risen", "baked" }

-- Goes on from wherever the loaf is.
local function bake(loaf)
  while steps[loaf.step] do
    loaf.due = loaf.due or now() + 2
    routine.wait(loaf.due - now())
    print(("%.0f s: %s"):format(now(), steps[loaf.step]))
    loaf.step, loaf.due = loaf.step + 1, nil
  end
end

local function ring() print(("%.0f s: the bell rings"):format(now())) end

local function play(state)
  game, started = state, world.simTime
  return routine.start(bake, game.loaf), game.bell and timer.after(game.bell, ring)
end

local path = os.tmpname()

routine.start(function()
  local baker, bell = play{ clock = 0, loaf = { step = 1 }, bell = 5 }
  routine.wait(3)
  local saving = save.write(path, {
    game = { clock = now(), loaf = game.loaf, bell = bell:alive() and bell:remaining() },
  })
  baker:cancel()
  bell:cancel()
  routine.await(saving)
  print "saved; good night"

  -- It could be another process, on another day.
  local sections, info = save.read(path)
  print("good morning", info.kept)
  play(sections.game)
  os.remove(path)
  os.remove(path .. ".kept")
end)

-- weft run --speed max examples/23-save.lua
--
-- Output:
-- 2 s: kneaded
-- saved; good night
-- good morning	false
-- 4 s: risen
-- 5 s: the bell rings
-- 6 s: baked
