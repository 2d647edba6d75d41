-- SPDX-License-Identifier: MIT
--
-- Random programs: what routines do, and what is done to their world from outside. A program is
-- plain data, so that it can be told twice, printed, and made smaller.
--
-- A statement is a table with its `op`, its numbers, and the statements below it as `body` and
-- `cleanup`; tell.lua carries it out. Numbers that choose a routine or an owner count round those
-- there are.

local newRandom = require "support.story.random"

local SECONDS = { 0, 0.1, 0.1, 0.25, 0.5, 1 / 3, 1 / 60, 1, 2, 7, 1e-9, 5e-7, 9e-7, 0.333333333 }
local TICKS = { 0, 0, 0.1, 0.1, 0.25, 1 / 3, 1 / 60, 1 / 144, 0.5, 1, 1e-9, 1e-6, 3, 3600 }
local SCALES = { 0, 0.25, 0.5, 1, 1, 2, 3 }
local WORLD_SCALES = { 0, 0.5, 1, 1, 1, 2, 1 / 3, 10 }
local WAYS = { "sort", "gsub", "wrap", "generator", "index", "iterator" }
local COMPACT = { index = true, iterator = true }

local make = {} -- by op; (g, place) -> statement

local generator = {}
generator.__index = generator

-- --- Statements --------------------------------------------------------------------------------

-- Where a statement stands: how deep, whether a bare yield could leave from there, and what may
-- not be there at all.
local function inside(place, changes)
  local new = { depth = place.depth + 1, pinned = place.pinned, closing = place.closing,
    shielded = place.shielded }
  for key, value in pairs(changes or {}) do new[key] = value end
  return new
end

function generator:statements(place, most)
  local list = {}
  for i = 1, self.random:from(1, most) do list[i] = self:statement(place) end
  return list
end

function generator:statement(place)
  local ops = place.ops or (place.depth >= 3 and self.flatOps or self.ops)
  local op = self.random:pick(ops)
  local statement = make[op](self, place)
  statement.op = op
  return statement
end

function generator:seconds()
  return self.random:pick(SECONDS)
end

function generator:timeout()
  return self.random:once(2) and self:seconds() or nil
end

function generator:who()
  return self.random:below(64)
end

function generator:several()
  local list = {}
  for i = 1, self.random:from(0, 4) do
    list[i] = self.options.signals and self.random:once(2) and -self:who() or self:who()
  end
  return list
end

local function seconds(g) return { seconds = g:seconds() } end
local function nothing() return {} end
local function target(g) return { who = g:who() } end
local function owner(g) return { owner = g:who() } end

make.wait, make.waitUnscaled = seconds, seconds
make.nextTick, make.isCancelled, make.owned = nothing, nothing, nothing
make.status, make.enable = target, owner

-- What ends much comes seldom, or little would be left to look at.
local function seldom(g) return { owner = g:who(), skipped = not g.random:once(3) or nil } end
make.disable, make.destroy = seldom, seldom

function make.waitUntil(g, place)
  local body = g.random:once(4) and g:statements(inside(place), 1) or {}
  return { calls = g.random:from(1, 5), timeout = g:timeout(), body = body }
end

function make.join(g) return { who = g:who(), timeout = g:timeout() } end
function make.any(g) return { list = g:several(), timeout = g:timeout() } end
make.all = make.any

function make.every(g, place)
  return { seconds = g:seconds(), count = g.random:once(3) and g.random:from(1, 6) or nil,
    turns = g.random:from(1, 4), body = g.random:once(2) and g:statements(inside(place), 2) or {} }
end

function make.slice(g) return { count = g.random:from(1, 3), turns = g.random:from(1, 5) } end

-- A yield of the script's own is one only where no C function stands in the way. Where Lua 5.4.4
-- closes a coroutine that yielded below a message handler, which a shield has, that is still set.
function make.bare(g, place)
  local stale = g.options.close and place.shielded
  return { skipped = place.pinned or place.closing or stale or nil }
end

function make.through(g, place)
  local way = g.random:pick(WAYS)
  local pinned = place.pinned or not COMPACT[way]
  return { way = way, body = g:statements(inside(place, { pinned = pinned }), 3) }
end

local function nested(g, place)
  return { body = g:statements(inside(place), 3) }
end
make.pcall, make.letThrough = nested, nested

function make.shield(g, place)
  return { body = g:statements(inside(place, { shielded = true }), 3) }
end

-- No bare yields in it: those of a function that its scope interrupts are not ended.
function make.scope(g, place)
  local children = {}
  for i = 1, g.random:from(0, 3) do children[i] = g:who() end
  local changes = { pinned = true, shielded = true }
  return { children = children, body = g:statements(inside(place, changes), 3) }
end

function make.guard(g, place)
  if not g.options.close then return { op = "pcall", body = g:statements(inside(place), 3) } end
  return { body = g:statements(inside(place), 3),
    cleanup = g:statements(inside(place, { closing = true }), 2) }
end

function make.defer(g, place)
  return { body = g:statements({ depth = place.depth + 1 }, 3) }
end

function make.swallow(g, place)
  return { turns = g.random:from(2, 14), body = g:statements(inside(place), 2) }
end

function make.loop(g, place)
  return { turns = g.random:from(2, 4), body = g:statements(inside(place), 2) }
end

