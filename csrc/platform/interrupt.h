/* SPDX-License-Identifier: MIT */
/*
** interrupt.h - calls a function on another thread, in the middle of whatever that does: by SIGURG,
** which nobody else is likely to send, and which does nothing where it is not caught. Knows neither
** worlds nor what the function does.
*/
#ifndef WEFT_PLATFORM_INTERRUPT_H
#define WEFT_PLATFORM_INTERRUPT_H

#include <pthread.h>

#include "base/base.h"

typedef void (*weft__interrupted)(void);

/*
** From now on an interrupt calls `fn`, in a signal handler: one function for the process. A SIGURG from
** elsewhere goes to the handler that was there before. The calling thread lets the signal through from
** here on. WEFT_INVALID when the system refuses.
*/
weft_status weft__interrupt_catch(weft__interrupted fn);

/* Interrupts a thread that has not ended. May be lost: ask again. */
void weft__interrupt(pthread_t thread);

#endif
