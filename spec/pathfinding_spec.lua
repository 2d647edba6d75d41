-- SPDX-License-Identifier: MIT
-- Searches as jobs, awaited by a hundred routines: examples/pathfinding.lua finds every length that
-- the scenario files give. The maps of the Moving AI Lab are looked for beside the project; the
-- project has one small map of its own.

local support = require "support"

local function search(map)
  local command = ("timeout 110 scripts/weft --vm %s exec examples/pathfinding.lua '%s' '%s.scen'")
    :format(support.vm, map, map)
  local status, text = support.shell(command)
  return status, text:match "(%d+ of %d+) searches", text
end

describe("searches as jobs", function()
  it("find every length of the map that comes with the project", function()
    local status, found, text = search "examples/maps/courtyard.map"
    assert.equal("61 of 61", found, text)
    assert.equal(0, status)
  end)

  local maps = { arena = 100, brc505d = 300, hrt201d = 300, lak303d = 300 }
  for _, name in ipairs { "arena", "brc505d", "hrt201d", "lak303d" } do
    local path = "../shared/data/movingai/" .. name .. ".map"
    local file = io.open(path)
    if file then
      file:close()
      it("find every published length of " .. name, function()
        local status, found, text = search(path)
        assert.equal(("%d of %d"):format(maps[name], maps[name]), found, text)
        assert.equal(0, status)
      end)
    end
  end
end)
