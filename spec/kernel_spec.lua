-- SPDX-License-Identifier: MIT
--
-- Kernels: C functions of shared libraries, run over ranges without any Lua.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local weft = require "weft"

local done, raises = jobSupport.done, support.raises

-- The library, made by the compiler that has made weft.
local library = os.tmpname()
local status, text = support.shell("cc -O1 -shared -fPIC -Icsrc/include -o " .. library
  .. " spec/jobs/kernels.c")
assert(status == 0, text)
local scale, tell = jobs.kernel(library, "scale"), jobs.kernel(library, "tell")
local refusedName = select(2, pcall(jobs.kernel, library, "nothing"))
os.remove(library)

describe("jobs.kernel", function()
  it("refuses what is not there", function()
    assert.truthy(refusedName:find "jobs.kernel: there is no 'nothing' in /")
    raises("^[^:]+:%d+: jobs.kernel: .*no_such_library", function()
      jobs.kernel("./no_such_library.so", "x")
    end)
    raises("jobs.kernel: library must be a string, got nil", jobs.kernel)
    raises("jobs.kernel: symbol must be a string, got 5", jobs.kernel, "x", 5)
  end)
end)

describe("a kernel", function()
  it("runs over a range, each index once", function()
    for _, grain in ipairs { 1, 7, 100000 } do
      local buffer = weft.buffer("f32", 1000):fill(3)
      done(jobs.parallelFor(1000, scale, { args = { buffer, 2 }, grain = grain }))
      for i = 1, 1000 do assert.equal(6, buffer[i]) end
    end
  end)

  it("runs by schedule, for 0 up to 1", function()
    local out = weft.buffer("i32", 2)
    done(jobs.schedule({ fn = tell, priority = "critical", name = "tell" }, out))
    assert.same({ 0, 1 }, { out[1], out[2] })
  end)

  it("gets numbers, booleans, strings, nil and buffers", function()
    local out = weft.buffer("i32", 20)
    local other = weft.buffer("u16", 9)
    local args = { n = 6, out, 5, true, "Ab", nil, other:slice(2, 5) }
    done(jobs.parallelFor(1, tell, { args = args }))
    local heard = {}
    for i = 3, 12 do heard[#heard + 1] = out[i] end
    assert.same({ 3, 5, 1, 1, 4, 2065, 0, -1, 5, 4003 }, heard)
  end)

  it("is refused what is none of these", function()
    raises("jobs.parallelFor: argument 1 %(table%) cannot go to a kernel", jobs.parallelFor, 1,
      scale, { args = { {} } })
    raises("jobs.schedule: argument 2 %(function%) cannot go to a kernel", jobs.schedule,
      { fn = scale }, 1, print)
  end)

  it("has its buffers on loan", function()
    local buffer = weft.buffer("f32", 100)
    local job = jobs.parallelFor(100, scale, { args = { buffer } })
    raises("buffer is on loan to job", function() return buffer[1] end)
    done(job)
    assert.equal(0, buffer[1])
  end)

  it("may be given to a job, which runs it", function()
    local buffer = weft.buffer("f32", 50):fill(1)
    assert.equal(4, done(jobs.run(function(k, b)
      jobs.parallelFor(#b, k, { args = { b, 4 } }):await()
      return b[50]
    end, scale, buffer)))
    assert.equal(4, buffer[1])
  end)

  it("runs over columns, in the order of their names", function()
    local one = weft.columns{ a = "f32" }
    local id = one:add{ a = 2 }
    done(one:forEachParallel(scale, 5))
    assert.equal(10, one:get(id, "a"))
    local cols = weft.columns{ z = "u8", y = "f64", x = "i32" }
    for _ = 1, 8 do id = cols:add{ x = 1 } end
    done(cols:forEachParallel(tell, "!"))
    local ids = {}
    for i = 1, 8 do ids[i] = id - 8 + i end
    assert.same({ 5, 8008, 5, 8001 }, { cols:get(ids[3], "x"), cols:get(ids[4], "x"),
      cols:get(ids[5], "x"), cols:get(ids[6], "x") })
  end)
end)

if support.vm == "luajit" then
  describe("weft.ffi", function()
    local wffi = require "weft.ffi"
    local ffi = require "ffi"

    it("has the declarations of weft/ffi.h", function()
      local file = assert(io.open "csrc/include/weft/ffi.h")
      local header = file:read "*a"
      file:close()
      assert.equal(header, (require "weft.core").ffiHalves.declarations)
    end)

    it("calls leaf functions of the core", function()
      assert.equal(weft.version, ffi.string(wffi.C.weft_version()))
      assert.equal("WEFT_OK", ffi.string(wffi.C.weft_status_name(0)))
      assert.equal("no error", ffi.string(wffi.C.weft_status_text(0)))
    end)

    it("runs kernels on FFI memory and on buffers", function()
      local buffer = weft.buffer("f32", 500):fill(2)
      local args, count = wffi.arguments(buffer, 3)
      local fn = wffi.kernel(scale)
      for _ = 1, 3 do
        assert.equal(0, wffi.C.weft_parallel_for(wffi.pool(), 500, 0, fn, args, count))
      end
      assert.equal(54, buffer[500])
      local bare = ffi.new("float[?]", 100)
      for i = 0, 99 do bare[i] = 1 end
      args[0].as.data = bare
      assert.equal(0, wffi.C.weft_parallel_for(wffi.pool(), 100, 10, fn, args, count))
      assert.equal(3, bare[99])
    end)

    it("refuses what is no argument and no kernel", function()
      raises("weft.ffi: argument 2 %(table%) cannot go to a kernel", wffi.arguments, 1, {})
      raises("weft.ffi: a kernel expected, got table", wffi.kernel, {})
      local err = jobSupport.failure(jobs.run(function() return (require "weft.ffi").pool() end))
      assert.truthy(err:find "weft.ffi: not inside a job", err)
    end)
  end)
else
  describe("weft.ffi", function()
    it("is for LuaJIT", function()
      raises("weft.ffi: there is no FFI in this Lua", require, "weft.ffi")
    end)
  end)
end
