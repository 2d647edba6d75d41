-- SPDX-License-Identifier: MIT
--
-- What the specs about services share. Their modules are in spec/services.

local support = require "support"
require "support.jobs" -- its threads are there before the first spec
local weft = require "weft"

package.path = "spec/?.lua;" .. package.path

local services = {}

---A service of the newest world; its main function is given `...`.
function services.serve(main, options, ...)
  local all = { main = main, args = { n = select("#", ...), ... } }
  for name, value in pairs(options or {}) do all[name] = value end
  return support.within(weft.service, all)
end

---What a call gives, on this thread.
function services.ask(service, ...)
  local call = assert(service:call(...))
  assert(call:wait())
  return call:result()
end

return services
