/* SPDX-License-Identifier: MIT */
/* oom_lua54_spec.c - memory that fails, on Lua 5.4; see oom_body.h. */

/* Every byte comes back. */
#define OOM_LOST_BYTES 0

#include "oom_body.h"
