// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel in one short line.
#ifndef BRAID_TESTS_ACCESSES_FOUND_H
#define BRAID_TESTS_ACCESSES_FOUND_H

#include <stddef.h>

#include "accesses/kernel_accesses.h"

// An access reads as PARAMETER+OFFSET and its acts: r, w, and a for one that is atomic. "?" is any
// offset, and "??" any of halves. Behind it, "-" is below the pointer, and "-+" only sometimes.
// Else why it is not proven, or why the text cannot be read.
void found_write(struct kernel_code *code, uint32_t entry, char *to, size_t bytes);
void found_write_text(const char *text, const char *entry, char *to, size_t bytes);

#endif
