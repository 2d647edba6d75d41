-- A module that returns a table with a function `main`.
local service = require "weft.service"
return { main = function() for x in service.receive do service.reply(x * 2) end end }
