/* SPDX-License-Identifier: MIT */
/*
** save_turns.c - saves of one path: one at a time, and the one that was begun last stays. Who waits
** here holds its thread, for no longer than another one writes: nothing is suspended in between.
*/
#include <pthread.h>
#include <string.h>

#include "core/save.h"
#include "platform/park.h"
#include "platform/system.h"

struct weft__save_place {
  weft__save_place *next;
  char *path;
  uint32_t users; /* this and the next two belong to `guard` */
  uint64_t last;
  pthread_mutex_t lock;
  uint64_t written; /* the latest turn that was; belongs to `lock` */
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static weft__save_place *places;

/* --- Forks --------------------------------------------------------------------------------- */

static void fork_begins(void)
{
  pthread_mutex_lock(&guard);
}

static void fork_ends(void)
{
  pthread_mutex_unlock(&guard);
}

/* Who wrote there is not in the child, and would hold its place for ever. */
static void fork_in_child(void)
{
  for (weft__save_place *place = places; place; place = place->next)
    pthread_mutex_init(&place->lock, NULL);
  pthread_mutex_unlock(&guard);
}

/* Under `guard`. */
static bool watch_forks(void)
{
  static bool watched;
  if (!watched) watched = weft__fork_watch(fork_begins, fork_ends, fork_in_child) == WEFT_OK;
  return watched;
}

/* --- Places -------------------------------------------------------------------------------- */

static weft__save_place *find(const char *path)
{
  weft__save_place *place = places;
  while (place && strcmp(place->path, path) != 0) place = place->next;
  return place;
}

static weft__save_place *add(char *path)
{
  weft__save_place *place = watch_forks() ? weft__calloc(1, sizeof *place) : NULL;
  if (!place) return NULL;
  pthread_mutex_init(&place->lock, NULL);
  place->path = path;
  place->next = places;
  places = place;
  return place;
}

weft__save_place *weft__save_arrive(char *path, uint64_t *turn)
{
  pthread_mutex_lock(&guard);
  weft__save_place *known = find(path), *place = known ? known : add(path);
  if (place) {
    place->users++;
    *turn = ++place->last;
  }
  pthread_mutex_unlock(&guard);
  if (known || !place) weft__free(path);
  return place;
}

void weft__save_leave(weft__save_place *place)
{
  pthread_mutex_lock(&guard);
  bool over = --place->users == 0;
  weft__save_place **at = &places;
  while (over && *at != place) at = &(*at)->next;
  if (over) *at = place->next;
  pthread_mutex_unlock(&guard);
  if (!over) return;
  pthread_mutex_destroy(&place->lock);
  weft__free(place->path);
  weft__free(place);
}

const char *weft__save_path(const weft__save_place *place)
{
  return place->path;
}

bool weft__save_enter(weft__save_place *place, uint64_t turn)
{
  pthread_mutex_lock(&place->lock);
  if (place->written < turn) return true;
  pthread_mutex_unlock(&place->lock);
  return false;
}

void weft__save_exit(weft__save_place *place, uint64_t turn, bool written)
{
  if (written) place->written = turn;
  pthread_mutex_unlock(&place->lock);
}
