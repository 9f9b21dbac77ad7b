// SPDX-License-Identifier: Apache-2.0
// What the parts of the book's programs have in common.
#ifndef BOOK_H
#define BOOK_H

#include <stdio.h>
#include <stdlib.h>

#include <braid/braid.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            printf("%s: %s\n", #call, braid_error_get_message());                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

#endif
