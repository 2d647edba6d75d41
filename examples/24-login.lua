-- SPDX-License-Identifier: MIT
-- Passwords are checked by a service: a thread with a Lua state of its own. A check is made to be
-- slow, so the world may change while it runs: who asked looks again before acting on the answer.
--
--   make examples    # the module, argon2-module.c
--   scripts/weft exec examples/24-login.lua

local weft = require "weft"
local routine = require "weft.routine"

local here = arg[0]:match "^(.*)/" or "."
local mode = os.getenv "WEFT_MODE" or "release"
local vm = rawget(_G, "jit") and "luajit" or "lua5.4"
package.cpath = here .. "/../build/" .. mode .. "/examples/" .. vm .. "/?.so;" .. package.cpath

local world = weft.world{}
local accounts = {}

world:post(function() -- here the service becomes this world's
  local passwords = weft.service{ name = "passwords", inbox = 8, main = function()
    local service, argon2 = require "weft.service", require "argon2"
    for what, a, b in service.receive do service.reply(argon2[what](a, b)) end
  end }

  local function register(name, password)
    local call = assert(passwords:call("hash", password, "salt of " .. name))
    accounts[name] = { hash = routine.await(call) }
  end

  local function login(player, password)
    local account = accounts[player.name]
    local hash = account.hash -- what is looked at again afterwards
    local call, reason = passwords:call("verify", hash, password)
    if not call then return print(player.name, "try again later: " .. reason) end
    local right = routine.await(call)
    -- Ticks later.
    if player.gone then return end
    if accounts[player.name] ~= account or account.hash ~= hash then
      return print(player.name, "the account has changed, try again")
    end
    print(player.name, right and "welcome" or "wrong password")
  end

  routine.start(function()
    for _, name in ipairs { "ann", "bob", "cid", "dee" } do register(name, name .. "'s secret") end
    local players = {}
    for name in pairs(accounts) do players[name] = { name = name } end
    routine.start(login, players.ann, "ann's secret")
    routine.start(login, players.bob, "a guess")
    routine.start(login, players.cid, "cid's secret")
    routine.start(login, players.dee, "dee's secret")
    routine.nextTick()
    players.cid.gone = true                -- hung up while the thread was at it
    accounts.dee.hash = "set anew by mail" -- the old password must not do any more
  end)
end)

repeat world:tick(1 / 60) until world:stats().active == 0
world:close() -- stops the service

-- Output:
-- ann	welcome
-- bob	wrong password
-- dee	the account has changed, try again
