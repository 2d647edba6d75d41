-- SPDX-License-Identifier: MIT
--
-- The default world, on which module functions act outside every world. It lives as long as the
-- program, so that these programs are child processes.

local support = require "support"

local function runs(source)
  local status, text = support.child(source)
  assert.equal(0, status, text)
  assert.equal("ok\n", text)
end

describe("weft.default", function()
  it("is one world, made on first use", function()
    runs [[
      local weft = require "weft"
      local world = weft.default()
      assert(world == weft.default() and world.tickCount == 0)
      assert(world:stats().capacity == 256)
      assert(world ~= weft.world{})
      print "ok"
    ]]
  end)

  it("is what module functions act on outside every world", function()
    runs [[
      local weft, routine = require "weft", require "weft.routine"
      routine.configure{ capacity = 2 }
      assert(weft.default():stats().capacity == 2)
      local done
      local handle = routine.start(function(x) routine.wait(1) done = x end, 7)
      assert(routine.start(function() end))
      local none, reason = routine.start(function() end)
      assert(none == nil and reason == "capacity")
      assert(routine.stats().active == 2)
      weft.default():tick(0)
      weft.default():tick(1)
      assert(done == 7 and handle:status() == "completed")
      print "ok"
    ]]
  end)

  it("is not what they act on inside another world", function()
    runs [[
      local weft, routine = require "weft", require "weft.routine"
      local world = weft.world{ capacity = 5 }
      local which = {}
      world:start(function()
        which.routine = routine.stats().capacity
        routine.start(print, "ok")
      end)
      world:on("update", function() which.system = routine.stats().capacity end)
      world:post(function() which.post = routine.stats().capacity end)
      world:tick(0)
      assert(which.routine == 5 and which.system == 5 and which.post == 5)
      assert(weft.default():stats().started == 0)
      world:tick(0)
    ]]
  end)
end)

describe("weft that is loaded once more", function()
  it("finds the worlds and handles of before", function()
    local status, text = support.child [[
      local weft = require "weft"
      local h = weft.routine.start(function() weft.routine.wait(1) end)
      for name in pairs(package.loaded) do
        if name:match "^weft" then package.loaded[name] = nil end
      end
      local again = require "weft"
      print(again.routine.status(h), again.default():stats().active)
      local other = again.routine.start(function() end)
      again.default():tick(0)
      print(other:status(), h:status())
    ]]
    assert.equal(0, status, text)
    assert.equal("queued\t1\ncompleted\tsleeping\n", text)
  end)
end)

describe("errors without an onError", function()
  it("go to stderr with their traceback, once, and the program goes on", function()
    local status, text = support.child [[
      local weft, routine = require "weft", require "weft.routine"
      local world = weft.world{}
      local function culprit() error "boom 42" end
      world:start(function() routine.wait(0) culprit() return 1 end)
      for _ = 1, 3 do world:tick(0) end
      io.stdout:write "went on\n"
    ]]
    assert.equal(0, status)
    assert.truthy(text:find("went on", 1, true))
    local _, count = text:gsub("boom 42", "")
    assert.equal(1, count, text)
    assert.truthy(text:find("culprit", 1, true), text)
    assert.truthy(text:find("traceback", 1, true), text)
  end)

  it("may be of any type, also with a __tostring that fails", function()
    local status, text = support.child [[
      local weft = require "weft"
      local world = weft.world{}
      local function printing(fn) return setmetatable({}, { __tostring = fn }) end
      world:start(function() error(printing(function() error "no" end)) end)
      world:start(function() error(printing(function() return 5 end)) end)
      world:start(function() error() end)
      world:start(function() error{} end)
      world:start(function() error(print) end)
      world:start(function() error(printing(function() return "told" end)) end)
      world:post(function() error() end)
      world:tick(0)
      world:tick(0)
      io.stdout:write("failed " .. world:stats().failed .. "\n")
    ]]
    assert.equal(0, status, text)
    assert.truthy(text:find("failed 6", 1, true), text)
    assert.truthy(text:find("told", 1, true), text)
  end)

  it("in onError itself go to stderr and do not come back to it", function()
    local status, text = support.child [[
      local weft = require "weft"
      local world = weft.world{}
      local calls = 0
      world.onError = function() calls = calls + 1 error("inner trouble", 0) end
      world:start(function() error("outer trouble", 0) end)
      world:tick(0)
      world:tick(0)
      io.stdout:write("calls " .. calls .. "\n")
    ]]
    assert.equal(0, status, text)
    assert.truthy(text:find("calls 1", 1, true), text)
    assert.truthy(text:find("inner trouble", 1, true), text)
  end)

  it("go there again once onError is taken away", function()
    local status, text = support.child [[
      local weft = require "weft"
      local world, heard = weft.world(), 0
      world.onError = function() heard = heard + 1 end
      world:start(error, "first", 0)
      world:tick(0)
      world.onError = nil
      assert(world.onError == nil)
      world:start(error, "second", 0)
      world:tick(0)
      assert(heard == 1)
    ]]
    assert.equal(0, status)
    assert.truthy(text:find("failed: second", 1, true), text)
    assert.is_nil(text:find("first", 1, true))
  end)

  it("do not include Cancelled", function()
    runs [[
      local weft, routine = require "weft", require "weft.routine"
      local world = weft.world{}
      local handle = world:start(function() routine.wait(9) end)
      world:start(function() error(routine.Cancelled) end)
      world:tick(0)
      handle:cancel()
      world:tick(0)
      print "ok"
    ]]
  end)
end)
