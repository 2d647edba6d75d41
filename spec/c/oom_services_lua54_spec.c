/* SPDX-License-Identifier: MIT */
/* oom_services_lua54_spec.c - services without memory, on Lua 5.4; see oom_services_body.h. */

#define OOM_LOST_BYTES 0

#include "oom_services_body.h"
