/* SPDX-License-Identifier: MIT */
/* oom_services_luajit_spec.c - services without memory, on LuaJIT; see oom_services_body.h. */

/* See oom_luajit_spec.c; of each run. */
#define OOM_LOST_BYTES 128
#define OOM_PREPARES

#include "oom_services_body.h"
