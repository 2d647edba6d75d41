-- SPDX-License-Identifier: MIT
-- One source for both VMs, so the standard library is what each may have.
std = "max"
max_line_length = 100
exclude_files = { "build", "spec/programs" }

-- A method or hook may ignore what it is given; `_`-named locals say so where it is ours.
ignore = { "212/self", "212/_.*", "213/_.*" }

files["spec"] = { std = "max+busted" }
files["spec/**/*.lua"] = { std = "max+busted" }

-- LuaJIT's debug.sethook is replaced on purpose; the file says why.
files["lua/weft/waits.lua"] = { ignore = { "122/debug" } }
