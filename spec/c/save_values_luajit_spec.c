/* SPDX-License-Identifier: MIT */
/* save_values_luajit_spec.c - Lua values in saves, on LuaJIT; see save_values_body.h. */
#include "save_values_body.h"
