-- SPDX-License-Identifier: MIT
--
-- Programs that end while routines are alive: by os.exit, by an error, by the end of the script.

local support = require "support"

local setup = [[
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world{ capacity = 16 }
  for _ = 1, 3 do
    world:start(function()
      routine.defer(function() print "cleanup" end)
      routine.wait(100)
    end)
    world:start(function()
      table.sort({ 1, 2 }, function() routine.wait(100) end)
    end)
    world:start(function()
      local inner = coroutine.wrap(function() routine.wait(100) end)
      inner()
    end)
  end
  world:tick(0)
  io.stdout:setvbuf "no"
  io.write "begun "
]]

local endings = {
  { "os.exit(0, true) inside a routine", "world:start(function() os.exit(0, true) end)", 0 },
  { "os.exit(3, true) inside a routine", "world:start(function() os.exit(3, true) end)", 3 },
  { "os.exit without closing inside a routine", "world:start(function() os.exit(4) end)", 4 },
  { "os.exit(0, true) under C frames of a routine",
    "world:start(function() table.sort({ 1, 2 }, function() os.exit(0, true) end) end)", 0 },
  { "os.exit(0, true) after a pinned wait",
    [[world:start(function()
        ("x"):gsub("x", function() routine.wait(0) os.exit(0, true) end)
      end)]], 0 },
  { "os.exit(0, true) in an inner coroutine of a routine",
    "world:start(function() coroutine.wrap(function() os.exit(0, true) end)() end)", 0 },
  { "os.exit(0, true) in a cleanup",
    "world:start(function() routine.defer(function() os.exit(0, true) end) end)", 0 },
  { "os.exit(0, true) in a system", "world:on('update', function() os.exit(0, true) end)", 0 },
  { "os.exit(0, true) in a post", "world:post(function() os.exit(0, true) end)", 0 },
  { "os.exit(0, true) in onError",
    [[world.onError = function() os.exit(0, true) end
      world:start(function() error "x" end)]], 0 },
}

describe("a program may end by", function()
  for _, ending in ipairs(endings) do
    it(ending[1] .. " while others are alive", function()
      local status, text = support.child(setup .. ending[2] .. [[

        for _ = 1, 3 do world:tick(0) end
        print "not reached"
        os.exit(99)
      ]])
      assert.equal(ending[3], status, text)
      assert.equal("begun ", text)
    end)
  end

  it("the end of its script, without running cleanups", function()
    local status, text = support.child(setup .. "io.write 'end'")
    assert.equal(0, status, text)
    assert.equal("begun end", text)
  end)

  it("os.exit outside a tick, closing the state or not", function()
    for _, call in ipairs{ "os.exit(5, true)", "os.exit(5)" } do
      local status, text = support.child(setup .. call)
      assert.equal(5, status, text)
      assert.equal("begun ", text)
    end
  end)

  it("an error of the main script", function()
    local status, text = support.child(setup .. "error 'main trouble'")
    assert.equal(1, status, text)
    assert.truthy(text:find("main trouble", 1, true))
  end)

  it("the end of its script after a close, with the cleanups run", function()
    local status, text = support.child(setup .. "world:close() io.write 'end'")
    assert.equal(0, status, text)
    assert.equal("begun cleanup\ncleanup\ncleanup\nend", text)
  end)

  it("the end of its script inside a world that was collected", function()
    local status, text = support.child(setup .. [[
      world = nil
      collectgarbage()
      collectgarbage()
      io.write "end"]])
    assert.equal(0, status, text)
    assert.equal("begun end", text)
  end)
end)
