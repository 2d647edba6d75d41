/* SPDX-License-Identifier: MIT */
/* oom_lua54_spec.c - memory that fails, on Lua 5.4; see oom_body.h. */
#include "oom_body.h"
