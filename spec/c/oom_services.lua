-- SPDX-License-Identifier: MIT
--
-- What the specs of failing memory try with services and threads (oom_services_body.h). `before`
-- and `after` have memory; `services` and `threads` run while it fails.

local weft, routine = require "weft", require "weft.routine"
require "weft.service"

local scenario = {}
local world, service, calls, answers, news, finished

local function serve()
  local own = require "weft.service"
  local mark = ("x"):rep(1000000) -- see MARK
  for what, x in own.receive do
    if what == "post" then own.post("news", { x, mark and #mark }) end
    own.reply(x, { x, { x } })
  end
end

local function watch(x)
  local own = require "weft.thread"
  local mark = ("x"):rep(1000000)
  own.post("news", { x, #mark })
  own.wait(0)
end

function scenario.before()
  world = weft.world{ capacity = 8 }
  world.onError = report -- luacheck: ignore 113
  world:onPost("news", function(t)
    assert(t[2] == 1000000)
    news = news + 1
  end)
  service, calls, answers, news, finished = nil, {}, { 0, 0, 0 }, 0, false
end

-- Of the world, and so are its calls. Errors of what is called in a tick are those of who ticks.
local function within(fn)
  local ok, err = true, nil
  if not world:post(function() ok, err = pcall(fn) end) then error("not enough memory", 0) end
  world:tick(0)
  if not ok then error(err, 0) end
end

local function call(i, what)
  local made, reason = service:call(what, i)
  assert(made or reason == "closed", reason)
  calls[i] = made
  if made then
    world:start(function()
      local ok, x = pcall(routine.await, made)
      answers[i] = answers[i] + 1
      assert(not ok or x == i)
    end)
  end
end

function scenario.services()
  within(function() service = weft.service{ main = serve, inbox = 4 } end)
  within(function()
    call(1, "echo")
    call(2, "post")
    call(3, "echo")
  end)
  world:tick(0)
  for i = 1, 3 do
    if calls[i] then calls[i]:wait() end
  end
  world:tick(0)
  service:tryPost("post", 4)
  service:stop()
  service:join()
  world:tick(0)
  world:tick(0)
  finished = "services"
end

function scenario.threads()
  within(function() service = weft.thread(watch, { 1, { 2 } }) end)
  service:join()
  world:tick(0)
  finished = "threads"
end

-- Raises for what must not be; whether somebody was told.
function scenario.after()
  local said = false
  if service then
    service:stop()
    local ok, err = service:join()
    if not ok then
      assert(tostring(err):find "memory", err)
      said = true
    end
    assert(service:stats().open == 0 and service:stats().queued == 0)
  end
  for i = 1, 3 do
    local made = calls[i]
    if made then
      assert(made:wait())
      local ok, x, t = pcall(made.result, made)
      if ok then
        assert(x == i and t[2][1] == i, "another answer")
      else
        assert(tostring(x):find "memory", x)
        said = true
      end
    end
  end
  for _ = 1, 9 do world:tick(0) end
  assert(world:stats().active == 0, "a routine waits for ever")
  assert(world:stats().posts == 0, "a post is still counted")
  for i = 1, 3 do assert(answers[i] <= 1, "an answer too many") end
  world:close()
  return said
end

function scenario.complete()
  if finished == "threads" then return news == 1 end
  local all = finished == "services" and news == 2
  for i = 1, 3 do all = all and answers[i] == 1 and calls[i]:status() == "completed" end
  return all
end

return scenario
