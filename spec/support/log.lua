-- SPDX-License-Identifier: MIT
--
-- A log of words that callbacks write and specs read: `before_each(log.clear)` in each file.

local log = {}

function log.clear()
  for i = #log, 1, -1 do log[i] = nil end
end

---A callback that writes a word.
function log.say(word)
  return function() log[#log + 1] = word end
end

---What was written, in one line.
function log.text()
  return table.concat(log, " ")
end

---What was written since the last time, in one line.
function log.read()
  local text = log.text()
  log.clear()
  return text
end

return log
