// SPDX-License-Identifier: Apache-2.0
// Messages that are put together piece by piece.
#ifndef BRAID_BASE_APPEND_H
#define BRAID_BASE_APPEND_H

#include <stddef.h>

// Adds to a text in `size` bytes, as snprintf writes. The text is cut to fit.
__attribute__((format(printf, 3, 4))) void braid_append(char *text, size_t size, const char *format,
                                                        ...);

#endif
