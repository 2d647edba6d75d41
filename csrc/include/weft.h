/* SPDX-License-Identifier: MIT */
/*
** weft.h - the whole public C API of weft: gameplay routines on native fibers.
**
** A `weft_world` owns routines and the clock they live by. The host calls `weft_world_tick`
** once a frame; the tick resumes each routine that is due. A routine is straight-line code: it
** calls `weft_wait` and goes on, ticks later, with its locals alive.
**
** Threads: a world belongs to the OS thread that made it. Every function that takes a world or
** acts on the running routine must be called there, but for those that post (`weft_world_post` and
** posters), which any thread may call. Those that answer a status answer WEFT_THREAD elsewhere where
** that can be told; the others are not checked. Fibers belong to the thread that made their pool.
**
** Failure: functions answer 0 or a negative `weft_status`. Out parameters are written only on
** success. The library never prints, exits or reads the environment; the one exception is the
** stack overflow message (see `weft_catch_overflow`), which a host can turn off.
**
** Time: whole nanoseconds (`int64_t`) everywhere but in `weft_world_tick`, whose `dt` is a
** double of seconds as engines have it, and in `fixed_step`, which is measured against it. Deadlines
** within 1 us of the clock count as due.
*/
#ifndef WEFT_H
#define WEFT_H

#include "weft/buffer.h"
#include "weft/event.h"
#include "weft/fiber.h"
#include "weft/jobs.h"
#include "weft/owner.h"
#include "weft/routine.h"
#include "weft/save.h"
#include "weft/service.h"
#include "weft/status.h"
#include "weft/timer.h"
#include "weft/trace.h"
#include "weft/world.h"

#define WEFT_VERSION "0.1.0"

#endif
