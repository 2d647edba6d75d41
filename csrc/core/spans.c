/* SPDX-License-Identifier: MIT */
/*
** spans.c - one trace of the process: an array that threads fill from the front, and the file.
**
** Who records takes the next place by one atomic addition and says when it is filled. Who stops a trace
** waits for those that are recording just then, so that the next one may use the array again.
*/
#include "core/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "platform/park.h"
#include "platform/platform.h"
#include "platform/system.h"

#define MAX_SPANS (UINT32_C(1) << 24)

typedef struct span {
  int64_t begin, end;
  uint64_t id;
  uint32_t thread;
  uint8_t kind;
  atomic_bool filled;
  char name[WEFT_SPAN_NAME];
} span;

_Static_assert(sizeof(span) == 64, "the header says so");

atomic_bool weft__spans_on;

/* The mutex is for those that start, stop and write. */
static struct {
  pthread_mutex_t mutex;
  span *spans;
  uint32_t size;
  int64_t since;
  _Atomic uint64_t next; /* place; beyond `size` they are only counted */
  atomic_uint recording; /* threads */
} trace = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* --- Recording ----------------------------------------------------------------------------- */

static void fill(span *it, weft__span_kind kind, const char *name, uint64_t id, int64_t begin,
                 int64_t end)
{
  it->begin = begin > trace.since ? begin : trace.since;
  it->end = end;
  it->id = id;
  it->thread = (uint32_t)weft__thread_id();
  it->kind = (uint8_t)kind;
  it->name[0] = 0;
  if (name) strncat(it->name, name, sizeof it->name - 1);
  /* Release: its partner is the acquire of who writes the file. */
  atomic_store_explicit(&it->filled, true, memory_order_release);
}

/* Sequentially consistent: either who stops sees that this thread is here, or this one sees that the
   trace was stopped. */
void weft__span(weft__span_kind kind, const char *name, uint64_t id, int64_t begin, int64_t end)
{
  atomic_fetch_add(&trace.recording, 1);
  if (atomic_load(&weft__spans_on)) {
    uint64_t place = atomic_fetch_add_explicit(&trace.next, 1, memory_order_relaxed);
    if (place < trace.size) fill(&trace.spans[place], kind, name, id, begin, end);
  }
  atomic_fetch_sub(&trace.recording, 1);
}

void weft_trace_span(const char *name, int64_t begin, int64_t end)
{
  if (weft__spans() && end >= begin) weft__span(WEFT_SPAN_HOST, name, 0, begin, end);
}

/* --- Starting and stopping ----------------------------------------------------------------- */

static void fork_begins(void)
{
  pthread_mutex_lock(&trace.mutex);
}

static void fork_ends(void)
{
  pthread_mutex_unlock(&trace.mutex);
}

/* The other threads are gone, with what they were about to record. */
static void fork_in_child(void)
{
  atomic_store(&weft__spans_on, false);
  atomic_store(&trace.recording, 0);
  pthread_mutex_unlock(&trace.mutex);
}

static weft_status watch_forks(void)
{
  static bool watched;
  if (watched) return WEFT_OK;
  weft_status status = weft__fork_watch(fork_begins, fork_ends, fork_in_child);
  watched = !status;
  return status;
}

static weft_status begin(uint32_t count)
{
  if (weft__spans()) return WEFT_BUSY;
  weft_status status = watch_forks();
  if (status) return status;
  span *spans = weft__calloc(count, sizeof *spans);
  if (!spans) return WEFT_NOMEM;
  weft__free(trace.spans);
  trace.spans = spans;
  trace.size = count;
  trace.since = weft__clock_ns();
  atomic_store(&trace.next, 0);
  atomic_store(&weft__spans_on, true);
  return WEFT_OK;
}

weft_status weft_trace_start(uint32_t spans)
{
  if (spans > MAX_SPANS) return WEFT_INVALID;
  pthread_mutex_lock(&trace.mutex);
  weft_status status = begin(spans ? spans : WEFT_TRACE_SPANS);
  pthread_mutex_unlock(&trace.mutex);
  return status;
}

bool weft_trace_stop(void)
{
  pthread_mutex_lock(&trace.mutex);
  bool ran = atomic_exchange(&weft__spans_on, false);
  while (atomic_load(&trace.recording)) weft__thread_yield();
  pthread_mutex_unlock(&trace.mutex);
  return ran;
}

bool weft_trace_is_on(void)
{
  return weft__spans();
}

/* And how many spans found none; both of one moment, for others may be recording. */
static uint32_t places_taken(uint64_t *dropped)
{
  uint64_t next = atomic_load(&trace.next);
  uint32_t taken = next < trace.size ? (uint32_t)next : trace.size;
  *dropped = next - taken;
  return taken;
}

