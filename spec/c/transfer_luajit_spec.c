/* SPDX-License-Identifier: MIT */
/* transfer_luajit_spec.c - values that cross between states, on LuaJIT; see transfer_body.h. */
#include "transfer_body.h"
