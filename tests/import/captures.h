// SPDX-License-Identifier: Apache-2.0
// Streams of a few kernels, captured on the stand-in for CUDA and imported.
#ifndef BRAID_TESTS_IMPORT_CAPTURES_H
#define BRAID_TESTS_IMPORT_CAPTURES_H

#include <stdio.h>
#include <string.h>

#include "import/here.h"

enum { BYTES = 4096 };

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

// Kernels copy(from, to), sum(from, end, to), spread(to) of a word for each block, count() of a
// variable, and follow(at, to), which loads an address.
extern const char text[];
extern const char copy_text[]; // has copy alone, and no variable

extern CUstream side; // captured beside the stream

int open_captures(void **state);
int close_captures(void **state);

#define LAUNCH_BESIDE(name, ...) launch_on(side, name, (const uint64_t[MOST_ARGS]){ __VA_ARGS__ })

void begin_capture(void);
void wait_for(CUstream on, CUstream before);
// Ends the capture, and destroys its graph.
void import_with(const braid_import_options *options);
void expect_refusal(const braid_import_options *options, braid_status status, const char *message);
#define TEXTS(...)                                                                                 \
    .texts = (const char *const[]){ __VA_ARGS__ },                                                 \
    .num_texts = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

const char *report(braid_import_report form);
void expect_report(const char *line);
void play(void);

#endif
