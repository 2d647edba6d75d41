/* SPDX-License-Identifier: MIT */
/* transfer_lua54_spec.c - values that cross between states, on Lua 5.4; see transfer_body.h. */
#include "transfer_body.h"
