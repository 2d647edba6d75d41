-- A module that returns its main function: it answers with what it was sent.
local service = require "weft.service"
return function(greeting)
  for name in service.receive do service.reply(greeting .. " " .. name) end
end
