-- SPDX-License-Identifier: MIT
--
-- What services post to their world, and when the world hears of it; and threads.

local support = require "support"
local services = require "support.services"
local weft = require "weft"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local serve, ask = services.serve, services.ask
local raises = support.raises

-- Posts what it is told to, and answers once that is on its way.
local function poster()
  local service = require "weft.service"
  for count, x in service.receive do
    local posted = 0
    for i = 1, count do
      if service.post("news", i, x) then posted = posted + 1 end
    end
    service.reply(posted)
  end
end

describe("service.post", function()
  it("is heard in stage 2, by all who listen, in order", function()
    local world = support.world{}
    local heard = {}
    local sub = world:onPost("news", function(i, x) heard[#heard + 1] = { i, x.y } end)
    world:onPost("news", function(i) heard[#heard + 1] = -i end)
    world:on("preUpdate", function() heard[#heard + 1] = "preUpdate" end)
    local service = serve(poster)
    heard = {}
    assert.equal(2, ask(service, 2, { y = "z" }))
    assert.same({}, heard)
    world:tick(0)
    assert.same({ { 1, "z" }, -1, { 2, "z" }, -2, "preUpdate" }, heard)
    assert.is_true(sub:off())
    heard = {}
    ask(service, 1)
    world:tick(0)
    assert.same({ -1, "preUpdate" }, heard)
  end)

  it("counts in the budget of posts, as answers do", function()
    local world = support.world{ postsPerTick = 3 }
    local heard = 0
    world:onPost("news", function() heard = heard + 1 end)
    local service = serve(poster)
    local call = service:call(5)
    assert(call:wait())
    local got
    world:start(function() got = routine.await(service:call(0)) end)
    world:tick(0)
    assert.equal(3, heard)
    world:tick(0)
    assert.equal(5, heard)
    while not got do world:tick(0) end
    assert.equal(0, got)
  end)

  it("is refused when a thousand and twenty-four are under way", function()
    local world = support.world{}
    local service = serve(poster)
    assert.equal(1024, ask(service, 1030))
    world:tick(0)
    assert.equal(128, world:stats().dropped) -- the budget
    assert.equal(128, ask(service, 200))
  end)

  it("is counted as dropped where nobody listens", function()
    local world = support.world{}
    local service = serve(poster)
    ask(service, 3)
    world:tick(0)
    assert.equal(3, world:stats().dropped)
  end)

  it("reports a listener that fails, and the others hear it", function()
    local world = support.world{}
    local heard = 0
    world:onPost("news", function() error "deaf" end)
    world:onPost("news", function() heard = heard + 1 end)
    ask(serve(poster), 1)
    world:tick(0)
    assert.equal(1, heard)
    assert.equal(1, #support.reports())
    assert.truthy(support.reports()[1].err:find "deaf")
    assert.truthy(support.reports()[1].trace:find "service_post_spec")
  end)

  it("may start routines, and stop the service that has posted", function()
    local world = support.world{}
    local service = serve(poster)
    local ran
    world:onPost("news", function()
      service:stop()
      routine.start(function() ran = routine.world() end)
    end)
    ask(service, 1)
    world:tick(0)
    assert.is_true(service:join())
    assert.equal(world, ran)
  end)

  it("is refused once the world is closed", function()
    local world = support.world{}
    local gate = jobs.barrier(1)
    local service = support.within(weft.service, { drain = 0, args = { gate }, main = function(g)
      local own = require "weft.service"
      g:wait()
      local posted, reason = own.post "news"
      error{ posted, reason }
    end })
    world:close()
    assert.truthy(support.reports()[1].err:find "still runs")
    gate:release()
    assert.same({ false, { false, "closed" } }, { service:join() })
  end)

  it("refuses what is no name and what cannot cross", function()
    local world = support.world{}
    local service = serve(function()
      local own = require "weft.service"
      for _ in own.receive do
        own.reply(tostring(select(2, pcall(own.post, 5))),
          tostring(select(2, pcall(own.post, "x", coroutine.create(print)))))
      end
    end)
    local first, second = ask(service, 1)
    assert.truthy(first:find "service.post: a name expected, got 5")
    assert.truthy(second:find "weft.service: argument 2 %(thread%) cannot leave a service")
    raises("world:onPost: a name expected, got nil", world.onPost, world)
    raises("world:onPost: a function expected, got string", world.onPost, world, "x", "y")
  end)
end)

describe("weft.thread", function()
  it("runs a function on a thread of its own, until it is told to stop", function()
    local world = support.world{}
    local heard = {}
    world:onPost("beat", function(n) heard[#heard + 1] = n end)
    local thread = support.within(weft.thread, function(first, list)
      local own = require "weft.thread"
      local n = first + #list
      assert(not own.stopping())
      local stopped, reason = own.wait(0)
      assert(stopped == nil and reason == "timeout")
      own.post("beat", n)
      assert(own.wait() == true and own.stopping())
      own.post("beat", n + 1)
    end, 4, { 1, 2 })
    assert.equal("running", thread:status())
    assert.truthy(tostring(thread):find "^weft.Thread: thread %d+ %(running%)$")
    while #heard < 1 do world:tick(0) end
    assert.equal("timeout", select(2, thread:join(0)))
    thread:stop()
    assert.is_true(thread:join())
    world:tick(0)
    assert.same({ 6, 7 }, heard)
  end)

  it("fails as services do, and has no inbox", function()
    local world = support.world{}
    local thread = support.within(weft.thread, function()
      error(tostring(select(2, pcall(require "weft.service".receive))))
    end)
    local ok, err = thread:join()
    assert.is_false(ok)
    assert.truthy(err:find "service.receive: a thread has no inbox")
    assert.truthy(err:find "stack traceback")
    assert.is_nil(thread.tryPost)
    raises("service:tryPost: a service expected, got a thread, which has no inbox", function()
      serve(poster).tryPost(thread, 1)
    end)
    raises("weft.thread: a function expected, got nil", support.within, weft.thread)
    world:tick(0)
    assert.equal(0, #support.reports())
  end)

  it("ends with its world", function()
    local world = support.world{}
    local list = {}
    for i = 1, 5 do
      list[i] = support.within(weft.thread, function() require("weft.thread").wait() end)
    end
    world:close()
    for i = 1, 5 do assert.equal("ended", list[i]:status()) end
  end)
end)
