// SPDX-License-Identifier: Apache-2.0
// Files that are written whole or not at all.
#ifndef BRAID_BASE_WHOLE_FILE_H
#define BRAID_BASE_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

// A full disk takes half of a file, so one that others may want is written beside its place and
// takes that when it is complete. Written directly is what is no regular file (a pipe, a terminal),
// what one of the standard streams goes to, a file that has more names than this or another owner,
// and one in a folder that takes no new ones.
struct whole_file {
    FILE *stream;
    char *target;     // behind links
    char *unfinished; // NULL: the stream is the target itself
};

// False, with errno.
bool braid_whole_file_open(const char *path, struct whole_file *out_file);
// With `complete` false the file is given up, and what was in its place stays. False, with errno:
// it stays, too, because not all could be written.
bool braid_whole_file_close(struct whole_file *file, bool complete);

#endif
