-- SPDX-License-Identifier: MIT
-- Pools: tables and buffers that go from hand to hand, and leave the collector nothing to do.
--
--   scripts/weft exec examples/22-pool.lua

local weft = require "weft"
local routine = require "weft.routine"

local world = weft.world{}
local sparks, scratch = weft.pool.tables(), weft.pool.buffers()

local function fly(x)
  local spark = sparks:rent()
  spark.x, spark.heat = x, 3
  while spark.heat > 0 do
    routine.nextTick()
    spark.x, spark.heat = spark.x + 1, spark.heat - 1
  end
  sparks:giveBack(spark)
end

-- A hundred sparks, ten at a time: ten tables are enough.
for wave = 1, 10 do
  for i = 1, 10 do world:start(fly, i) end
  for _ = 1, 4 do world:tick(1 / 60) end
  if wave == 10 then print("made:", sparks:stats().made) end
end

-- A buffer that is given back cannot be touched: not by mistake, either.
local heat = scratch:rent("f32", 64)
heat[1] = 5
scratch:giveBack(heat)
local _, err = pcall(function() return heat[1] end)
print(err:match "buffer is .*")
print("zeroed:", scratch:rent("f32", 64)[1] == 0)

-- In debug that holds for tables, too, and one is told where it was given back.
local strict = weft.pool.tables{ debug = true }
local spark = strict:rent()
strict:giveBack(spark)
print(select(2, pcall(function() return spark.x end)):match "weft.pool: (.*) at ")

-- What an actor rents goes back when it goes.
local actor = world:owner()
sparks:rent(actor)
print("rented:", sparks:stats().rented)
actor:destroy()
print("rented:", sparks:stats().rented)

world:close()

-- Output:
-- made:	10
-- buffer is given back to its pool
-- zeroed:	true
-- this table was given back
-- rented:	1
-- rented:	0
