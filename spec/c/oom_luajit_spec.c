/* SPDX-License-Identifier: MIT */
/* oom_luajit_spec.c - memory that fails, on LuaJIT; see oom_body.h. */

/* The machine itself loses a function when it cannot have an upvalue of it: the function's head and a
   word for each upvalue. */
#define OOM_LOST_BYTES 128

#include "oom_body.h"
