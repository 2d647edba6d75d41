-- SPDX-License-Identifier: MIT
--
-- What each spec must not leave behind, and that one which does is found out.

local support = require "support"

-- Runs a spec file with this one spec in it; the status and what busted says.
local function runSpec(body)
  local file = os.tmpname() .. "_spec.lua"
  local out = assert(io.open(file, "w"))
  out:write('local support, weft = require "support", require "weft"\n',
    "local routine, kept = weft.routine, {}\n",
    'describe("it", function() it("runs", function()\n', body, "\nend) end)\nreturn kept\n")
  out:close()
  local status, text = support.child(([[
    arg = { [0] = "busted", "-o", "TAP", %q }
    require "busted.runner" { standalone = false }
  ]]):format(file))
  os.remove(file)
  return status, text
end

local function isRefused(body, sentence)
  local status, text = runSpec(body)
  assert.are_not.equal(0, status, text)
  assert.truthy(text:find(sentence, 1, true), text)
end

describe("a spec", function()
  it("may end with routines of its worlds alive", function()
    local status, text = runSpec "support.world():start(routine.wait, 5) support.settle()"
    assert.equal(0, status, text)
  end)

  it("may lose a world with routines alive", function()
    local status, text = runSpec "weft.world():start(routine.wait, 5)"
    assert.equal(0, status, text)
  end)

  it("may not keep a world with routines alive", function()
    isRefused("kept[1] = weft.world() kept[1]:start(routine.wait, 5)",
      "the spec left 1 routines alive")
  end)

  it("may not leave a routine alive in the default world", function()
    isRefused("routine.start(routine.wait, 5)", "the spec left 1 routines alive")
  end)

  it("may not overlook a report", function()
    isRefused("support.world():start(error, 'on purpose') support.settle()",
      "nobody looked at this report: on purpose")
  end)

  it("may not leave a global", function()
    isRefused("rawset(_G, 'treasure', 1)", "the spec left a new global: treasure")
  end)

  if support.vm == "luajit" then
    it("may not leave a thread", function()
      isRefused([[
        local ffi = require "ffi"
        ffi.cdef "int pthread_create(long *, void *, void *(*)(void *), void *); int pause(void);"
        local run = ffi.cast("void *(*)(void *)", ffi.C.pause)
        ffi.C.pthread_create(ffi.new "long[1]", nil, run, nil)]],
        "there were 1 threads before the spec, now there are 2")
    end)
  end
end)
