/* SPDX-License-Identifier: MIT */
/* save_values_lua54_spec.c - Lua values in saves, on Lua 5.4; see save_values_body.h. */
#include "save_values_body.h"
