-- SPDX-License-Identifier: MIT
-- A plain program on Debian's Penlight: lists, tables, strings, templates, the
-- lexer, pretty printing, data files, classes and sequences.

local List = require "pl.List"
local OrderedMap = require "pl.OrderedMap"
local Set = require "pl.Set"
local class = require "pl.class"
local data = require "pl.data"
local func = require "pl.func"
local lexer = require "pl.lexer"
local permute = require "pl.permute"
local pretty = require "pl.pretty"
local seq = require "pl.seq"
local sip = require "pl.sip"
local stringio = require "pl.stringio"
local stringx = require "pl.stringx"
local tablex = require "pl.tablex"
local template = require "pl.template"
local text = require "pl.text"
local comprehension = require "pl.comprehension".new()

-- List and tablex.
local list = List { 10, 20, 30 }
list:append(40):insert(1, 5)
print(list, list:slice(2, 3), list:index(30), list:len())
print(list:map(function(x) return x * 2 end), list:filter(function(x) return x > 15 end))
print(list:reduce(function(a, b) return a + b end), list:clone():reverse(), list:contains(20))
print(List.range(1, 10):partition(function(x) return x % 3 == 0 and "three" or "other" end).three)
print(List("hello"):sorted(), List { 3, 1, 2 }:sort(function(a, b) return a > b end))
print(pretty.write(tablex.map(function(v) return v:upper() end, { "a", "b" }), ""))
print(pretty.write(tablex.zip({ 1, 2 }, { "x", "y" }), ""))
print(tablex.deepcompare({ a = { 1, { 2 } } }, { a = { 1, { 2 } } }), tablex.size { a = 1, b = 2 })
local keys = tablex.keys { one = 1, two = 2, three = 3 }
table.sort(keys)
print(table.concat(keys, " "), tablex.find({ 5, 6, 7 }, 6), tablex.count_map({ "a", "b", "a" }).a)
for k, v in tablex.sort { b = 2, a = 1, c = 3 } do io.write(k, "=", v, " ") end
print()
print(pretty.write(tablex.merge({ a = 1, b = 2 }, { b = 3, c = 4 }, true)))
print(tablex.reduce("*", { 1, 2, 3, 4 }))

-- Strings.
print(stringx.split("one,two,,three", ","), stringx.strip "  both  " .. "|")
print(stringx.startswith("weft", "we"), stringx.endswith("weft", "ft"))
print(stringx.count("banana", "an"))
print(stringx.center("mid", 9, "*"), stringx.ljust("l", 4, "-"), stringx.rjust("r", 4, "-"))
print(stringx.replace("a.b.c", ".", "+"), stringx.title "hello wide world", stringx.isalpha "abc")
for line in stringx.lines "first\nsecond\nthird" do print("line", line) end
print(stringx.partition("key=value", "="))
print(text.wrap("the quick brown fox jumps over the lazy dog again and again", 24))
print(text.dedent "    indented\n      more\n    back")

-- Templates, with loops and conditions.
local TEMPLATE = [[
# for i, actor in ipairs(actors) do
#   if actor.hp > 0 then
$(i). $(actor.name:upper()) has $(actor.hp) left
#   else
$(i). $(actor.name) is gone
#   end
# end
total $(sum(actors))]]
print(assert(template.substitute(TEMPLATE, {
  ipairs = ipairs,
  actors = { { name = "orc", hp = 7 }, { name = "elf", hp = 0 }, { name = "imp", hp = 2 } },
  sum = function(actors)
    local total = 0
    for _, actor in ipairs(actors) do total = total + actor.hp end
    return total
  end,
})))
print(template.substitute("$(broken", {}))

-- The lexer.
local tokens = List()
for kind, value in lexer.lua "local x = 10 + 'text' -- note" do
  tokens:append(kind .. ":" .. tostring(value))
end
print(tokens:join " ")
local stream = lexer.scan "alpha = 10, beta = 20.5"
print(stream(), stream(), stream())
for kind, value in lexer.cpp "int main() { return 0x1F; }" do
  io.write(kind, "<", tostring(value), "> ")
end
print()

-- Pretty printing and reading back.
local value = { name = "nested", list = { 1, 2, { 3, { 4 } } }, flags = { on = true, off = false } }
local written = pretty.write(value)
print(written)
print(tablex.deepcompare(value, pretty.read(written)), pretty.number(123456789, "N", 2))
print(pretty.read "{ 1, os.exit() }")

-- Data files with columns.
local table_ = data.read(stringio.open [[
name,strength,speed
orc,12,3.5
elf,7,9.25
imp,2,8
]])
print(table_.fieldnames, #table_, table_:column_by_name "strength")
print(List(table_:column_by_name "speed"):reduce "+")
for name, strength in table_:select "name,strength where strength > 5 sort by strength" do
  print("selected", name, strength)
end

-- Classes with properties and operators.
class.Animal()
function Animal:_init(name) self.name = name end
function Animal:__tostring() return self.name .. ": " .. self:speak() end
class.Dog(Animal)
function Dog:speak() return "bark" end
class.Cat(Animal)
function Cat:_init(name, age)
  self:super(name)
  self.age = age
end
function Cat:speak() return ("meow"):rep(self.age, " ") end
Cat.__lt = function(a, b) return a.age < b.age end
local cats = List { Cat("Tom", 3), Cat("Kit", 1), Cat("Old", 2) }
print(Dog "Rex", cats[1], cats[1]:is_a(Animal), Dog "x":is_a(Cat), Animal:class_of(cats[1]))
table.sort(cats)
print(cats:map(tostring))

-- Ordered maps, sets, sequences, functions, comprehensions, patterns.
local map = OrderedMap()
map:set("z", 1):set("a", 2):set("m", 3)
print(map, map:keys(), pretty.write(map:values(), ""))
local odd, small = Set { 1, 3, 5, 7 }, Set { 1, 2, 3 }
print(Set.len(odd * small), Set.issubset(Set { 1 }, odd))
print(Set.len(odd + small), Set.len(odd - small))
print(seq.copy(seq.take(seq.filter(seq.range(1, 100), function(x) return x % 7 == 0 end), 4)))
print(seq.sum { 1, 2, 3 }, seq.reduce("*", { 2, 3, 4 }))
print(seq.count({ 1, 5, 9 }, function(x) return x > 3 end))
local _1, _2 = func._1, func._2
print(tablex.map(_1 + 10, { 1, 2 })[2], func.compose(math.sqrt, math.abs)(-16))
print(func.I(_1 * _2 + 1)(4, 5))
print(List(comprehension "x^2 for x=1,5 if x%2==1" ()))
print(comprehension "sum(x*y for x for y)"({ 1, 2 }, { 10, 20 }))
local result = {}
print(sip.match("$v{key} = $d{n}", "count = 42", result), result.key, result.n)
local permutations = 0
for _ in permute.iter { 1, 2, 3, 4 } do permutations = permutations + 1 end
print(permutations)
local out = stringio.create()
out:write("to ", "a ", "string ", 5)
print(out:value())
