/* SPDX-License-Identifier: MIT */
/*
** saves.h - what the units about saves share: a folder for each test, and saves that say their
** number in each of their parts.
*/
#ifndef WEFT_SPEC_SAVES_H
#define WEFT_SPEC_SAVES_H

#include "pool.h"

/* A file in a folder of its own; the names beside it. */
extern char saves_folder[64], saves_path[96], saves_kept[112], saves_new[112];

/* For set-up and tear-down, a pool included. The latter fails if something else was left behind. */
int make_saves(void **state);
int drop_saves(void **state);
/* The same without a pool. */
int make_saves_folder(void);
int drop_saves_folder(void);

#define CELLS 300000 /* more than one chunk of them */
extern uint32_t cells[CELLS];
void fill_cells(uint32_t number);

/* How the last of these went. */
extern weft_save_report report;

/* The number of a new array with these elements. */
uint32_t add_array(weft_save *save, weft_type type, const void *elements, size_t count,
                   uint64_t first);
weft_save *gather_number(uint32_t number);
weft_status write_number(uint32_t number);
weft_status write_gathered(weft_save *save, const weft_save_options *options);
/* Asserts that every part says the same. */
weft_status read_number(uint32_t *number);
void assert_reads(uint32_t expected, bool from_kept);

uint8_t *load_file(const char *from, size_t *size); /* to be freed */
void store_file(const char *to, const uint8_t *bytes, size_t size);

/* Gives a changed file the checksums that it should have. */
void seal_file(uint8_t *bytes, size_t size);

#endif