void weft_trace_count(uint32_t *kept, uint64_t *dropped)
{
  uint64_t none;
  pthread_mutex_lock(&trace.mutex);
  uint32_t taken = places_taken(dropped ? dropped : &none);
  pthread_mutex_unlock(&trace.mutex);
  if (kept) *kept = taken;
}

/* --- The file ------------------------------------------------------------------------------ */

static const char *const categories[] = {
    [WEFT_SPAN_TICK] = "tick", [WEFT_SPAN_STAGE] = "stage",   [WEFT_SPAN_ROUTINE] = "routine",
    [WEFT_SPAN_JOB] = "job",   [WEFT_SPAN_WORKER] = "worker", [WEFT_SPAN_HOST] = "host",
};

/* How many bytes belong to the UTF-8 character that begins there; 0 if none does. The second byte says
   whether it is longer than it has to be, half of a pair of UTF-16, or beyond the last one. */
static size_t character(const unsigned char *text)
{
  unsigned char first = text[0];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (text[1] < least || text[1] > most) return 0;
  size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 2; i < size; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return size;
}

/* With what JSON wants escaped. A name may hold any bytes, and may be cut inside a character: what is
   no UTF-8 becomes the sign for that. */
static void put_text(FILE *file, const char *name)
{
  const unsigned char *text = (const unsigned char *)name;
  while (*text) {
    size_t size = character(text);
    if (size == 0)
      fputs("\\ufffd", file);
    else if (*text < 0x20)
      fprintf(file, "\\u%04x", *text);
    else
      fprintf(file, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "", (int)size, text);
    text += size ? size : 1;
  }
}

/* In microseconds. Not as a float: the point of those is a comma where the host's locale has it so. */
static void put_time(FILE *file, const char *key, int64_t ns)
{
  fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void put_span(FILE *file, const span *it)
{
  fprintf(file, "{\"ph\":\"X\",\"pid\":%ld,\"tid\":%u", (long)getpid(), (unsigned)it->thread);
  put_time(file, "ts", it->begin - trace.since);
  put_time(file, "dur", it->end > it->begin ? it->end - it->begin : 0);
  fprintf(file, ",\"cat\":\"%s\"", categories[it->kind]);
  fputs(",\"name\":\"", file);
  put_text(file, it->name[0] ? it->name : categories[it->kind]);
  fprintf(file, "\",\"args\":{\"id\":%" PRIu64 "}},\n", it->id);
}

/* A thread is called after what it was seen doing: the first tick, the first stretch of work. */
static void put_thread(FILE *file, const span *it)
{
  fprintf(file,
          "{\"ph\":\"M\",\"pid\":%ld,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
          (long)getpid(), (unsigned)it->thread);
  if (it->kind == WEFT_SPAN_TICK)
    fputs("\"world\"}},\n", file);
  else
    fprintf(file, "\"worker %" PRIu64 "\"}},\n", it->id);
}

#define MAX_THREADS 256

static bool is_new(uint32_t *threads, uint32_t *count, const span *it)
{
  if (it->kind != WEFT_SPAN_TICK && it->kind != WEFT_SPAN_WORKER) return false;
  for (uint32_t i = 0; i < *count; i++)
    if (threads[i] == it->thread) return false;
  if (*count == MAX_THREADS) return false;
  threads[(*count)++] = it->thread;
  return true;
}

static void put_all(FILE *file)
{
  uint64_t dropped;
  uint32_t threads[MAX_THREADS], count = 0, taken = places_taken(&dropped);
  fputs("{\"traceEvents\":[\n", file);
  for (uint32_t i = 0; i < taken; i++) {
    const span *it = &trace.spans[i];
    if (!atomic_load_explicit(&it->filled, memory_order_acquire)) continue;
    if (is_new(threads, &count, it)) put_thread(file, it);
    put_span(file, it);
  }
  fprintf(
      file,
      "{\"ph\":\"M\",\"pid\":%ld,\"name\":\"process_name\",\"args\":{\"name\":\"weft\"}}\n],\n",
      (long)getpid());
  fprintf(file, "\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped\":%" PRIu64 "}}\n",
          dropped);
}

weft_status weft_trace_write(const char *path)
{
  if (!path) return WEFT_INVALID;
  FILE *file = fopen(path, "we");
  if (!file) return WEFT_IO;
  pthread_mutex_lock(&trace.mutex);
  put_all(file);
  pthread_mutex_unlock(&trace.mutex);
  bool failed = ferror(file) != 0;
  int reason = errno;
  if (fclose(file) == 0 && !failed) return WEFT_OK;
  if (failed) errno = reason;
  return WEFT_IO;
}
