-- SPDX-License-Identifier: MIT
--
-- What the specs of failing memory try (oom_lua54_spec.c, oom_luajit_spec.c).
--
-- Each scenario makes, while memory is plenty, a function that is then called while memory may
-- fail. It returns "complete" when all that it asked for happened, "told" when a call refused
-- with a reason; or it raises. Anything else, without a report to the world's onError, is a
-- failure that nobody was told of.

local scenarios = {}

local function scenario(name, make)
  scenarios[#scenarios + 1] = { name = name, make = make }
end

scenario("making a world", function(weft)
  return function()
    local world = weft.world{ capacity = 5 }
    local done
    if not world:start(function() done = true end) then return "told" end
    world:tick(0)
    world:close()
    return done and "complete"
  end
end)

scenario("starting routines", function(_, _, world)
  local sum = 0
  local function body(a, b) sum = sum + a + b end
  return function()
    for i = 1, 4 do
      if not world:start(body, i, 10 * i) then return "told" end
    end
    world:tick(0)
    return sum == 110 and "complete"
  end
end)

scenario("compact waits", function(_, routine, world)
  local done = 0
  local function body()
    routine.nextTick()
    routine.wait(1)
    routine.waitUnscaled(1)
    coroutine.yield()
    done = done + 1
  end
  return function()
    for _ = 1, 3 do
      if not world:start(body) then return "told" end
    end
    for _ = 1, 6 do world:tick(1) end
    return done == 3 and "complete"
  end
end)

scenario("waits for signals", function(weft, routine, world)
  local sig, other = weft.signal(), weft.signal()
  local sum, calls = 0, 0
  local function alone()
    local _, _, value = sig:wait(3)
    sum = sum + value
  end
  local function pinned()
    table.sort({ 2, 1 }, function() alone() return false end)
  end
  local function among()
    local _, _, _, value = routine.any{ other, sig, timeout = 3 }
    sum = sum + value
    local got = routine.all{ sig, other, timeout = 3 }
    sum = sum + got[1][3]
  end
  return function()
    for _, body in ipairs { alone, pinned, among } do
      if not world:start(body) then return "told" end
    end
    world:tick(0)
    local sub = sig:connect(function() calls = calls + 1 end)
    sig:fire(nil, "x", 1)
    world:tick(0)
    sig:fireOne(nil, {}, 10)
    other:fire(1)
    world:tick(0)
    sub:off()
    return sum == 13 and calls == 1 and sig:waiting() == 0 and "complete"
  end
end)

scenario("channels and locks", function(weft, routine, world)
  local channel, mutex, semaphore = weft.channel(1), weft.mutex(), weft.semaphore(2)
  local sum, held, worst = 0, 0, 0
  local function put()
    mutex:lock(5)
    for i = 1, 3 do assert(channel:put({ i }, 5)) end
    mutex:unlock()
  end
  local function get()
    for _ = 1, 3 do
      assert(semaphore:acquire(5))
      held = held + 1
      worst = math.max(worst, held)
      local value = assert(channel:get(5))
      table.sort({ 2, 1 }, function() routine.nextTick() return false end)
      sum = sum + value[1]
      held = held - 1
      semaphore:release()
    end
  end
  return function()
    for _, body in ipairs { put, get, put, get, put, get } do
      if not world:start(body) then return "told" end
    end
    for _ = 1, 40 do world:tick(0.1) end
    local free = tostring(mutex):find "free" and tostring(semaphore):find "2 of 2"
    return sum == 18 and worst == 2 and free and "complete"
  end
end)

scenario("pinned waits", function(_, routine, world)
  local done = 0
  local function body()
    local list = { 2, 1 }
    table.sort(list, function(a, b) routine.wait(1) return a < b end)
    coroutine.wrap(function() routine.wait(1) end)()
    if list[1] == 1 then done = done + 1 end
  end
  return function()
    for _ = 1, 3 do
      if not world:start(body) then return "told" end
    end
    for _ = 1, 8 do world:tick(1) end
    return done == 3 and "complete"
  end
end)

scenario("waits that come again", function(_, routine, world)
  local done = 0
  local function body()
    local step, sum = routine.slice { count = 2 }, 0
    for n in routine.every(1, 3) do
      sum = sum + n
      step()
    end
    local met, reason = routine.waitUntil(function() return sum > 3 end, 1)
    if sum == 3 and not met and reason == "timeout" then done = done + 1 end
  end
  return function()
    for _ = 1, 3 do
      if not world:start(body) then return "told" end
    end
    for _ = 1, 9 do world:tick(1) end
    return done == 3 and "complete"
  end
end)

scenario("owners", function(_, routine, world)
  local ended, slept = 0, 0
  return function()
    local top = world:owner()
    local child = top and world:owner(top)
    if not child then return "told" end
    for _ = 1, 20 do world:owner(child) end
    child:onDestroyed(function() ended = ended + 1 end)
    child:setTimeScale(2)
    local function body()
      local seconds = routine.wait(2)
      slept = slept + seconds
      assert(routine.owner() == child)
      routine.wait(3)
    end
    for _ = 1, 2 do
      if not child:start(body) then return "told" end
    end
    world:tick(0)
    world:tick(1)
    top:destroy()
    world:tick(0)
    top:onDestroyed(function() ended = ended + 1 end)
    return ended == 2 and slept == 4 and "complete"
  end
end)

scenario("joins", function(_, routine, world)
  local counts = {}
  return function()
    local target = world:start(function() routine.wait(2) return 1, 2, 3 end)
    if not target then return "told" end
    local function joiner(i)
      counts[i] = select("#", routine.join(target, i == 3 and 1 or nil))
    end
    for i = 1, 3 do
      if not world:start(joiner, i) then return "told" end
    end
    for _ = 1, 5 do world:tick(1) end
    if target:status() == "failed" and counts[1] == 2 and counts[2] == 2 then return "told" end
    return counts[1] == 4 and counts[2] == 4 and counts[3] == 2 and "complete"
  end
end)

scenario("waits for several", function(_, routine, world)
  return function()
    local list, first, every = {}, nil, nil
    for i = 1, 2 do
      list[i] = world:start(function() routine.wait(i) return i, i end)
      if not list[i] then return "told" end
    end
    local one = world:start(function() first = { routine.any(list) } end)
    local two = world:start(function() every = routine.all(list) end)
    if not (one and two) then return "told" end
    for _ = 1, 5 do world:tick(1) end
    if list[1]:status() == "failed" or list[2]:status() == "failed" then return "told" end
    return first and first[3] == 1 and every and every[2][3] == 2 and "complete"
  end
end)

scenario("scopes", function(_, routine, world)
  local ended, raised = 0, nil
  local function child(seconds, problem)
    routine.defer(function() ended = ended + 1 end)
    routine.wait(seconds)
    if problem then error(problem, 0) end
  end
  local function body()
    local told
    local result = routine.scope(function(scope)
      told = not scope:start(child, 1) or not scope:start(child, 2)
      return routine.scope(function() return told and "told" or "fine" end)
    end)
    if result == "told" then return result end
    local ok, err = pcall(routine.scope, function(scope)
      told = not scope:start(child, 1, "boom") or not scope:start(child, 99)
      if told then error("told", 0) end
      table.sort({ 1, 2 }, function() routine.wait(99) end)
    end)
    raised = not ok and err
    return raised
  end
  return function()
    ended, raised = 0, nil
    local host = world:start(body)
    if not host then return "told" end
    for _ = 1, 9 do world:tick(1) end
    if host:status() == "failed" or raised == "told" then return "told" end
    return world:stats().active == 0 and raised and (raised == "boom" and ended == 4 or "told")
      and "complete"
  end
end)

scenario("errors", function(_, routine, world)
  return function()
    local one = world:start(function() error "a string" end)
    local two = world:start(function() routine.wait(1) error{ "a table" } end)
    local three = world:start(function() error(nil) end)
    if not (one and two and three) then return "told" end
    for _ = 1, 3 do world:tick(1) end
    return two:status() == "failed" and two:error()[1] == "a table" and "complete"
  end
end)

scenario("cleanups", function(_, routine, world)
  local cleaned = 0
  local function clean()
    routine.wait(1)
    cleaned = cleaned + 1
  end
  local function body(fails)
    for _ = 1, 3 do routine.defer(clean) end
    if fails then error("fails", 0) end
  end
  return function()
    if not world:start(body) or not world:start(body, true) then return "told" end
    for _ = 1, 6 do world:tick(1) end
    return cleaned == 6 and "complete"
  end
end)

scenario("cancels", function(_, routine, world)
  local cleaned = 0
  local function body(wait)
    routine.defer(function() cleaned = cleaned + 1 end)
    wait()
  end
  local function sleep() routine.wait(20) end
  local function sort() table.sort({ 1, 2 }, sleep) end
  local function stubborn()
    for _ = 1, 20 do
      if pcall(sleep) then return end
    end
  end
  return function()
    local handles = {}
    for i, wait in ipairs{ sleep, sort, stubborn, coroutine.yield } do
      handles[i] = world:start(body, wait)
      if not handles[i] then return "told" end
    end
    world:tick(0)
    for _, handle in ipairs(handles) do handle:cancel "a reason" end
    for _ = 1, 10 do world:tick(0) end
    return cleaned == 4 and "complete"
  end
end)

scenario("posts and systems", function(_, _, world)
  local count = 0
  local function call() count = count + 1 end
  return function()
    local sub = world:on("update", call)
    if not world:post(call) then return "told" end
    if not world:post(call, "high") then return "told" end
    world:tick(0)
    sub:off()
    world:tick(0)
    return count == 3 and "complete"
  end
end)

scenario("messages", function(_, _, world)
  local heard = 0
  local function hear(a, b) heard = heard + (a == nil and b == 2 and 1 or 100) end
  return function()
    local owners = {}
    for i = 1, 3 do owners[i] = world:owner() end
    local sub
    for i = 3, 1, -1 do
      sub = owners[i]:on("a", hear)
      for k = 1, 3 do owners[i]:on("name " .. k, hear) end
    end
    local function send(n) return world:send(owners[n], "a", nil, 2) end
    if not (send(1) and send(2) and world:broadcast("name 2", nil, 2, nil)) then return "told" end
    owners[2]:destroy()
    world:tick(0)
    sub:off()
    send(1)
    world:tick(0)
    return heard == 3 and world:stats().dropped == 1 and "complete"
  end
end)

scenario("shields", function(_, routine, world)
  local held, text
  local function guarded(seconds) return routine.shield(routine.wait, seconds) end
  return function()
    local handle = world:start(function() held = guarded(2) end)
    local other = world:start(function()
      text = select(2, pcall(routine.shield, function() routine.wait(1) error("inside", 0) end))
    end)
    if not (handle and other) then return "told" end
    world:tick(0)
    handle:cancel()
    for _ = 1, 3 do world:tick(1) end
    if tostring(text):find "memory" then return "told" end
    return held == 2 and text == "inside" and "complete"
  end
end)

scenario("names, and a look at who waits", function(_, routine, world)
  return function()
    local owner = world:owner()
    local handle = owner and owner:start(function()
      routine.name "watchman"
      routine.wait(5)
    end)
    if not (handle and world:start(routine.wait, 5)) then return "told" end
    world:tick(0)
    local list = world:inspect()
    local one, two = list[1], list[2]
    return #list == 2 and one.id == handle and one.name == "watchman" and one.owner == owner
      and two.wakesIn == 5 and world:stats().active == 2 and "complete"
  end
end)

scenario("an unload", function(_, routine, world)
  local cleaned = 0
  local function clean() cleaned = cleaned + 1 end
  local function body(wait)
    routine.defer(clean)
    for _ = 1, 9 do pcall(wait, 1) end
  end
  return function()
    if not (world:start(body, routine.wait) and world:start(body, routine.nextTick)) then
      return "told"
    end
    world:tick(0)
    return world:unload(3) and cleaned == 2 and world:stats().active == 0 and "complete"
  end
end)

scenario("a module that waits as it loads", function(_, routine, world)
  package.preload.slow = function()
    routine.wait(1)
    return { value = 5 }
  end
  return function()
    package.loaded.slow = nil
    local sum = 0
    local function body()
      local slow = require "slow"
      sum = sum + slow.value
    end
    if not (world:start(body) and world:start(body)) then return "told" end
    for _ = 1, 4 do world:tick(1) end
    return sum == 10 and "complete"
  end
end)

scenario("descriptors", function(_, routine, world)
  return function()
    local got, count = {}, 0
    for _, fd in ipairs { 1, 2, 1, 98765 } do
      if not world:start(function()
        got[#got + 1] = { routine.waitFd(fd, "w") }
        count = count + 1
      end) then return "told" end
    end
    for _ = 1, 4 do world:tick(0) end
    for _, answer in ipairs(got) do
      if not (answer[1] or answer[2] == "closed") then return "told" end
    end
    return count == 4 and "complete" or "told"
  end
end)

scenario("timers", function(weft, _, world)
  local owner, sum = world:owner(), 0
  local function add(...) for i = 1, select("#", ...) do sum = sum + (select(i, ...)) end end
  return function()
    for _ = 1, 70 do
      if not owner:after(1, add, 1, 2) then return "told" end
    end
    if not owner:after(1, add, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) then
      return "told"
    end
    for i = 1, 10 do
      local handle = owner:every(1, add, { count = 2, delay = 0.5, unscaled = i % 2 == 0 })
      if not handle then return "told" end
      weft.timer.tag(handle, "name " .. i)
    end
    world:tick(1)
    world:tick(1)
    return sum == 210 + 78 + 20 and world:stats().timers == 0 and "complete"
  end
end)

-- Tags that were used before get new names; each name must lead to its one timer.
scenario("tags of timers", function(weft, _, world)
  local timer, owner, handles, names = weft.timer, world:owner(), {}, {}
  local found, cancelled = 0
  local function cancelEach() -- by name, in this world
    for _, name in ipairs(names) do found = found + timer.cancelAll(name) end
    cancelled = true
  end
  for i = 1, 9 do
    handles[i], names[i] = owner:after(9, function() end), "name " .. i
  end
  for i = 1, 4 do timer.tag(handles[i], "before " .. i) end
  for i = 1, 4 do timer.tag(handles[i], nil) end
  return function()
    for i, handle in ipairs(handles) do
      if not pcall(timer.tag, handle, names[i]) then timer.tag(handle, names[i]) end
    end
    if not world:post(cancelEach) then return "told" end
    world:tick(0)
    return cancelled and found == #names and "complete"
  end
end)

scenario("fixed steps and tweens", function(_, routine, world)
  world:configure { fixedStep = 1 }
  local steps, done = 0, 0
  local function body()
    local passed = routine.waitFixed(2)
    steps = steps + passed
    routine.tween(1, function(x) done = done + x end, "sineInOut")
    string.gsub("x", "x", function() passed = routine.waitFixed() end)
    steps = steps + passed
  end
  return function()
    world:on("fixedUpdate", function(dt) done = done + dt end)
    for _ = 1, 2 do
      if not world:start(body) then return "told" end
    end
    for _ = 1, 5 do world:tick(1) end
    return steps == 6 and done == 7 and "complete"
  end
end)

scenario("another configuration", function(_, _, world)
  return function()
    world:configure{ capacity = 20, resumesPerTick = 9 }
    return world:stats().capacity == 20 and "complete"
  end
end)

scenario("the default world", function(weft, routine)
  local done
  return function()
    if not routine.start(function() done = true end) then return "told" end
    weft.default():tick(0)
    return done and "complete"
  end
end)

-- What fails to be rented waits on, or is garbage; what fails to be given back is still rented.
scenario("pools", function(weft, _, world)
  local tables, buffers = weft.pool.tables(), weft.pool.buffers()
  local function rented(pool)
    local stats = pool:stats()
    return stats.rented, stats.rented + stats.kept + stats.dropped <= stats.made
  end
  return function()
    local owner = world:owner()
    local list = {}
    for i = 1, 3 do list[i] = tables:rent(i == 2 and owner or nil) end
    local buffer = buffers:rent("u8", 100, owner)
    tables:giveBack(list[1])
    tables:giveBack(list[2])
    buffers:giveBack(buffer)
    owner:destroy()
    local out, fits = rented(tables)
    local outBuffers, fitBuffers = rented(buffers)
    return out == 1 and outBuffers == 0 and fits and fitBuffers and "complete"
  end
end)

-- Whatever fails, a pool knows what is rented, and what is rented can be used and given back.
local function checkPool(pool)
  if pool._rented ~= pool.out then error("the pool has lost count", 0) end
end

local function giveBack(pool, buffer)
  for try = 1, 2 do
    buffer[1] = try
    local ok, err = pcall(pool.giveBack, pool, buffer)
    if ok then return try > 1 end
    checkPool(pool)
    if try == 2 then error(err, 0) end
  end
end

for _, debugging in ipairs { false, true } do
  local name = "a pool of buffers" .. (debugging and ", in debug" or "")
  scenario(name, function(weft, _, world)
    local pool = weft.pool.buffers{ debug = debugging }
    return function()
      local owner, list, failed = world:owner(), {}, false
      if not owner then return "told" end
      pool.out = 0
      for _ = 1, 2 do
        for i = 1, 6 do
          local ok, buffer = pcall(pool.rent, pool, "u8", i % 3 + 1, i > 4 and owner or nil)
          pool.out = pool.out + (ok and 1 or 0)
          failed = failed or not ok
          if ok and i <= 4 then list[#list + 1] = buffer end
          checkPool(pool)
        end
        while #list > 0 do
          failed = giveBack(pool, list[#list]) or failed
          list[#list], pool.out = nil, pool.out - 1
          checkPool(pool)
        end
      end
      owner:destroy()
      return pool._rented == 0 and (failed and "told" or "complete")
    end
  end)
end

scenario("buffers", function(weft)
  return function()
    local buffer = weft.buffer("i64", 100):fill(3)
    local part = buffer:slice(2, 50):copy()
    part[1] = 4
    local ok, err = pcall(function() part[100] = 1 end)
    local sum = tonumber(part:shared()[1]) + #part:string()
    if not ok and err:find "memory" then return "told" end
    return sum == 4 + 8 * 49 and not ok and "complete"
  end
end)

scenario("columns", function(weft)
  local cols = weft.columns{ a = "f32", b = "u8" }
  local ids = {}
  for i = 1, 62 do ids[i] = cols:add{ a = i, b = i } end
  return function()
    for i = #ids + 1, 70 do ids[i] = cols:add{ a = i, b = i } end
    for i = 1, 9 do cols:remove(ids[i]) end
    local last = cols:add{ a = 5 }
    return cols:get(ids[70], "a") == 70 and cols:get(last, "a") == 5 and cols:count() == 62
      and not cols:alive(ids[1]) and "complete"
  end
end)

scenario("closing", function(_, routine, world)
  local cleaned = 0
  local function body(wait)
    routine.defer(function() cleaned = cleaned + 1 end)
    wait(20)
  end
  local function sort() table.sort({ 1, 2 }, function() routine.wait(20) end) end
  for _ = 1, 3 do
    world:start(body, routine.wait)
    world:start(body, sort)
  end
  world:tick(0)
  return function()
    world:close()
    return cleaned == 6 and "complete"
  end
end)

return scenarios
