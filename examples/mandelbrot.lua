-- SPDX-License-Identifier: MIT
-- mandelbrot.lua - a picture computed on all threads at once, in one buffer that they share.
--
--   weft exec examples/mandelbrot.lua                     a small one, in letters
--   weft exec examples/mandelbrot.lua FILE.pgm [WIDTH]    a grey picture, 1200 wide or as told

local weft = require "weft"
local jobs = require "weft.jobs"

local file = arg[1]
local width = file and tonumber(arg[2] or 1200) or 76
local height = file and width * 3 / 4 - width * 3 / 4 % 1 or 24
local limit = file and 255 or 60

-- One range of rows. Each point gets the number of turns after which it leaves, 0 if it does not.
local function rows(first, last, image, w, h, most)
  for row = first, last do
    local ci = (row - 0.5) / h * 2.4 - 1.2
    for column = 1, w do
      local cr = (column - 0.5) / w * 3.2 - 2.2
      local zr, zi, turns = 0, 0, 0
      while turns < most and zr * zr + zi * zi <= 4 do
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        turns = turns + 1
      end
      image[(row - 1) * w + column] = turns < most and turns or 0
    end
  end
end

local image = weft.buffer("u8", width * height)
local job = assert(jobs.parallelFor(height, rows, { args = { image, width, height, limit } }))
job:wait() -- outside a routine; in one it is routine.await(job)
job:result() -- raises, had a range failed

if file then
  local out = assert(io.open(file, "wb"))
  out:write(("P5\n%d %d\n255\n"):format(width, height), image:string())
  out:close()
else
  local shades = { [0] = "#", " ", " ", ".", ".", ":", ":", "-", "-", "=", "=", "+", "+", "*" }
  for row = 1, height do
    local line = {}
    for column = 1, width do
      line[column] = shades[math.min(image[(row - 1) * width + column], 13)]
    end
    print((table.concat(line):gsub(" +$", "")))
  end
end
