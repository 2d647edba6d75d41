-- SPDX-License-Identifier: MIT
-- messages.lua - messages to owners, against a queue and tables of handlers by hand.
--
-- usage: messages.lua weft|hand send|broadcast N
--
-- N owners hear. `send` tells each of them once a tick, by one message each; `broadcast` tells all
-- of them by one. An operation is a handler called with two values.

local measure = require "measure"

local side, what, n = arg[1], arg[2], tonumber(arg[3])
local heard, sum, told = 0, 0, 0

local function hear(a, b)
  heard = heard + 1
  sum = sum + a + b
end

local sides = {}

function sides.weft()
  local weft = require "weft"
  local world = weft.world {}
  local owners = {}
  for i = 1, n do
    owners[i] = world:owner()
    owners[i]:on("hit", hear)
    owners[i]:on("other", error)
  end
  local function send() for i = 1, n do world:send(owners[i], "hit", i, 1) end end
  local function broadcast() world:broadcast("hit", 1, 1) end
  return what == "send" and send or broadcast, function() world:tick(0) end
end

-- What a script does without: no ends of owners to mind, no failing handlers, two values at most.
function sides.hand()
  local owners, queue, count = {}, {}, 0
  for i = 1, n do owners[i] = { hit = { hear }, other = { error } } end
  local function put(to, a, b)
    queue[count + 1], queue[count + 2], queue[count + 3], queue[count + 4] = to, "hit", a, b
    count = count + 4
  end
  local function tell(owner, name, a, b)
    local handlers = owner[name]
    for i = 1, handlers and #handlers or 0 do pcall(handlers[i], a, b) end
  end
  local function tick()
    for i = 1, count, 4 do
      local to, name, a, b = queue[i], queue[i + 1], queue[i + 2], queue[i + 3]
      if to then
        tell(to, name, a, b)
      else
        for k = 1, n do tell(owners[k], name, a, b) end
      end
    end
    count = 0
  end
  local function send() for i = 1, n do put(owners[i], i, 1) end end
  local function broadcast() put(false, 1, 1) end
  return what == "send" and send or broadcast, tick
end

local send, tick = sides[side]()
local ns = measure.loop(n, function(rounds)
  for _ = 1, rounds do
    send()
    tick()
  end
  told = told + rounds
end)
local each = what == "send" and n * (n + 1) / 2 + n or 2 * n
measure.check(heard == told * n and sum == told * each, "%d of %d were told", heard, told * n)
measure.print("ns", ns)
