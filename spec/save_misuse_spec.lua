-- SPDX-License-Identifier: MIT
-- What a save refuses, in words that say which value it was; nothing has happened then.

local saves = require "support.saves"
local weft = require "weft"
local save = require "weft.save"

-- What a call raises, and the line it blames.
local function raised(fn)
  local ok, err = pcall(fn)
  assert.is_false(ok)
  local line = debug.getinfo(fn, "S").linedefined
  local place, text = err:match "^(spec/save_misuse_spec%.lua:%d+): (.*)$"
  assert.equal("spec/save_misuse_spec.lua:" .. line, place, err)
  return text
end

local function refusal(sections)
  return raised(function() save.write(saves.path(), sections) end)
end

local OPTIONS = "there are compress and priority"

describe("a save", function()
  after_each(saves.clean)

  it("names what cannot be saved by its path", function()
    local file = io.stdout
    local thread = coroutine.create(print)
    local deep = {}
    local inner = deep
    for _ = 1, 40 do
      inner.n = {}
      inner = inner.n
    end
    inner.here = print
    local function text(path, kind, more)
      return ("weft.save.write: sections%s (%s) cannot be saved%s"):format(path, kind, more or "")
    end
    local META = "; give its metatable a name with save.metatable"
    for _, case in ipairs{
      { { player = { mesh = file } }, text(".player.mesh", "userdata", ": it is a FILE*") },
      { { player = { 1, { thread } } }, text(".player[2][1]", "thread") },
      { { ["a b"] = { [-1.5] = print } }, text("['a b'][-1.5]", "function") },
      { { a = { [true] = { print } } }, text(".a[a boolean][1]", "function") },
      { { a = { [print] = 1 } }, text(".a, a key", "function") },
      { { a = print }, text(".a", "function") },
      { { a = { b = setmetatable({}, {}) } }, text(".a.b", "table with a metatable", META) },
      { { deep = deep }, text(".deep.(...).n.n.n.n.n.n.n.n.n.n.n.n.here", "function") },
    } do
      assert.equal(case[2], refusal(case[1]))
    end
    assert.is_nil(io.open(saves.path()))
  end)

  it("names the entity whose save fails, and keeps the one before", function()
    local entities = {}
    for i = 1, 50 do entities[i] = { name = "lich #" .. i, soul = { weight = i } } end
    saves.write{ entities = entities }
    local before = saves.bytes()
    entities[42].soul.owner = function() end
    assert.equal("weft.save.write: sections.entities[42].soul.owner (function) cannot be saved",
      refusal{ entities = entities })
    assert.equal(before, saves.bytes())
  end)

  it("refuses handles of weft's own", function()
    local world = weft.world()
    local handle = world:start(function() end)
    assert.equal("weft.save.write: sections.a (userdata) cannot be saved: it is a weft.Routine",
      refusal{ a = handle })
    world:close()
  end)

  it("says what is wrong with its arguments", function()
    assert.equal("weft.save.write: path must be a string, got nil",
      raised(function() save.write() end))
    assert.equal("weft.save.write: path must not be empty",
      raised(function() save.write("", {}) end))
    assert.equal("weft.save.write: path must not have a zero byte in it",
      raised(function() save.write("a\0b", {}) end))
    assert.equal("weft.save.write: a table of sections expected, got nil",
      raised(function() save.write "a" end))
    assert.equal("weft.save.write: the names of sections must be strings, got 1",
      raised(function() save.write("a", { {} }) end))
    assert.equal("weft.save.write: a table of options expected, got string",
      raised(function() save.write("a", {}, "fast") end))
    assert.equal("weft.save.write: there is no option 'level'; " .. OPTIONS,
      raised(function() save.write("a", {}, { level = 1 }) end))
    assert.equal("weft.save.write: there is no option '?'; " .. OPTIONS,
      raised(function() save.write("a", {}, { true }) end))
    assert.equal("weft.save.write: compress must be true or false, got 1",
      raised(function() save.write("a", {}, { compress = 1 }) end))
    assert.equal('weft.save.write: priority must be "background", "normal" or "critical", got low',
      raised(function() save.write("a", {}, { priority = "low" }) end))
    assert.equal('weft.save.write: priority must be "background", "normal" or "critical", got 7',
      raised(function() save.write("a", {}, { priority = 7 }) end))
    assert.equal("weft.save.read: path must be a string, got table",
      raised(function() save.read {} end))
    assert.equal("weft.save.read: path must not be empty", raised(function() save.read "" end))
  end)

  it("says what is wrong with names of metatables", function()
    assert.equal("save.metatable: a name expected, got nil",
      raised(function() save.metatable() end))
    assert.equal("save.metatable: a name expected, got string",
      raised(function() save.metatable("", {}) end))
    assert.equal("save.metatable: a metatable expected, got string",
      raised(function() save.metatable("a", "b") end))
  end)

  it("cannot be read before its metatables have names", function()
    local status, text = require("support").child(([[
      local save = require "weft.save"
      save.metatable("spec.Lost", {})
      local Lost = save.metatable("spec.Found", {})
      local job = save.write(%q, { a = { setmetatable({}, Lost) } })
      job:wait()
    ]]):format(saves.path()))
    assert.equal("", text)
    assert.equal(0, status)
    local err = raised(function() save.read(saves.path()) end)
    assert.equal("weft.save.read: " .. saves.path() .. ": there is no metatable of the name "
      .. "'spec.Found'; give it with save.metatable", err)
    save.metatable("spec.Found", {})
    assert.is_table(save.read(saves.path()).a[1])
  end)

  it("is nothing for a job", function()
    local jobs = require "weft.jobs"
    local support = require "support.jobs"
    for _, call in ipairs{ "write", "read" } do
      local err = support.failure(jobs.run(function(name)
        require("weft.save")[name]("a", {})
      end, call))
      assert.truthy(err:find("weft.save." .. call .. ": not inside a job", 1, true))
    end
  end)

  it("tells of folders that are not there, and of what is no file", function()
    local job = save.write("/nowhere/at/all", {})
    assert.equal("weft.save.write: cannot create /nowhere/at/all.new: No such file or directory",
      require("support.jobs").failure(job))
    local sections, reason, text = save.read "/nowhere/at/all"
    assert.is_nil(sections)
    assert.equal("missing", reason)
    assert.equal("/nowhere/at/all is not there; /nowhere/at/all.kept is not there", text)
    sections, reason, text = save.read "/dev/null"
    assert.is_nil(sections)
    assert.equal("unreadable", reason)
    assert.equal("cannot read /dev/null: Invalid argument; /dev/null.kept is not there", text)
  end)
end)
