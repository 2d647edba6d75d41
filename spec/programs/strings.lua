-- SPDX-License-Identifier: MIT
-- A plain Lua program: the string library, from patterns to formats.

local function show(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  print(table.concat(out, " | "))
end

show("find", ("hello world"):find("o w"), ("hello"):find("l+"), ("a.b"):find(".", 1, true))
show("find captures", ("key = value"):find("(%w+)%s*=%s*(%w+)"))
show("match", ("2024-05-17"):match("(%d+)-(%d+)-(%d+)"), ("  trim  "):match("^%s*(.-)%s*$"))
show("position captures", ("hello"):match("()ll()"))
show("balanced", ("f(a(b)c)d"):match("%b()"), ("[[x]]"):match("%b[]"))
show("frontier", (("THE (quick) fox"):gsub("%f[%a]%a+", string.lower)))
show("anchors", ("aaa"):find("^a-$"), ("x\n"):find("\n$"))
show("sets", ("a-b]c^d"):gsub("[]^-]", "_"))
show("sub", ("abcdef"):sub(2, -2), ("abc"):sub(-10, 10), ("abc"):sub(3, 2))
show("byte", ("AZaz"):byte(1, -1))
show("char", string.char(72, 105, 33))
show("rep", ("ab"):rep(3), ("ab"):rep(0), #("x"):rep(1000))
show("reverse", ("stressed"):reverse(), ("Mixed"):upper(), ("Mixed"):lower())

for word, n in ("one=1, two=22, three=333"):gmatch("(%w+)=(%d+)") do show("gmatch", word, n) end
show("gsub limits", ("aaaa"):gsub("a", "b", 2))
show("gsub table", ("$name is $age"):gsub("%$(%w+)", { name = "Lua", age = 30 }))
show("gsub function", ("3 4 5"):gsub("%d", function(d) return d * d end))
show("gsub keeps", ("abc"):gsub("%w", function(c) if c == "b" then return false end end))
show("gsub refs", ("hello world"):gsub("(%w+) (%w+)", "%2 %1 %0"))
show("empty matches", ("abc"):gsub("", "-"))

show("ints", ("%d %5d|%-5d|%05d|%+d"):format(42, 42, 42, 42, 42))
show("floats", ("%.3f %10.2e %g %g"):format(math.pi, 12345.678, 1e20, 0.1))
show("hex", ("%x %X %#x %o"):format(255, 255, 255, 8))
show("text", ("%s|%10s|%-10s|%.2s"):format("text", "right", "left", "cut"))
show("quoted", ("%q"):format('a "quoted"\n\\ line'))
show("char and percent", ("%c%c%%"):format(76, 117))
show("tostring", ("%s %s %s"):format(nil, true, 12))
for _, bad in ipairs { "%y", "%", "%10.123f" } do
  show("bad format", bad, (pcall(string.format, bad, 1)))
end
for _, bad in ipairs { "[a", "%", "(a", "%f", "%b" } do
  show("bad pattern", bad, (pcall(string.find, "a", bad)))
end
show("too complex", (pcall(string.match, ("a"):rep(300000), ("a?"):rep(300000))))

-- Programs of some length on top of it.
local text = [[
It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief, it was the epoch of
incredulity, it was the season of Light, it was the season of Darkness]]
local counts, order = {}, {}
for word in text:lower():gmatch("%a+") do
  if not counts[word] then
    counts[word] = 0
    order[#order + 1] = word
  end
  counts[word] = counts[word] + 1
end
table.sort(order, function(a, b)
  if counts[a] ~= counts[b] then return counts[a] > counts[b] end
  return a < b
end)
for i = 1, 8 do show("word", order[i], counts[order[i]]) end

local function caesar(s, shift)
  return (s:gsub("%a", function(c)
    local base = c:match("%l") and 97 or 65
    return string.char((c:byte() - base + shift) % 26 + base)
  end))
end
show("caesar", caesar("Attack at dawn", 3), caesar(caesar("Attack at dawn", 3), -3))

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local function base64(s)
  local out = {}
  for i = 1, #s, 3 do
    local a, b, c = s:byte(i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    for k = 3, 0, -1 do
      local digit = math.floor(n / 64 ^ k) % 64
      out[#out + 1] = ALPHABET:sub(digit + 1, digit + 1)
    end
    if not c then out[#out] = "=" end
    if not b then out[#out - 1] = "=" end
  end
  return table.concat(out)
end
for _, s in ipairs { "", "f", "fo", "foo", "foob", "fooba", "foobar" } do show(s, base64(s)) end

local function csv(line)
  local fields, at = {}, 1
  line = line .. ","
  while at <= #line do
    if line:sub(at, at) == '"' then
      local piece, finish = "", nil
      repeat
        local s
        s, finish = line:match('^"([^"]*)"()', at)
        piece = piece .. s
        at = finish
        if line:sub(at, at) == '"' then piece = piece .. '"' end
      until line:sub(at, at) ~= '"'
      fields[#fields + 1] = piece
      at = line:find(",", at, true) + 1
    else
      local comma = line:find(",", at, true)
      fields[#fields + 1] = line:sub(at, comma - 1)
      at = comma + 1
    end
  end
  return fields
end
show("csv", (table.unpack or unpack)(csv 'a,"b ""quoted"", c",,d'))

local ROMAN = { { 1000, "M" }, { 900, "CM" }, { 500, "D" }, { 400, "CD" }, { 100, "C" },
  { 90, "XC" }, { 50, "L" }, { 40, "XL" }, { 10, "X" }, { 9, "IX" }, { 5, "V" }, { 4, "IV" },
  { 1, "I" } }
local function roman(n)
  local out = ""
  for _, pair in ipairs(ROMAN) do
    while n >= pair[1] do out, n = out .. pair[2], n - pair[1] end
  end
  return out
end
local total = 0
for n = 1, 2000 do total = total + #roman(n) end
show("roman", roman(1994), roman(3888), total)

local hash = 5381
for i = 1, 5000 do
  for c in tostring(i):gmatch "." do hash = (hash * 33 + c:byte()) % 4294967296 end
end
show("hash", ("%.0f"):format(hash))
