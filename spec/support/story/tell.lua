-- SPDX-License-Identifier: MIT
--
-- Tells a program: carries it out over a world, weft's or the model's, and writes down what
-- happens, line by line. The statements are in waits.lua and calls.lua.

local function number(x) return ("%.12g"):format(x) end

local acts = {} -- by op; (story, who, statement)
require "support.story.waits"(acts, number)
require "support.story.calls"(acts, number)

local MAX_ERROR_CALLS = 6

local story = {}
story.__index = story

-- --- Words -------------------------------------------------------------------------------------

function story:value(v)
  if type(v) == "number" then return number(v) end
  if type(v) == "boolean" or v == nil then return tostring(v) end
  return self.api.describe(v)
end

function story:packed(list)
  local out = {}
  for i = 1, list.n do out[i] = self:value(list[i]) end
  return table.concat(out, " ")
end

function story:say(who, format, ...)
  self.lines[#self.lines + 1] = who .. ": " .. format:format(...)
end

function story:task(n)
  return self.tasks[1 + n % math.max(#self.tasks, 1)]
end

function story:owner(n)
  return self.owners[1 + n % math.max(#self.owners, 1)]
end

function story:signal(n)
  return self.signals[1 + n % #self.signals]
end

function story:scope(n)
  return self.scopes[1 + n % math.max(#self.scopes, 1)]
end

function story:run(who, list)
  for _, statement in ipairs(list) do
    if not statement.skipped then acts[statement.op](self, who, statement) end
  end
end

-- --- From outside ------------------------------------------------------------------------------

function acts.tick(self, who, s)
  self:say(who, "tick %s", number(s.dt))
  self:say(who, "resumed %d", self.api.tick(s.dt))
end

function acts.unload(self, who, s)
  local done, left = self.api.unload(s.passes)
  local names = {}
  for i, task in ipairs(left) do names[i] = tostring(self.index[task]) end
  self:say(who, "unload(%d): %s %s", s.passes, tostring(done), table.concat(names, " "))
end

function acts.configure(self, who, s)
  local ok, err = self.api.configure(s.given)
  self:say(who, "configure: %s", ok and "done" or self:value(err))
end

local COUNTS = { "active", "sleeping", "ready", "pinned", "resumed", "capacity", "started",
  "completed", "cancelled", "failed", "rejected", "posts" }

-- Everything that can be asked for: clocks, numbers, who waits for what, how each one stands.
function story:ask()
  local sim, real, ticks = self.api.times()
  self:say("time", "%s %s %d", number(sim), number(real), ticks)
  local stats, words = self.api.stats(), {}
  for i, name in ipairs(COUNTS) do words[i] = name .. " " .. number(stats[name]) end
  self:say("stats", "%s", table.concat(words, ", "))
  for _, entry in ipairs(self.api.inspect()) do
    self:say("inspect", "%s %s on %s in %s of %s, resumed %d", tostring(self.index[entry.id]),
      entry.status, tostring(entry.waitingOn), self:value(entry.wakesIn),
      tostring(entry.owner and self.ownerIndex[entry.owner]), entry.resumes)
  end
  self:askStatuses()
end

function story:askStatuses()
  local words = {}
  for i, task in ipairs(self.tasks) do words[i] = self.api.status(task) end
  self:say("status", "%s", table.concat(words, " "))
end

---Carries out one step of the program; the lines that it made.
function story:step(step)
  self.lines = {}
  self:run("outside", { step })
  self:ask()
  return self.lines
end

---The last step.
function story:close()
  self.lines = {}
  self.api.close()
  self:askStatuses()
  local lines = self.lines
  self.lines = {} -- what finalizers may still do is no part of the story
  return lines
end

local function onReport(self, task, err)
  self:say("onError", "%s %s", tostring(task and self.index[task]), self:value(err))
  if self.errorCalls == MAX_ERROR_CALLS then return end
  self.errorCalls = self.errorCalls + 1
  self:run("onError", self.program.onError)
end

---@param teller fun(options): table real.lua or modelled.lua
return function(program, teller)
  local self = setmetatable({ program = program, tasks = {}, index = {}, owners = {},
    ownerIndex = {}, signals = {},
    scopes = {}, subs = {}, posts = 0, fires = 0, lines = {}, errorCalls = 0,
  }, story)
  self.api = teller {
    capacity = program.capacity, resumesPerTick = program.resumesPerTick,
    report = function(task, err) onReport(self, task, err) end,
  }
  for i = 1, 3 do self.signals[i] = self.api.newSignal() end
  return self
end
