-- SPDX-License-Identifier: MIT
-- rows.lua - what the bench measures: groups of sides that run in turn, and the rows of the table
-- that each group gives.
--
-- A side is a program that checks its work and then prints "key number" lines. A row compares one
-- key of our side with the same key of a peer. `bar` is the highest ratio that is good enough,
-- `limit` the highest value, `least` the lowest; a row with none of them is reported only. Sides of
-- a `free` group have several threads and run on all processors.

local vms = { "lua5.4", "luajit" }
local groups = {}

local function add(group) groups[#groups + 1] = group end

-- A Lua program of bench/lua on a VM.
local function script(vm, program, ...)
  return { vm = vm, program = "bench/lua/" .. program .. ".lua", args = { ... } }
end

-- A program of build/bench.
local function binary(program, ...)
  return { program = "build/bench/" .. program, args = { ... } }
end

local function needing(what, side)
  side.needs = what
  return side
end

local function thousands(n)
  return (tostring(n):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

local function routines(n) return thousands(n) .. (n == 1 and " routine" or " routines") end

-- Routines that resume and wait in creation order: plain coroutines, then what others made.
local function ordered(vm, n)
  local jit = vm == "luajit"
  local name = "resume+wait in order, " .. routines(n)
  local group = {
    sides = {
      weft = script(vm, "resume", "weft", "ordered", n),
    },
    rows = {},
  }
  local function peer(label, side, bar)
    group.sides[label] = side
    group.rows[#group.rows + 1] = { name = name, vm = vm, peer = label, bar = bar }
  end
  -- One routine costs an almost empty tick: that is told, not judged.
  local bar = n > 1 and (jit and 1 or 0.75) or nil
  peer("plain loop", script(vm, "resume", "plain", "ordered", n), bar)
  if n >= 100 and n <= 10000 then
    peer("cqueues", needing("cqueues", script(vm, "loops", "cqueues", n)), 0.2)
    peer("cqueues, no timer", needing("cqueues", script(vm, "loops", "cqueues-bare", n)))
    peer("luv timers", needing("luv", script(vm, "loops", "luv", n)), 0.2)
    if jit then
      peer("Tarantool", needing("tarantool", script("tarantool", "tarantool", "compact", n)), 0.35)
    end
  end
  add(group)
end

local function shuffled(vm, n)
  add {
    sides = {
      weft = script(vm, "resume", "weft", "shuffled", n),
      ["plain loop"] = script(vm, "resume", "plain", "shuffled", n),
    },
    rows = { {
      name = "resume+wait shuffled, " .. routines(n), vm = vm, peer = "plain loop",
      bar = vm == "luajit" and 0.7 or 0.6,
    } },
  }
end

local function pinned(vm, how, n)
  add {
    sides = {
      weft = script(vm, "pinned", how, n),
      Tarantool = needing("tarantool", script("tarantool", "tarantool", "pinned", n)),
    },
    rows = { {
      name = "pinned wait in " .. how .. ", " .. routines(n), vm = vm, peer = "Tarantool",
      bar = 0.8,
    } },
  }
end

for _, vm in ipairs(vms) do
  for _, n in ipairs { 1, 100, 1000, 10000, 100000 } do ordered(vm, n) end
end
for _, vm in ipairs(vms) do
  for _, n in ipairs { 10000, 100000 } do shuffled(vm, n) end
end
for _, vm in ipairs(vms) do
  for _, n in ipairs { 100, 1000, 10000 } do pinned(vm, "sort", n) end
  pinned(vm, "gsub", 1000)
end

for _, vm in ipairs(vms) do
  add {
    runs = 5,
    agree = { "digest", "wakes" },
    sides = {
      weft = script(vm, "sleepers", "weft", 100000),
      ["Lua heap scheduler"] = script(vm, "sleepers", "heap", 100000),
    },
    rows = { {
      name = "100,000 sleepers, 10 minutes", vm = vm, peer = "Lua heap scheduler", key = "ms",
      bar = vm == "luajit" and 0.5 or 0.2,
    } },
  }
end

-- A million timers at once, against what Lua alone and what libuv can do.
for _, vm in ipairs(vms) do
  local rows = {}
  for _, what in ipairs { "arm", "cancel", "expire" } do
    for _, peer in ipairs { "Lua heap", "luv timers" } do
      rows[#rows + 1] = {
        name = ("timers: %s, 1,000,000"):format(what == "cancel" and "cancel+arm" or what),
        vm = vm, peer = peer, key = what, unit = "ns",
      }
    end
  end
  add {
    runs = 3,
    sides = {
      weft = script(vm, "timers", "weft", 1000000),
      ["Lua heap"] = script(vm, "timers", "heap", 1000000),
      ["luv timers"] = needing("luv", script(vm, "timers", "luv", 1000000)),
    },
    rows = rows,
  }
end

for _, vm in ipairs(vms) do
  add {
    runs = 3,
    sides = {
      weft = script(vm, "memory", "weft", 100000),
      ["plain coroutine"] = script(vm, "memory", "plain", 100000),
    },
    rows = { {
      name = "resident bytes per sleeper, of 100,000", vm = vm, peer = "plain coroutine",
      key = "bytes", limit = vm == "luajit" and 650 or 1300,
    } },
  }
end

for _, vm in ipairs(vms) do
  add {
    sides = {
      weft = script(vm, "start", "weft"),
      ["coroutine.wrap"] = script(vm, "start", "wrap"),
    },
    rows = { {
      name = "start+finish of a short routine", vm = vm, peer = "coroutine.wrap", bar = 0.8,
    } },
  }
  add {
    sides = {
      weft = script(vm, "start", "weft", "argument"),
      ["coroutine.wrap"] = script(vm, "start", "wrap", "argument"),
    },
    rows = { {
      name = "start+finish of one with an argument", vm = vm, peer = "coroutine.wrap",
    } },
  }
end

for _, vm in ipairs(vms) do
  add {
    sides = {
      weft = script(vm, "every", "every", 1000),
      ["wait by hand"] = script(vm, "every", "wait", 1000),
    },
    rows = { { name = "turn of every, 1,000 routines", vm = vm, peer = "wait by hand" } },
  }
end

-- What a routine's life costs beside its waits. "close" is Lua 5.4's.
local lives = {
  { "join", 1000, "start and join of a short routine, 1,000 at once" },
  { "all", 1000, "start and end of one of the 1,000 of an all" },
  { "cancel-plain", 10000, "cancel of one of 10,000 sleepers" },
  { "cancel-close", 10000, "cancel of one of 10,000 with <close>" },
  { "cancel-defer", 10000, "cancel of one of 10,000 with a defer" },
  { "destroy", 10000, "end of one of an owner's 10,000 sleepers" },
  { "inspect", 10000, "entry of inspect, of 10,000" },
}
for _, vm in ipairs(vms) do
  for _, life in ipairs(lives) do
    if vm ~= "luajit" or life[1] ~= "cancel-close" then
      add {
        sides = {
          weft = script(vm, "lives", "weft", life[1], life[2]),
          ["scheduler by hand"] = script(vm, "lives", "hand", life[1], life[2]),
        },
        rows = { { name = life[3], vm = vm, peer = "scheduler by hand" } },
      }
    end
  end
end

for _, vm in ipairs(vms) do
  for _, what in ipairs { "send", "broadcast" } do
    add {
      sides = {
        weft = script(vm, "messages", "weft", what, 1000),
        ["queue by hand"] = script(vm, "messages", "hand", what, 1000),
      },
      rows = { { name = "message told, " .. what .. " to 1,000 owners", vm = vm,
        peer = "queue by hand" } },
    }
  end
end

for _, vm in ipairs(vms) do
  for _, n in ipairs { 1, 10, 1000 } do
    add {
      sides = {
        weft = script(vm, "signals", "weft", "listeners", n),
        ["loop over a table"] = script(vm, "signals", "plain", "listeners", n),
      },
      rows = { { name = "signal fired, a call of " .. thousands(n), vm = vm,
        peer = "loop over a table" } },
    }
  end
  add {
    sides = {
      weft = script(vm, "signals", "weft", "waiters", 1000),
      ["loop over a table"] = script(vm, "signals", "plain", "waiters", 1000),
    },
    rows = { { name = "signal fired, a resume of 1,000", vm = vm, peer = "loop over a table" } },
  }
  add {
    sides = {
      weft = script(vm, "channels", "weft", 100),
      ["cqueues.condition"] = needing("cqueues", script(vm, "channels", "cqueues", 100)),
    },
    rows = { { name = "value through a channel, 100 pairs", vm = vm,
      peer = "cqueues.condition" } },
  }
end

add {
  free = true,
  sides = { weft = binary("posts"), ["queue by hand"] = binary("posts-bare") },
  rows = {
    { name = "post from another thread, as fast as it can", vm = "C", peer = "queue by hand" },
    { name = "post from another thread to its run, median", vm = "C", peer = "queue by hand",
      key = "median", unit = "ns" },
    { name = "post from another thread to its run, 99 of 100", vm = "C", peer = "queue by hand",
      key = "high", unit = "ns" },
  },
}

for _, n in ipairs { 2, 1000, 10000, 100000 } do
  add {
    sides = {
      weft = binary("switch", n),
      ["boost jump_fcontext"] = needing("boost", binary("boost-switch", n)),
    },
    rows = { {
      name = "native switch, " .. thousands(n) .. " fibers", vm = "C",
      peer = "boost jump_fcontext", bar = 1.1,
    } },
  }
end

add {
  sides = {
    weft = binary("pooled"),
    ["boost pooled fiber"] = needing("boost", binary("boost-pooled")),
  },
  rows = { {
    name = "start+finish of a pooled fiber", vm = "C", peer = "boost pooled fiber", bar = 0.5,
  } },
}

add {
  runs = 1,
  sides = { weft = binary("allocations") },
  rows = { {
    name = "C heap operations in a million operations", vm = "C", key = "allocations", limit = 0,
    unit = "",
  } },
}

for _, n in ipairs { 1000, 10000, 100000, 1000000 } do
  local rows = {}
  for i, what in ipairs { "arm", "cancel", "expire" } do
    rows[i] = {
      name = ("heap %s, %s"):format(i == 1 and what or what .. "+arm", thousands(n)), vm = "C",
      peer = "bare 4-ary heap", key = what, bar = 1.25, unit = "ns",
    }
  end
  add {
    runs = n < 1000000 and 7 or 3,
    sides = { weft = binary("heap", n), ["bare 4-ary heap"] = binary("heap-bare", n) },
    rows = rows,
  }
end

-- --- Jobs -----------------------------------------------------------------------------------
-- Times are those of the clock on the wall. One of two threads is the caller's, but where
-- c/jobs.c says otherwise.

local function jobs(threads, ...)
  local side = binary("jobs", ...)
  side.free = threads > 1
  return side
end

local function tbb(threads, ...)
  local side = needing("tbb", binary("tbb-jobs", ...))
  side.free = threads > 1
  return side
end

local function free(side)
  side.free = true
  return side
end

local threadsText = { "one thread", "two threads" }

for _, n in ipairs { 10000, 1000000 } do
  for threads = 1, 2 do
    local name = ("%s empty jobs, %s"):format(thousands(n), threadsText[threads])
    local rows = { { name = name, vm = "C", peer = "oneTBB", bar = 0.7 } }
    if threads == 1 then
      rows[2] = { name = name .. ", each", vm = "C", limit = 20, unit = "ns" }
    elseif n == 10000 then
      rows[2] = { name = name .. ", all", vm = "C", key = "ms", limit = 0.75 }
    end
    add {
      sides = {
        weft = jobs(threads, "empty", n, threads),
        oneTBB = tbb(threads, "empty", n, threads),
      },
      rows = rows,
    }
  end
end

for threads = 1, 2 do
  add {
    sides = {
      weft = jobs(threads, "fib", 27, threads),
      oneTBB = tbb(threads, "fib", 27, threads),
    },
    rows = { {
      name = "fork-join fib(27), a spawn, " .. threadsText[threads], vm = "C", peer = "oneTBB",
      bar = 0.3,
    } },
  }
end

add {
  sides = { weft = jobs(2, "fib", 27, 2, "suspend"), oneTBB = tbb(2, "fib", 27, 2) },
  rows = { {
    name = "the same with suspended fibers, two threads", vm = "C", peer = "oneTBB", bar = 1,
  } },
}

for _, how in ipairs { "even", "uneven" } do
  local name = "parallel_for, 1,000,000 " .. how .. " items"
  add {
    sides = {
      weft = jobs(2, "for", how),
      oneTBB = tbb(2, "for", how),
      OpenMP = free(binary("openmp", "for", how)),
    },
    rows = {
      { name = name, vm = "C", peer = "oneTBB", key = "us", bar = 1.03 },
      { name = name, vm = "C", peer = "OpenMP", key = "us", bar = 1.03 },
    },
  }
end

-- A question to another thread, and its answer.
for _, vm in ipairs(vms) do
  for _, atOnce in ipairs { 1, 16 } do
    local sides = {
      weft = free(script(vm, "services", "weft", atOnce)),
      ["luv work"] = needing("luv", free(script(vm, "services", "work", atOnce))),
    }
    local name = atOnce == 1 and "service round trip" or "service, 16 calls at once"
    local rows = { { name = name, vm = vm, peer = "luv work", key = "us", bar = 1, unit = "us" } }
    if atOnce == 1 then
      local peer = "luv thread"
      sides[peer] = needing("luv", free(script(vm, "services", "thread")))
      rows[2] = { name = name, vm = vm, peer = peer, key = "us", bar = 1, unit = "us" }
    end
    add { runs = 5, sides = sides, rows = rows }
  end
  local modules = "build/release/examples/" .. vm
  add {
    runs = 3,
    sides = {
      weft = free(script(vm, "logins", "service", modules)),
      ["in the routine"] = needing("argon2", free(script(vm, "logins", "routine", modules))),
    },
    rows = { {
      name = "tick with a password check", vm = vm, peer = "in the routine", key = "us", bar = 0.1,
      unit = "us",
    } },
  }
end

do
  local name = "post to a parked pool, "
  add {
    sides = { weft = jobs(2, "wake"), ["bare futex"] = free(binary("futex")) },
    rows = {
      { name = name .. "p50", vm = "C", peer = "bare futex", key = "p50", bar = 1.5, unit = "us" },
      { name = name .. "p99", vm = "C", peer = "bare futex", key = "p99", bar = 2, unit = "us" },
    },
  }
end

add {
  runs = 3,
  sides = { weft = jobs(2, "idle") },
  rows = { { name = "idle pool", vm = "C", key = "percent", limit = 0.01, unit = "%" } },
}

for _, how in ipairs { "short", "long" } do
  local name = "critical behind " .. (how == "short" and "1,000 of 1 ms, " or "20 of 200 ms, ")
  add {
    runs = 3,
    sides = { weft = jobs(2, "critical", how) },
    rows = {
      { name = name .. "p50", vm = "C", key = "p50", limit = 0.5, unit = "ms" },
      { name = name .. "p99", vm = "C", key = "p99", limit = 1, unit = "ms" },
      { name = name .. "worst", vm = "C", key = "p100", unit = "ms" },
    },
  }
end

-- --- Jobs of Lua ----------------------------------------------------------------------------
-- luv gives both sides their clock.

local ways = {
  { "serial", "Lua job there and back, one by one", 0.5 },
  { "pipelined", "Lua job there and back, 1,000 at once", 0.5 },
  { "string", "1 MB string to a Lua job and back" },
  { "table", "10,000 numbers to a Lua job and back" },
}
for _, vm in ipairs(vms) do
  for _, way in ipairs(ways) do
    add {
      free = true,
      sides = {
        weft = needing("luv", script(vm, "jobs", "weft", way[1])),
        ["luv.new_work"] = needing("luv", script(vm, "jobs", "luv", way[1])),
      },
      rows = { { name = way[2], vm = vm, peer = "luv.new_work", key = "us", bar = way[3] } },
    }
  end
end

for _, vm in ipairs(vms) do
  local function crowd(way, rows, runs)
    for _, row in ipairs(rows) do row.vm = vm end
    local side = needing("luv", script(vm, "crowd", way))
    add { free = true, runs = runs, sides = { weft = side }, rows = rows }
  end
  crowd("jobs", { { name = "10,000 Lua jobs, all", key = "ms" } })
  crowd("range", { { name = "parallelFor of 1,000,000, Lua", key = "ms", limit = 50 } })
  local name = "Lua critical behind 20 of 200 ms, "
  crowd("critical", {
    { name = name .. "p50", key = "p50", unit = "ms" },
    { name = name .. "p90", key = "p90", unit = "ms" },
    { name = name .. "p99", key = "p99", unit = "ms", limit = 1 },
    { name = name .. "worst", key = "p100", unit = "ms" },
  }, 3)
  add {
    free = true,
    runs = 3,
    sides = { weft = needing("luv", script(vm, "particles")) },
    rows = { { name = "threads busy, 10,000 particles", vm = vm, key = "percent", unit = "%",
      least = 80 } },
  }
end

require "rows_save"(add, script, needing)

return {
  groups = groups,
  -- How to find out whether a peer is there (%s is the VM), and what brings it.
  peers = {
    cqueues = { probe = [[%s -e 'require "cqueues"']], package = "lua-cqueues" },
    ["lua-cjson"] = { probe = [[%s -e 'require "cjson"']], package = "lua-cjson" },
    ["lua-messagepack"] = {
      probe = "test -e /usr/share/lua/5.3/MessagePack.lua", package = "lua-messagepack",
    },
    luv = { probe = [[%s -e 'require "luv"']], package = "lua-luv" },
    tarantool = { probe = "command -v tarantool", package = "tarantool" },
    argon2 = {
      probe = "test -e build/release/examples/lua5.4/argon2.so", package = "libargon2-dev",
    },
    tbb = { probe = "test -x build/bench/tbb-jobs", package = "libtbb-dev" },
    boost = { probe = "test -x build/bench/boost-switch", package = "libboost-context-dev" },
  },
}
