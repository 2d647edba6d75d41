-- SPDX-License-Identifier: MIT
-- chart.lua - the picture of a bench run: a bar per row, ours as a share of the peer, with a mark
-- where the bar of the row is. Plain SVG, no library.

local chart = {}

local line, left, right, scale = 18, 470, 120, 320 -- pixels; `scale` is a ratio of 1
local widest = 1.5 -- ratios above it are cut

local colours = { ok = "#2a7f62", MISS = "#c0392b", [""] = "#7f8c8d" }

local function escape(text)
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

local function text(x, y, anchor, value)
  return ('<text x="%d" y="%d" text-anchor="%s">%s</text>'):format(x, y, anchor, escape(value))
end

-- One row: its name, its bar, the mark, the figure.
local function draw(result, y)
  local row = result.row
  local length = math.min(result.ratio, widest) * scale
  local parts = {
    text(left - 8, y + 12, "end", ("%s, %s vs %s"):format(row.name, row.vm, row.peer)),
    ('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>'):format(left, y + 2, length,
      line - 5, colours[result.verdict] or colours[""]),
    text(left + math.floor(length) + 6, y + 12, "start", ("%.2f"):format(result.ratio)),
  }
  if row.bar then
    local x = left + row.bar * scale
    local mark = '<path d="M%.1f %d v%d" stroke="#000" stroke-width="2"/>'
    parts[#parts + 1] = mark:format(x, y, line - 1)
  end
  return table.concat(parts, "\n")
end

-- The SVG of all results that have a ratio.
function chart.draw(results)
  local bars, y = {}, 30
  for _, result in ipairs(results) do
    if result.ratio then
      bars[#bars + 1] = draw(result, y)
      y = y + line
    end
  end
  local width = left + widest * scale + right
  local one = left + scale
  return table.concat({
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"'):format(width, y + 10),
    '  font-family="sans-serif" font-size="11">',
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(left, 18, "start", "ours as a share of the peer: shorter is better; marks are the bars"),
    ('<path d="M%d 26 V%d" stroke="#bbb"/>'):format(one, y),
    table.concat(bars, "\n"),
    "</svg>\n",
  }, "\n")
end

return chart
