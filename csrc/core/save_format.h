/* SPDX-License-Identifier: MIT */
/*
** save_format.h - the file that a save is, version 1: all that another reader needs to know.
**
** Numbers are little-endian: u32 and u64 are unsigned, f64 is an IEEE 754 double. A checksum is
** XXH3_64bits of xxHash, with seed 0. Counting starts at 0.
**
** FILE      the head, the index, the chunks; nothing between them, nothing behind them.
**
** HEAD      64 bytes, of which the first 12 and the last 8 are the same in all versions.
**    0  u8[8]  89 57 45 46 54 0D 0A 1A        36  u32  bytes of names
**    8  u32    version: 1                     40  u64  checksum of the index
**   12  u32    0                              48  u64  0
**   16  u64    size of the file               56  u64  checksum of bytes 0 to 55
**   24  u32    sections
**   28  u32    arrays
**   32  u32    chunks
**
** INDEX     an entry for each section, then for each array, then for each chunk; then the names of
**           the sections, one behind the other.
**   section, array (32 bytes)                 chunk (24 bytes)
**    0  u64    its size                        0  u64  checksum of the bytes that are stored
**    8  u64    of an array: see BUFFER; or 0   8  u32  how many are stored
**   16  u32    type of an array; or 0         12  u32  how many they stand for
**   20  u32    how many chunks it has         16  u32  coding
**   24  u32    of a section: size of name     20  u32  0
**   28  u32    0
**   Types of elements: 0 i8, 1 u8, 2 i16, 3 u16, 4 i32, 5 u32, 6 i64, 7 f32, 8 f64.
**
** CHUNK     1 MiB of a section or array, the last one what is left; in the order of the index. How
**           it is stored, its coding: 0 as it is; 1 as one frame of Zstandard; 3 the same, and
**           before that the bytes of the elements were sorted: the lowest ones of all elements,
**           then the second ones, and so on. A chunk of s bytes stands for 32768 s at most, and all
**           of a file together for 64 MiB, or for 1024 times the size of the file if that is more:
**           so a short file cannot ask for much memory. Who writes stores as it is what would be
**           too much; who reads refuses a file that claims more, before it makes room for it.
**
** VALUES    what Lua writes into a section: one value, then what is in the tables that were met
**           first in this section, in the order of their numbers. `v` is an unsigned number of
**           seven bits a byte, the lowest first, the top bit set in all bytes but the last. Tables,
**           buffers and columns share one numbering, strings have their own; both run through all
**           sections.
**
**    0 nil   1 false   2 true
**    3 INTEGER   v: 2 n, or for n < 0: -2 n - 1
**    4 FLOAT     f64
**    5 STRING    v length, bytes; it takes a number if it has 40 bytes or less
**    6 KNOWN     v: the string of that number
**    7 TABLE     u32 list, u32 pairs; it takes a number. What is in it, later: `list` values, of
**                the keys 1 to list; then `pairs` times key and value
**    8 AGAIN     v: the table, buffer or columns of that number
**    9 OBJECT    a STRING or KNOWN, the name of its metatable; then as TABLE
**   10 INT64     8 bytes: an integer that LuaJIT has as int64_t cdata
**   11 UINT64    8 bytes: the same of uint64_t
**   12 BUFFER    v array, v first, v count, u8 read-only; it takes a number. `first` counts in the
**                memory that the array is a part of; the index says where the array begins there
**   13 COLUMNS   v rows, v columns; for each column, in the order of names, a STRING or KNOWN, then
**                v array and v first as of a BUFFER; v array, v array, v array, all of u32: the
**                slot of each row, from 1; the generation of each slot; the free slots, the next
**                one last. It takes a number
*/
#ifndef WEFT_CORE_SAVE_FORMAT_H
#define WEFT_CORE_SAVE_FORMAT_H

#include <stdint.h>
#include <string.h>

#define SAVE_MAGIC "\x89WEFT\r\n\x1a"
#define SAVE_VERSION 1
#define SAVE_HEAD 64
#define SAVE_STREAM_ENTRY 32
#define SAVE_CHUNK_ENTRY 24
#define SAVE_CHUNK ((uint32_t)1 << 20)
#define SAVE_MOST_RATIO 32768
#define SAVE_ANYHOW ((uint64_t)64 << 20)
#define SAVE_MOST_OVERALL 1024

enum { SAVE_STORED = 0, SAVE_ZSTD = 1, SAVE_SORTED = 3 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

/* Whether a file of that size may stand for so many bytes. */
static inline int save_may_hold(uint64_t file_size, uint64_t bytes)
{
  return bytes <= SAVE_ANYHOW || bytes / SAVE_MOST_OVERALL < file_size ||
         bytes == file_size * SAVE_MOST_OVERALL;
}

static inline uint32_t save_u32(const uint8_t *at)
{
  uint32_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

static inline uint64_t save_u64(const uint8_t *at)
{
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

static inline void save_set_u32(uint8_t *at, uint32_t number)
{
  memcpy(at, &number, sizeof number);
}

static inline void save_set_u64(uint8_t *at, uint64_t number)
{
  memcpy(at, &number, sizeof number);
}

#endif
