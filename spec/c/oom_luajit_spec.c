/* SPDX-License-Identifier: MIT */
/* oom_luajit_spec.c - memory that fails, on LuaJIT; see oom_body.h. */

/* The machine itself loses some bytes when it cannot have an upvalue. */
#define OOM_LOST_BYTES 64

#include "oom_body.h"
