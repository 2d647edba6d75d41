-- SPDX-License-Identifier: MIT
-- A plain Lua program: the io and os libraries on temporary files.

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  print(table.concat(out, " | "))
end

local path, other = os.tmpname(), os.tmpname()

local file = assert(io.open(path, "w"))
line("type", io.type(file), io.type "file", io.type(io.stdout))
line("write", file:write("first\n", 2, "\n", 3.5, "\nlast line") == file)
line("seek", file:seek(), file:seek("set", 2), file:seek("end"))
line("close", file:close(), io.type(file), (pcall(file.write, file, "x")))
line("closed", (tostring(file)))

local all = {}
for text in io.lines(path) do all[#all + 1] = text end
line("lines", unpack and unpack(all) or table.unpack(all))

file = assert(io.open(path))
line("formats", file:read "*l", file:read "*n", file:read "*n", file:read(3), file:read "*a")
line("at the end", file:read "*l", file:read(0), file:read "*a")
file:seek "set"
line("zero", file:read(0), file:read(5), file:read(1) == "\n")
file:seek("set", 6)
line("number", file:read "*n", file:read "*n")
file:close()

file = assert(io.open(path, "a+"))
file:write "\nappended"
file:seek "set"
local content = file:read "*a"
line("append", #content, content:match "[^\n]*$")
file:close()

file = assert(io.open(path, "r+"))
file:write "FIRST"
file:seek("set", 0)
line("update", file:read "*l")
line("buffer", file:setvbuf("full", 1024), file:setvbuf "no", file:flush() == file)
file:close()

local binary = {}
for i = 0, 255 do binary[#binary + 1] = string.char(i) end
binary = table.concat(binary)
file = assert(io.open(other, "wb"))
for _ = 1, 40 do file:write(binary) end
file:close()
file = assert(io.open(other, "rb"))
local read, same = 0, true
while true do
  local block = file:read(256)
  if not block then break end
  read, same = read + #block, same and block == binary
end
file:close()
line("binary", read, same)

file = assert(io.open(other, "w"))
for i = 1, 400 do file:write(i, " ", i * i, "\n") end
file:close()
local sum, rows = 0, 0
for text in io.lines(other) do
  local a, b = text:match "(%d+) (%d+)"
  sum, rows = sum + b - a, rows + 1
end
line("table of squares", rows, sum)
file = io.open(other)
local numbers = 0
while true do
  local n = file:read "*n"
  if not n then break end
  numbers = numbers + n
end
file:close()
line("numbers", numbers)

io.output(other)
io.write("through ", "the default\n", 12, "\n")
io.close()
io.output(io.stdout)
io.input(other)
line("input", io.read "*l", io.read "*n", io.read "*l", io.read "*l")
io.close(io.input())
io.input(io.stdin)

local missing, why, code = io.open("/nowhere/at/all", "r")
line("missing", missing, why, code)
line("bad mode", (pcall(io.open, path, "nonsense")))
line("missing lines", (pcall(io.lines, "/nowhere/at/all")))
local scratch = io.tmpfile()
scratch:write "scratch"
scratch:seek("set", 3)
line("tmpfile", scratch:read "*a", scratch:close())

local moved = other .. ".moved"
line("rename", os.rename(other, moved), io.open(other), (os.rename(other, moved)))
line("remove", os.remove(moved), (os.remove(moved)))
os.remove(path)

line("time", os.time { year = 2001, month = 2, day = 3, hour = 4 } ==
  os.time { year = 2001, month = 1, day = 34, hour = 4 })
line("date", os.date("!%Y-%m-%d %H:%M:%S", 86400), os.date("!*t", 0).year, os.date("!%A %j", 1e9))
line("difference", os.difftime(os.time { year = 2000, month = 1, day = 2, hour = 0 },
  os.time { year = 2000, month = 1, day = 1, hour = 0 }))
line("others", type(os.time()), type(os.clock()), os.getenv "NO_SUCH_VARIABLE",
  type(os.getenv "PATH"), os.setlocale "C")
local pipe = io.popen "echo from the shell; exit 0"
line("popen", pipe:read "*l", pipe:read "*l", (pipe:close()))
line("execute", (os.execute "true") and "yes" or "no")
