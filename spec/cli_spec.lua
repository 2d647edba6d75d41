-- SPDX-License-Identifier: MIT
--
-- The command line: what `weft` prints, and with which status it ends.

local support = require "support"

local here = support.shell "test -x scripts/weft" == 0

-- Runs `weft ARGUMENTS` on this machine's Lua with a script file of the given source; "SCRIPT"
-- in the arguments stands for the file.
local function weft(arguments, source)
  local file = os.tmpname()
  local out = assert(io.open(file, "w"))
  out:write(source or "")
  out:close()
  local status, text = support.shell("timeout 60 scripts/weft --vm " .. support.vm .. " "
    .. arguments:gsub("SCRIPT", file))
  os.remove(file)
  return status, text, file
end

if here then
  describe("weft", function()
    it("tells its version and the machine it runs on", function()
      local status, text = weft "version"
      assert.equal(0, status)
      assert.truthy(text:find "%d+%.%d+%.%d+")
      assert.truthy(text:find "Lua")
    end)

    it("helps", function()
      local status, text = weft "help"
      assert.equal(0, status)
      for _, word in ipairs{ "run", "exec", "version", "%-%-hz", "%-%-ticks", "%-%-speed" } do
        assert.truthy(text:find(word), word)
      end
    end)

    it("refuses what it does not know", function()
      for _, arguments in ipairs{ "frobnicate", "run", "exec", "run --hz SCRIPT",
        "run --hz 0 SCRIPT", "run --speed warp SCRIPT", "run --ticks x SCRIPT",
        "run --frob SCRIPT" } do
        local status, text = weft(arguments)
        assert.are_not.equal(0, status, arguments)
        assert.truthy(#text > 10, arguments)
      end
    end)
  end)

  describe("weft run", function()
    it("runs the script's routines until none is alive", function()
      local status, text = weft("run SCRIPT --speed max", [[
        local routine = require "weft.routine"
        for i = 1, 3 do routine.start(function() routine.wait(i) print("woke", i) end) end
        print "script"]])
      assert.equal("script\nwoke\t1\nwoke\t2\nwoke\t3\n", text)
      assert.equal(0, status)
    end)

    it("runs so many ticks at so many a second", function()
      local status, text = weft("run --hz 10 --ticks 25 --speed max SCRIPT", [[
        local weft, routine = require "weft", require "weft.routine"
        local world = weft.default()
        world:on("postUpdate", function()
          if world.tickCount == 25 then print(("%.3f"):format(world.simTime)) end
        end)]])
      assert.equal("2.500\n", text)
      assert.equal(0, status)
    end)

    it("gives the script its arguments", function()
      local status, text = weft("run SCRIPT -- a 'b c' --hz", [[
        print(..., select("#", ...), arg[1], arg[2], arg[3], arg[4])]])
      assert.equal("a\t3\ta\tb c\t--hz\tnil\n", text)
      assert.equal(0, status)
    end)

    it("ends with status 1 and a traceback when a routine fails; the others go on", function()
      local status, text = weft("run SCRIPT --speed max", [[
        local routine = require "weft.routine"
        local function culprit() error "boom 42" end
        routine.start(function() routine.wait(1) culprit() return 1 end)
        routine.start(function() routine.wait(2) print "the other went on" end)]])
      assert.equal(1, status)
      assert.truthy(text:find("boom 42", 1, true), text)
      assert.truthy(text:find("culprit", 1, true), text)
      assert.truthy(text:find("the other went on", 1, true), text)
    end)

    it("ends with status 1 when the script fails or is not there", function()
      local status, text = weft("run SCRIPT", [[
        local function culprit() error 'boom 43' end
        culprit()]])
      assert.equal(1, status)
      assert.truthy(text:find("boom 43", 1, true), text)
      assert.truthy(text:find("culprit", 1, true), text)
      status, text = weft("run SCRIPT", "this is no Lua")
      assert.equal(1, status)
      assert.truthy(#text > 10)
      assert.are_not.equal(0, (weft "run no/such/script.lua"))
    end)

    it("prints no progress line when it writes to no terminal", function()
      local status, text = weft("run SCRIPT --speed max --ticks 100", "")
      assert.equal(0, status)
      assert.equal("", text)
    end)
  end)

  describe("weft exec", function()
    it("is plain Lua with weft on its path", function()
      local status, text, file = weft("exec SCRIPT one two", [[
        print(arg[0], arg[1], arg[2], select("#", ...), type(require "weft".world))]])
      assert.equal(file .. "\tone\ttwo\t2\tfunction\n", text)
      assert.equal(0, status)
    end)

    it("ends with the script's own status", function()
      assert.equal(7, (weft("exec SCRIPT", "os.exit(7)")))
      assert.equal(1, (weft("exec SCRIPT", "error 'x'")))
    end)

    it("works from any folder and through a symbolic link", function()
      local link = os.tmpname()
      os.remove(link)
      local file = os.tmpname()
      local out = assert(io.open(file, "w"))
      out:write "print(type(require 'weft.routine'.wait))"
      out:close()
      local status, text = support.shell(
        ("ln -s \"$PWD/scripts/weft\" %s && cd / && %s --vm %s exec %s")
          :format(link, link, support.vm, file))
      os.remove(link)
      os.remove(file)
      assert.equal("function\n", text)
      assert.equal(0, status)
    end)
  end)
end