function make.cancel(g) return { who = g:who(), reason = g.random:once(2) and g:who() or nil } end
function make.cancelSelf(g) return { skipped = not g.random:once(3) or nil } end
function make.start(g) return { which = g:who() } end
function make.startIn(g) return { which = g:who(), scope = g:who() } end
function make.cancelScope(g) return { scope = g:who() } end
function make.startOwned(g) return { which = g:who(), owner = g:who() } end
function make.newOwner(g) return { parent = g.random:once(2) and g:who() or nil } end
function make.setOwnerScale(g) return { owner = g:who(), scale = g.random:pick(SCALES) } end
function make.raise(g)
  return { error = g.random:below(9), skipped = not g.random:once(3) or nil }
end
function make.setPaused(g) return { on = g.random:once(5) } end
function make.setTimeScale(g) return { scale = g.random:pick(WORLD_SCALES) } end

function make.waitFor(g) return { signal = g:who(), timeout = g:timeout() } end
function make.fire(g) return { signal = g:who(), one = g.random:once(2) } end
function make.destroySignal(g)
  return { signal = g:who(), replaced = not g.random:once(8),
    skipped = not g.random:once(4) or nil }
end

local function callback(g)
  return g.random:once(2) and g:statements({ depth = 3, ops = g.callbackOps }, 2) or {}
end

function make.onDestroyed(g) return { owner = g:who(), body = callback(g) } end
function make.post(g) return { high = g.random:once(3), body = callback(g) } end

function make.system(g)
  local phase = g.random:pick { "preUpdate", "update", "postUpdate" }
  return { phase = phase, body = g:statements({ depth = 3, ops = g.callbackOps }, 1) }
end

function make.systemOff(g) return { which = g:who() } end

-- --- Which, and how often ----------------------------------------------------------------------

local FLAT = "wait wait wait nextTick nextTick waitUnscaled join join any all slice bare "
  .. "isCancelled status cancel cancel start raise raise cancelSelf"
local DEEP = "waitUntil every through through pcall pcall letThrough shield defer defer "
  .. "swallow loop"
local OWNERS = "startOwned startOwned owned newOwner newOwner destroy disable enable setOwnerScale "
  .. "onDestroyed"
local OWNERS_QUIETLY = "startOwned destroy disable newOwner"
local ON_ERROR = "start status cancel cancel"
local CALLBACK = "post raise"
local SCOPES = "startIn startIn cancelScope"
local SIGNALS = "waitFor waitFor waitFor fire fire destroySignal"
local OUTSIDE = "start start start cancel cancel status"
local OUTSIDE_OWNERS = "newOwner newOwner startOwned startOwned startOwned destroy disable enable "
  .. "setOwnerScale onDestroyed"

local function words(...)
  local list = {}
  for word in table.concat({ ... }, " "):gmatch "%S+" do list[#list + 1] = word end
  return list
end

local function chooseOps(g)
  local o = g.options
  local owners = o.owners and OWNERS or ""
  local posts = o.posts and "post" or ""
  local signals = o.signals and SIGNALS or ""
  local scopes = o.scopes and "scope scope scope scope" or ""
  local scoped = o.scopes and SCOPES or ""
  g.flatOps = words(FLAT, owners, posts, signals, scoped)
  g.ops = words(FLAT, DEEP, DEEP, owners, posts, signals, scopes, scoped,
    o.close and "guard guard guard" or "")
  local fire = o.signals and "fire" or ""
  g.onErrorOps = words(ON_ERROR, o.owners and OWNERS_QUIETLY or "")
  g.callbackOps = words(ON_ERROR, CALLBACK, fire, o.owners and OWNERS_QUIETLY or "",
    o.pauses and "setPaused" or "")
  g.outsideOps = words(OUTSIDE, fire, o.owners and OUTSIDE_OWNERS or "",
    o.pauses and "setPaused setPaused" or "", o.scales and "setTimeScale" or "",
    o.posts and "post post system systemOff" or "")
end

-- --- Steps from outside ------------------------------------------------------------------------

local function configuration(g)
  local random, given = g.random, {}
  if random:once(2) then given.capacity = random:from(1, 30) end
  if g.options.resumesPerTick and random:once(2) then given.resumesPerTick = random:from(1, 9) end
  if random:once(2) then given.postsPerTick = random:from(1, 4) end
  return { op = "configure", given = given }
end

local function outside(g)
  local op = g.random:pick(g.outsideOps)
  local statement = make[op](g, { depth = 3, ops = g.callbackOps })
  statement.op = op
  return statement
end

local function steps(g)
  local random, list = g.random, {}
  for _ = 1, g.options.ticks do
    for _ = 1, random:below(4) do list[#list + 1] = outside(g) end
    if g.options.unloads and random:once(25) then
      list[#list + 1] = { op = "unload", passes = random:from(1, 9) }
      list[#list + 1] = random:once(2) and configuration(g) or nil
    elseif g.options.unloads and random:once(40) then
      list[#list + 1] = configuration(g)
    end
    list[#list + 1] = { op = "tick", dt = random:pick(TICKS) }
  end
  return list
end

---A program by its seed.
---@param options table ticks; tasks, how many routines it may start; capacity, resumesPerTick; and
--- what else there is: close (to-be-closed variables), owners,
--- posts, pauses, scales, signals, unloads, scopes
return function(seed, options)
  local g = setmetatable({ random = newRandom(seed), options = options }, generator)
  chooseOps(g)
  local program = { seed = seed, capacity = options.capacity, tasks = options.tasks, bodies = {},
    resumesPerTick = options.resumesPerTick, postsPerTick = options.posts and 3 or nil }
  for i = 1, g.random:from(3, 7) do program.bodies[i] = g:statements({ depth = 0 }, 7) end
  program.onError = g:statements({ depth = 3, ops = g.onErrorOps }, 2)
  program.steps = steps(g)
  return program
end
