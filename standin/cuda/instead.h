// SPDX-License-Identifier: Apache-2.0
// Texts that stand for machine code, which the stand-in cannot run.
#ifndef BRAID_STANDIN_INSTEAD_H
#define BRAID_STANDIN_INSTEAD_H

// Reads the file that BRAID_STANDIN_INSTEAD names, if `image` is machine code with the first entry
// of that text. NULL: it is not, or memory ran out. The caller frees it.
char *instead_of(const char *image);

#endif
