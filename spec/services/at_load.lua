-- A module that serves while it is loaded.
local service = require "weft.service"
for x in service.receive do service.reply(x + 1) end
