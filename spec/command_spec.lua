-- SPDX-License-Identifier: MIT
-- The command line at its edges: exit statuses, reports, Ctrl-C, bad options, odd folders. Each
-- spec runs a process of its own.

local support = require "support"

local files = {}

-- Writes a script to a file that goes after the spec; returns its path.
local function script(text)
  local path = os.tmpname()
  files[#files + 1] = path
  local out = assert(io.open(path, "w"))
  out:write(text)
  out:close()
  return path
end

local function removeFiles()
  for i = #files, 1, -1 do
    os.remove(files[i])
    files[i] = nil
  end
end

-- Runs `weft --vm <this one> ...`; returns the exit status and all output.
local function weft(words, before)
  return support.shell(("%s timeout 60 scripts/weft --vm %s %s"):format(before or "", support.vm,
    words))
end

local function runScript(text, options)
  return weft(("run %s %s"):format(script(text), options or "--speed max"))
end

describe("weft run", function()
  after_each(removeFiles)

  it("ends at once when the script starts nothing", function()
    local status, text = runScript "print(require('weft').default().tickCount)"
    assert.equal("0\n", text)
    assert.equal(0, status)
  end)

  it("leaves a default world alone that the script has closed", function()
    local status, text = runScript [[
      local world = require("weft").default()
      print(world:run { ticks = 3, speed = "max" })
      world:close()
    ]]
    assert.equal("3\n", text)
    assert.equal(0, status)
  end)

  it("takes options in front of the script, with = too", function()
    local path = script [[
      local world = require("weft").default()
      world:on("update", function(dt) print(dt, world.tickCount) end)
    ]]
    local status, text = weft("run --hz=4 --ticks 2 --speed=max " .. path)
    assert.equal("0.25\t1\n0.25\t2\n", text)
    assert.equal(0, status)
  end)

  it("cancels who is still alive after --ticks, and their cleanups run", function()
    local status, text = runScript([[
      local routine = require "weft.routine"
      routine.start(function()
        routine.defer(function() print "cleaned up" end)
        routine.wait(1000)
      end)
    ]], "--ticks 2 --speed max")
    assert.equal("cleaned up\n", text)
    assert.equal(0, status)
  end)

  it("reports a failing routine once", function()
    local status, text = runScript [[
      local routine = require "weft.routine"
      routine.start(function() routine.wait(1) error "broken" end)
    ]]
    assert.equal(1, status)
    assert.equal(1, select(2, text:gsub("broken", "")))
    assert.equal(1, select(2, text:gsub("stack traceback", "")))
  end)

  it("answers 1 when the script takes the reports itself", function()
    local status, text = runScript [[
      local routine = require "weft.routine"
      require("weft").default().onError = function(_, err) print("mine: " .. tostring(err)) end
      routine.start(function() error("broken", 0) end)
    ]]
    assert.equal("mine: broken\n", text)
    assert.equal(1, status)
  end)

  it("answers 0 when a failure went to who joined it, or a routine was cancelled", function()
    local status, text = runScript [[
      local routine = require "weft.routine"
      local function sleeper() routine.wait(1000) end
      routine.start(function()
        print(routine.join(routine.start(function() error("broken", 0) end)))
        local h = routine.start(sleeper)
        routine.nextTick()
        routine.cancel(h)
      end)
    ]]
    assert.equal("false\tbroken\n", text)
    assert.equal(0, status)
  end)

  it("answers 1 and prints something for an error value without text", function()
    local status, text = runScript [[
      error(setmetatable({}, { __tostring = function() error "no text" end }))
    ]]
    assert.equal(1, status)
    assert.matches("weft: .*table", text)
  end)

  it("says what a wait outside a routine should have been", function()
    local status, text = runScript "require('weft.routine').wait(1)"
    assert.equal(1, status)
    assert.matches("not inside a routine; start one with routine.start", text, 1, true)
  end)

  it("writes a trace of what the script did, however that ended", function()
    local cjson = require "cjson"
    local path = script ""
    for expected, body in pairs { [0] = "print(1)", [1] = "error 'x'" } do
      local status = runScript(([[
        local routine = require "weft.routine"
        routine.start(function()
          routine.name "Anna"
          routine.wait(0.1)
          %s
        end)
      ]]):format(body), "--speed max --trace " .. path)
      assert.equal(expected, status)
      local file = assert(io.open(path))
      local named = 0
      for _, event in ipairs(cjson.decode(file:read "*a").traceEvents) do
        if event.name == "Anna" then named = named + 1 end
      end
      file:close()
      assert.equal(1, named)
    end
  end)

  it("answers 1 when the trace cannot be written", function()
    local status, text = runScript("print 'ran'", "--trace /no/such/folder/t.json")
    assert.is_not_nil(text:find("weft: the trace is not written: /no/such/folder/t.json: "
      .. "No such file or directory\n", 1, true), text)
    assert.is_not_nil(text:find("ran\n", 1, true))
    assert.equal(1, status)
  end)

  it("refuses options that it does not know or cannot read, and says which", function()
    for _, case in ipairs {
      { "--hz 0", "--hz must be a number over 0, got '0'" },
      { "--hz", "--hz needs a value" },
      { "--ticks 1.5", "--ticks must be a whole number of at least 0, got '1.5'" },
      { "--speed slow", "--speed is real or max, got 'slow'" },
      { "--fast", "knows no option '--fast'" },
      { "more.lua", "one script at a time" },
      { "--trace=", "--trace needs the path of a file" },
    } do
      local status, text = runScript("print 'ran'", case[1])
      assert.equal(2, status)
      assert.is_not_nil(text:find(case[2], 1, true), text)
      assert.is_nil(text:find "ran\n")
    end
  end)
end)

describe("weft run on a terminal", function()
  after_each(removeFiles)

  -- script(1) gives it one.
  it("shows a progress line between ticks, and takes it away at the end", function()
    local path = script "require('weft.routine').start(require('weft.routine').wait, 0.003)"
    local run = ("scripts/weft --vm %s run --hz 1000 %s"):format(support.vm, path)
    local status, text = support.shell(
      ("timeout 60 script -qec '%s' /dev/null </dev/null"):format(run))
    assert.equal(0, status)
    assert.truthy(text:find("\r\27[K0.0 s, tick 0: 1 routines, 0 asleep, 0 pinned\r", 1, true),
      text)
    assert.truthy(text:find("tick 1: 1 routines, 1 asleep, 0 pinned\r", 1, true), text)
    assert.truthy(text:find "\r\27%[K$", text)
  end)
end)

describe("Ctrl-C in weft run", function()
  after_each(removeFiles)

  -- The script tells through a file that it is under way; the signals come after that.
  local function interrupt(body, signals)
    local ready = os.tmpname()
    os.remove(ready)
    local path = script([[
      local routine = require "weft.routine"
      routine.start(function()
        routine.defer(function() print "cleaned up" end)
        routine.nextTick()
        io.open("]] .. ready .. [[", "w"):close()
    ]] .. body .. "\nend)")
    local status, text = support.shell(([[
      scripts/weft --vm %s run %s & pid=$!
      (sleep 20; kill -9 $pid) >/dev/null 2>&1 & guard=$!
      n=0; while [ ! -e %s ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n + 1)); done
      %s
      wait $pid; status=$?
      kill $guard; (exit $status)]]):format(support.vm, path, ready,
      ("kill -INT $pid; sleep 0.2;"):rep(signals)))
    os.remove(ready)
    return status, text
  end

  it("cancels, drains and answers 130", function()
    local status, text = interrupt("while true do routine.wait(0.01) end", 1)
    assert.equal("cleaned up\n", text)
    assert.equal(130, status)
  end)

  it("drains routines that clean up for a while", function()
    local status, text = interrupt([[
      pcall(routine.wait, 1000)
      print "asked"
      pcall(routine.nextTick)
      print "asked again"]], 1)
    assert.equal("asked\nasked again\ncleaned up\n", text)
    assert.equal(130, status)
  end)

  it("ends a routine that never waits at the second time", function()
    local status, text = interrupt("while true do end", 2)
    assert.is_nil(text:find "cleaned up")
    assert.equal(130, status)
  end)
end)

describe("weft exec", function()
  after_each(removeFiles)

  it("is found through a chain of relative links", function()
    local path = script "io.write(type(require 'weft.routine'.wait))"
    local status, text = support.shell(([[
      root=$PWD; folder=$(mktemp -d); cd "$folder"
      ln -s "$root/scripts/weft" one; mkdir sub; ln -s ../one sub/two
      timeout 60 sub/two --vm %s exec %s; status=$?
      rm -r "$folder"; (exit $status)]]):format(support.vm, path))
    assert.equal("function", text)
    assert.equal(0, status)
  end)

  it("changes nothing in the environment that other Luas would see", function()
    local path = script "print(os.getenv 'LUA_PATH', os.getenv 'LUA_CPATH')"
    local status, text = weft("exec " .. path, "env -u LUA_PATH -u LUA_CPATH")
    assert.equal("nil\tnil\n", text)
    assert.equal(0, status)
  end)
end)

describe("weft", function()
  it("refuses a Lua that it does not know", function()
    local status, text = support.shell "scripts/weft --vm lua5.1 version"
    assert.equal(2, status)
    assert.is_not_nil(text:find("--vm is lua5.4 or luajit, got 'lua5.1'", 1, true), text)
  end)

  it("says what to do when the modules are not built", function()
    local status, text = weft("version", "WEFT_MODE=nosuch")
    assert.equal(1, status)
    assert.matches("not built.*run 'make' in", text)
  end)
end)
