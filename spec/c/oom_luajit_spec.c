/* SPDX-License-Identifier: MIT */
/* oom_luajit_spec.c - memory that fails, on LuaJIT; see oom_body.h. */
#include "oom_body.h"
