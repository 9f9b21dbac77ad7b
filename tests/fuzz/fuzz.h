// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: their entry, and ending the program.
#ifndef BRAID_TESTS_FUZZ_H
#define BRAID_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <braid/status.h>

#include "support/random.h"

// Each target defines this. It aborts when the library did something wrong.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Macros, for the line and the text of what should have held.
#define fuzz_expect(fact)                                                                          \
    ((fact) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #fact, BRAID_OK, BRAID_OK))
#define fuzz_expect_status(call, expected)                                                         \
    do {                                                                                           \
        braid_status status_ = (call);                                                             \
        if (status_ != (expected))                                                                 \
            fuzz_fail(__FILE__, __LINE__, #call, status_, (expected));                             \
    } while (0)

_Noreturn static inline void fuzz_fail(const char *file, int line, const char *text,
                                       braid_status status, braid_status expected)
{
    if (status != expected)
        fprintf(stderr, "%s:%d: %s returned %s, not %s: %s\n", file, line, text,
                braid_status_get_name(status), braid_status_get_name(expected),
                braid_error_get_message());
    else
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}

#endif
