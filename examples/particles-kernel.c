/* SPDX-License-Identifier: MIT */
/*
** particles-kernel.c - what particles.lua does to its particles, once more in C: `make examples` makes
** a shared library of it, and jobs.kernel loads that. A kernel gets a part of the rows, from `first` up
** to `last`, the columns in the order of their names, and what else it was given.
*/
#include "weft.h"

#define LIFE 3.0 /* seconds */
#define MODULUS 2147483647

typedef struct particles {
  double *age;
  uint32_t *seed;
  double *vx, *vy, *x, *y;
} particles;

/* From 0 to 1: Lehmer's generator. */
static double dice(uint32_t *seed)
{
  *seed = (uint32_t)((uint64_t)*seed * 16807 % MODULUS);
  return (double)*seed / MODULUS;
}

static void spawn(particles *p, size_t i)
{
  p->age[i] = p->x[i] = p->y[i] = 0;
  p->vx[i] = dice(&p->seed[i]) * 2 - 1;
  p->vy[i] = dice(&p->seed[i]) * 2 + 2;
}

static void move(particles *p, size_t i, double dt, double well)
{
  double dx = well - p->x[i], dy = 1 - p->y[i];
  double pull = 2 / (dx * dx + dy * dy + 0.1);
  p->vx[i] = (p->vx[i] + pull * dx * dt) * 0.99;
  p->vy[i] = (p->vy[i] + (pull * dy - 2) * dt) * 0.99;
  p->x[i] = p->x[i] + p->vx[i] * dt;
  p->y[i] = p->y[i] + p->vy[i] * dt;
  if (p->y[i] < 0) {
    p->y[i] = -p->y[i];
    p->vy[i] = -p->vy[i] * 0.6;
  }
  p->age[i] = p->age[i] + dt;
  if (p->age[i] >= LIFE) spawn(p, i);
}

static double number(const weft_value *value)
{
  return value->kind == WEFT_VALUE_INTEGER ? (double)value->as.integer : value->as.number;
}

__attribute__((visibility("default"))) void
particles_move(size_t first, size_t last, const weft_value *args, size_t nargs);

void particles_move(size_t first, size_t last, const weft_value *args, size_t nargs)
{
  particles p = {args[0].as.data, args[1].as.data, args[2].as.data,
                 args[3].as.data, args[4].as.data, args[5].as.data};
  (void)nargs;
  for (size_t i = first; i < last; i++) move(&p, i, number(&args[6]), number(&args[7]));
}
