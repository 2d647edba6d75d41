-- SPDX-License-Identifier: MIT
-- logins.lua - how long a tick is in which somebody logs in: the password is checked by a service,
-- or in the routine itself.
--
-- usage: logins.lua service|routine MODULES, the folder of argon2.so (make examples)
--
-- Wall time of the ticks alone: that of the thread that others wait for.

local measure = require "measure"

package.cpath = arg[2] .. "/?.so;" .. package.cpath

local weft = require "weft"
local core = require "weft.core"
local routine = require "weft.routine"
local argon2 = require "argon2"

local TICKS = 60
local hash = argon2.hash("secret", "salt salt")
local world = weft.default()
local right, verify = 0, argon2.verify

if arg[1] == "service" then
  local service = weft.service{ inbox = TICKS, main = function()
    local own, argon2 = require "weft.service", require "argon2" -- luacheck: ignore 431
    for encoded, password in own.receive do own.reply(argon2.verify(encoded, password)) end
  end }
  function verify(...) return routine.await(assert(service:call(...))) end
end

local function login()
  if verify(hash, "secret") then right = right + 1 end
end

-- The median of ticks in which one login begins; then all of them end.
local times = {}
for i = 1, TICKS do
  world:start(login)
  local begin = core.clock()
  world:tick(1 / 60)
  times[i] = (core.clock() - begin) * 1e6
  core.sleepUntil(core.clock() + 0.002)
end
while world:stats().active > 0 do world:tick(0) end
world:close()
measure.check(right == TICKS, "%d of %d passwords were right", right, TICKS)
table.sort(times)
measure.print("us", times[TICKS / 2])
