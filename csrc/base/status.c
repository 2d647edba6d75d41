/* SPDX-License-Identifier: MIT */
/*
** status.c - names and texts of statuses, and the end of a failed check.
*/
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

const char *weft_version(void)
{
  return WEFT_VERSION;
}

const char *weft_status_name(weft_status status)
{
  switch (status) {
#define WEFT_STATUS_NAME(name, value, text)                                                    \
  case name:                                                                                   \
    return #name;
    WEFT_STATUSES(WEFT_STATUS_NAME)
#undef WEFT_STATUS_NAME
  }
  return "WEFT_UNKNOWN";
}

const char *weft_status_text(weft_status status)
{
  switch (status) {
#define WEFT_STATUS_TEXT(name, value, text)                                                    \
  case name:                                                                                   \
    return text;
    WEFT_STATUSES(WEFT_STATUS_TEXT)
#undef WEFT_STATUS_TEXT
  }
  return "unknown status";
}

_Noreturn void weft__check_failed(const char *what, const char *file, int line)
{
  fprintf(stderr, "weft: check failed: %s (%s:%d)\n", what, file, line);
  abort();
}
