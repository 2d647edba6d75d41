/* SPDX-License-Identifier: MIT */
/*
** random.c - numbers from a seed, and the loop over seeds.
*/
#define _GNU_SOURCE
#include "random.h"

#include <errno.h>
#include <stdlib.h>

#include "unit.h"

/* Steele, Lea and Flood's SplitMix: any seed will do, 0 too. */
uint64_t unit_random_next(unit_random *random)
{
  uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);
  mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
  return mixed ^ mixed >> 31;
}

uint32_t unit_random_below(unit_random *random, uint32_t bound)
{
  return (uint32_t)((unit_random_next(random) >> 32) * bound >> 32);
}

bool unit_random_chance(unit_random *random, uint32_t percent)
{
  return unit_random_below(random, 100) < percent;
}

int64_t unit_random_deadline(unit_random *random)
{
  static const int64_t units[] = {1, 1000, 1000000, 1000000000};
  int64_t unit = units[unit_random_below(random, 4)];
  int64_t nudge = (int64_t)unit_random_below(random, 3) - 1;
  switch (unit_random_below(random, 8)) {
  case 0:
    return INT64_MAX;
  case 1:
    return 0;
  case 2:
    return 60 * unit * (1 + unit_random_below(random, 5)) + nudge;
  case 3:
    return unit * (1 + unit_random_below(random, 3));
  default:
    return (INT64_C(1) << unit_random_below(random, 63)) + nudge;
  }
}

bool unit_is_slow(void)
{
  return !getenv("WEFT_SOAK") && (unit_on_valgrind() || unit_has_tsan() || unit_has_asan());
}

/* So much more where there is time. */
#define SOAK 20

uint32_t unit_scaled(uint32_t count)
{
  uint32_t slower = unit_on_valgrind() ? 50 : unit_has_tsan() ? 16 : 8;
  if (getenv("WEFT_SOAK")) return count * SOAK;
  if (!unit_is_slow()) return count;
  return count / slower ? count / slower : 1;
}

void unit_for_seeds(uint32_t count, const char *(*program)(uint64_t seed))
{
  const char *given = getenv("WEFT_SEED");
  uint64_t first = given ? strtoull(given, NULL, 10) : 1;
  uint64_t last = given ? first : unit_scaled(count);
  for (uint64_t seed = first; seed <= last; seed++) {
    const char *wrong = program(seed);
    if (wrong)
      fail_msg("%s; again: WEFT_SEED=%llu %s", wrong, (unsigned long long)seed,
               program_invocation_name);
  }
}
