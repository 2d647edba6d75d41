/* SPDX-License-Identifier: MIT */
/*
** loans.c - what one side has of a buffer's memory, and what it has lent of it.
**
** A loan is for a range: halves of a buffer can be with two jobs at once. Where nothing is lent,
** which is nearly always, two counts of zero say so.
*/
#include "lua/buffer.h"

static void hold_fini(void *object)
{
  const hold *h = object;
  weft_buffer_drop(h->memory);
  weft_counted_drop(h->origin);
}

hold *hold_new(weft_buffer *memory, const void *side, hold *origin)
{
  hold *h = weft_counted_new(sizeof *h, hold_fini);
  if (!h) {
    weft_buffer_drop(memory);
    return NULL;
  }
  h->memory = memory;
  h->side = side;
  h->origin = origin ? weft_counted_keep(origin) : NULL;
  return h;
}

hold *hold_keep(hold *h)
{
  return weft_counted_keep(h);
}

void hold_drop(hold *h)
{
  weft_counted_drop(h);
}

const char *hold_refusal(const hold *h, size_t first, size_t end, bool writes)
{
  if (h->over) return h->over;
  if (first == end) return NULL;
  for (const loan *l = h->loans; l; l = l->next)
    if ((writes || l->writes) && first < l->end && l->first < end) return l->borrower;
  return NULL;
}

void hold_lend(hold *h, loan *l)
{
  l->from = hold_keep(h);
  l->next = h->loans;
  h->loans = l;
  h->no_write++;
  if (l->writes) h->no_read++;
}

void hold_take_back(loan *l)
{
  hold *h = l->from;
  if (!h) return;
  loan **at = &h->loans;
  while (*at != l) at = &(*at)->next;
  *at = l->next;
  h->no_write--;
  if (l->writes) h->no_read--;
  l->from = NULL;
  hold_drop(h);
}

void hold_end(hold *h, const char *why)
{
  if (h->over) return;
  h->over = why;
  h->no_read++;
  h->no_write++;
}

void hold_renew(hold *h)
{
  if (!h->over) return;
  h->over = NULL;
  h->no_read--;
  h->no_write--;
}
