-- SPDX-License-Identifier: MIT
--
-- What the specs about saves share: a folder for each of them, in memory where that is, since a
-- disk takes its time for each sync.

local support = require "support"
require "support.jobs"
local save = require "weft.save"

local saves = {}

local folder

---A path in the folder of this spec, which is removed afterwards.
function saves.path(name)
  if not folder then
    local file = os.tmpname()
    os.remove(file)
    folder = file:gsub("^.*/", io.open("/dev/shm/.") and "/dev/shm/weft-" or "/tmp/weft-")
    assert(support.shell("mkdir " .. folder) == 0)
  end
  return folder .. "/" .. (name or "world")
end

---For `after_each`.
function saves.clean()
  if not folder then return end
  support.shell("rm -rf " .. folder)
  folder = nil
end

---Saves and waits; the result.
function saves.write(sections, options, name)
  local job = assert(save.write(saves.path(name), sections, options))
  assert(job:wait())
  return job:result()
end

---Saves sections and reads them again.
function saves.again(sections, options)
  saves.write(sections, options)
  return assert(save.read(saves.path()))
end

---The bytes of a file.
function saves.bytes(name)
  local file = assert(io.open(saves.path(name), "rb"))
  local bytes = file:read "*a"
  file:close()
  return bytes
end

---Puts bytes into a file.
function saves.store(bytes, name)
  local file = assert(io.open(saves.path(name), "wb"))
  file:write(bytes)
  file:close()
end

return saves
