-- SPDX-License-Identifier: MIT
-- The catalogue of ways in which a script can come to a wait: under callbacks
-- of the C library, in metamethods, iterators, protected calls, coroutines of
-- its own. A way is a table:
--   name    a phrase that fits into "... under <name>"
--   run     function(pause) -> string. It calls `pause` a few times from the
--           place that the name tells and returns what it computed. Called
--           with an empty `pause`, outside any routine, it gives the answer
--           that a routine must get as well: that is how specs check it.
--   pinned  true where C frames are in the way on both VMs, false where none
--           are; nil where the VMs differ.
--   closing true where several waits follow each other in `__close`: a cancel is raised in each,
--           a tick apart.
--   concat  true where `__concat` is on the way, which Lua 5.4.4 takes badly: nothing that moves
--           the stack may be nested in it.
--   handler true for a wait in a message handler, where Lua treats an error
--           in a manner of its own.
-- A way lets errors of `pause` through to its caller, unchanged.

local ways = {}

local function add(list)
  for _, way in ipairs(list) do ways[#ways + 1] = way end
end

add(require "ways.library")
add(require "ways.metamethods")
add(require "ways.control")
if _VERSION == "Lua 5.4" then add(require "ways.modern") end

return ways
