-- SPDX-License-Identifier: MIT
-- An echo server and a hundred clients, all in one thread: each connection is a routine that reads
-- as far as there is something to read, and waits for its descriptor.
--
--   weft run examples/19-echo.lua     (needs LuaSocket: Debian's lua-socket)

local routine = require "weft.routine"
local socket = require "socket"

local CLIENTS, LINES = 100, 5

local function receive(peer)
  local start = ""
  while true do
    local line, err, part = peer:receive("*l", start)
    if err ~= "timeout" then return line end -- nil when the other side is gone
    start = part
    routine.waitFd(peer:getfd(), "r")
  end
end

local function send(peer, text)
  local sent, err, part = peer:send(text)
  while err == "timeout" do
    routine.waitFd(peer:getfd(), "w")
    sent, err, part = peer:send(text, part + 1)
  end
  return sent
end

local function nonblocking(peer)
  peer:settimeout(0)
  routine.defer(function() peer:close() end)
  return peer
end

local server = assert(socket.bind("127.0.0.1", 0, CLIENTS))
local _, port = server:getsockname()
local served, answers = 0, 0

local function serve(peer)
  nonblocking(peer)
  for line in receive, peer do
    send(peer, line:upper() .. "\n")
    served = served + 1
  end
end

local function ask(name)
  local peer = nonblocking(socket.tcp())
  peer:connect("127.0.0.1", port) -- goes on in the background
  routine.waitFd(peer:getfd(), "w")
  for i = 1, LINES do
    local line = ("client %d says %d"):format(name, i)
    send(peer, line .. "\n")
    assert(receive(peer) == line:upper())
    answers = answers + 1
  end
end

local accepting = routine.start(function()
  nonblocking(server)
  while true do
    local peer = server:accept()
    if peer then
      routine.start(serve, peer)
    else
      routine.waitFd(server:getfd(), "r")
    end
  end
end)

routine.start(function()
  local clients = {}
  for i = 1, CLIENTS do clients[i] = routine.start(ask, i) end
  routine.all(clients)
  accepting:cancel()
  print(("%d clients got %d answers to %d lines"):format(#clients, answers, served))
end)

-- Output:
-- 100 clients got 500 answers to 500 lines
