-- SPDX-License-Identifier: MIT
-- A spec file as any project has one, with some tests that fail on purpose; run
-- by a busted that itself runs inside a routine. Its name keeps it out of our own
-- suite.

local log = {}

describe("a stack", function()
  local stack

  setup(function() log[#log + 1] = "setup" end)
  teardown(function() log[#log + 1] = "teardown" end)
  before_each(function() stack = {} end)
  after_each(function() log[#log + 1] = #stack end)

  it("is empty at first", function() assert.equal(0, #stack) end)

  it("gives back what was pushed", function()
    for i = 1, 5 do table.insert(stack, i) end
    assert.same({ 1, 2, 3, 4, 5 }, stack)
    assert.equal(5, table.remove(stack))
  end)

  it("fails on purpose", function() assert.same({ deep = { 1, 2 } }, { deep = { 1, 3 } }) end)

  it("raises on purpose", function() error("an error of its own", 0) end)

  pending("is not written yet", function() end)

  describe("with spies", function()
    it("counts calls", function()
      local spied = spy.new(function(a) return a * 2 end)
      for i = 1, 3 do spied(i) end
      assert.spy(spied).was.called(3)
      assert.spy(spied).was.called_with(2)
      assert.spy(spied).was_not.called_with(9)
    end)

    it("stubs and reverts", function()
      local object = { method = function() return "real" end }
      stub(object, "method").returns("stubbed")
      assert.equal("stubbed", object.method())
      object.method:revert()
      assert.equal("real", object.method())
    end)

    it("mocks a whole table", function()
      local mocked = mock({ a = function() return 1 end, b = function() return 2 end }, true)
      mocked.a(5)
      assert.stub(mocked.a).was.called_with(match.is_number())
      assert.stub(mocked.b).was_not.called()
    end)
  end)

  it("compares errors", function()
    assert.has_error(function() error("exactly", 0) end, "exactly")
    assert.error_matches(function() error "somewhere" end, "some.*")
    assert.has_no.errors(function() return sorted end)
  end)

  it("cleans up after itself", function()
    finally(function() log[#log + 1] = "finally" end)
    assert.is_true(true)
  end)

  it("calls metamethods", function()
    local meta = { __eq = function(a, b) return a.n == b.n end,
      __tostring = function(v) return "value " .. v.n end }
    assert.equal(setmetatable({ n = 1 }, meta), setmetatable({ n = 1 }, meta))
    assert.has_error(function()
      assert.equal(setmetatable({ n = 1 }, meta), setmetatable({ n = 2 }, meta))
    end)
  end)

  it("works in coroutines", function()
    local seen = {}
    local co = coroutine.wrap(function()
      for i = 1, 3 do coroutine.yield(i) end
    end)
    for i = 1, 3 do seen[i] = co() end
    assert.same({ 1, 2, 3 }, seen)
  end)
end)

insulate("an insulated block", function()
  it("may set a global", function()
    _G.insulated = true
    assert.is_true(insulated)
  end)
end)

expose("the next block", function()
  it("does not see it", function() assert.is_nil(rawget(_G, "insulated")) end)
end)
