-- SPDX-License-Identifier: MIT
-- jobs.lua - functions of Lua on other threads, there and back, against libuv's (luv.new_work).
--
-- usage: jobs.lua weft|luv serial|pipelined|string|table
--
-- serial: one after the other; pipelined: 1,000 at once; both with two numbers that are added.
-- string: a megabyte, table: 10,000 numbers, each there and back. luv takes no tables: its side
-- makes strings of them, in the fastest way that the machine has. Both pools have two threads;
-- times are those of the clock on the wall.

local uv = require "luv"
local measure = require "measure"

local side, what = arg[1], arg[2]
local THREADS, AT_ONCE, BYTES, ENTRIES = 2, 1000, 2 ^ 20, 10000

-- --- What is done ---------------------------------------------------------------------------

local function add(a, b) return a + b end
local function same(value) return value end

local big = ("weft"):rep(BYTES / 4)
local list = {}
for i = 1, ENTRIES do list[i] = i * 7 end

local function checkList(t)
  measure.check(#t == ENTRIES and t[1] == 7 and t[ENTRIES] == ENTRIES * 7, "another table")
end

-- --- weft -----------------------------------------------------------------------------------

local sides = { weft = {}, luv = {} }

local function weftJobs()
  local jobs = require "weft.jobs"
  jobs.configure { workers = THREADS, background = 0 }
  return jobs.run
end

local function result(job)
  job:wait()
  return job:result()
end

function sides.weft.serial()
  local start = weftJobs()
  return function(rounds)
    for i = 1, rounds do measure.check(result(start(add, i, 1)) == i + 1, "job %d", i) end
  end
end

function sides.weft.pipelined()
  local start, jobs = weftJobs(), {}
  return function(rounds)
    for _ = 1, rounds do
      for i = 1, AT_ONCE do jobs[i] = start(add, i, 1) end
      for i = 1, AT_ONCE do measure.check(result(jobs[i]) == i + 1, "job %d", i) end
    end
  end, AT_ONCE
end

function sides.weft.string()
  local start = weftJobs()
  return function(rounds)
    for _ = 1, rounds do measure.check(result(start(same, big)) == big, "another string") end
  end
end

function sides.weft.table()
  local start = weftJobs()
  return function(rounds)
    for _ = 1, rounds do checkList(result(start(same, list))) end
  end
end

-- --- luv ------------------------------------------------------------------------------------

local sum, got = 0, nil
local function took(value)
  got = value
  if type(value) == "number" then sum = sum + value end
end

function sides.luv.serial()
  local work = uv.new_work(add, took)
  return function(rounds)
    for i = 1, rounds do
      work:queue(i, 1)
      uv.run()
      measure.check(got == i + 1, "job %d", i)
    end
  end
end

function sides.luv.pipelined()
  local work = uv.new_work(add, took)
  return function(rounds)
    for _ = 1, rounds do
      sum = 0
      for i = 1, AT_ONCE do work:queue(i, 1) end
      uv.run()
      measure.check(sum == AT_ONCE * (AT_ONCE + 3) / 2, "another sum")
    end
  end, AT_ONCE
end

function sides.luv.string()
  local work = uv.new_work(same, took)
  return function(rounds)
    for _ = 1, rounds do
      work:queue(big)
      uv.run()
      measure.check(got == big, "another string")
    end
  end
end

-- A list of whole numbers as a string, and back: LuaJIT's own format, or so many at a time.
local function codec()
  local found, buffer = pcall(require, "string.buffer")
  if found then return buffer.encode, buffer.decode end
  local AT_A_TIME = 200
  local format, unpack = ("j"):rep(AT_A_TIME), table.unpack
  local pack, unpackString = string.pack, string.unpack
  return function(t)
    local parts = {}
    for i = 1, #t, AT_A_TIME do
      parts[#parts + 1] = pack(format, unpack(t, i, i + AT_A_TIME - 1))
    end
    return table.concat(parts)
  end, function(text)
    local t, at = {}, 1
    while at <= #text do
      local part = { unpackString(format, text, at) }
      at = part[AT_A_TIME + 1]
      table.move(part, 1, AT_A_TIME, #t + 1, t)
    end
    return t
  end
end

-- The function crosses as code, without what it captures: it makes the codec again, once a thread.
local function throughCodec(code, text)
  local ours = rawget(_G, "codecOfBench")
  if not ours then
    ours = { load(code, "codec", "b")() }
    rawset(_G, "codecOfBench", ours)
  end
  return ours[1](ours[2](text))
end

function sides.luv.table()
  local encode, decode = codec()
  local code, work = string.dump(codec), uv.new_work(throughCodec, took)
  return function(rounds)
    for _ = 1, rounds do
      work:queue(code, encode(list))
      uv.run()
      checkList(decode(got))
    end
  end
end

if side == "luv" then uv.os_setenv("UV_THREADPOOL_SIZE", THREADS) end
local run, ops = sides[side][what]()
measure.print("us", measure.wall(ops or 1, run, uv.hrtime) / 1e3)
