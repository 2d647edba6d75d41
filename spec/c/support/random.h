/* SPDX-License-Identifier: MIT */
/*
** random.h - random programs that are the same on every machine, and a failure that says how to
** repeat it.
*/
#ifndef WEFT_SPEC_RANDOM_H
#define WEFT_SPEC_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct unit_random {
  uint64_t state;
} unit_random;

uint64_t unit_random_next(unit_random *random);

/* 0 to `bound` - 1; `bound` > 0. */
uint32_t unit_random_below(unit_random *random, uint32_t bound);

/* True in `percent` of the cases. */
bool unit_random_chance(unit_random *random, uint32_t percent);

/* A time of the kind that breaks timer wheels: 2^k or 60 k units, give or take one, and the two
   ends of what a deadline can be. */
int64_t unit_random_deadline(unit_random *random);

/* Whether a tool makes everything slow, and the environment's WEFT_SOAK does not say that there is
   time. */
bool unit_is_slow(void);

/* `count`; what is left of it where all is slow; twenty times as many with WEFT_SOAK. */
uint32_t unit_scaled(uint32_t count);

/*
** Runs `program` with the seeds 1 to unit_scaled(count), or with that of the environment's
** WEFT_SEED alone. A program answers NULL or what went wrong, which fails the test with the one
** command that repeats it.
*/
void unit_for_seeds(uint32_t count, const char *(*program)(uint64_t seed));

#endif
