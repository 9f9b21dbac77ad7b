// SPDX-License-Identifier: Apache-2.0
// How many bytes an instruction of x86-64 reads or writes at once.
#ifndef BRAID_AUDIT_AUDIT_WIDTH_H
#define BRAID_AUDIT_AUDIT_WIDTH_H

#include <stdbool.h>

enum { AUDIT_MOST_WIDTH = 64 };

struct audit_width {
    unsigned bytes; // at most
    bool is_known;  // exactly as many
};

// The width of a common instruction of integers or vectors is known.
struct audit_width braid_audit_find_width(const unsigned char *instruction);

#endif
