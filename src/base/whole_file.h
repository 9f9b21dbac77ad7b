// SPDX-License-Identifier: Apache-2.0
// Files that are written whole or not at all.
#ifndef BRAID_BASE_WHOLE_FILE_H
#define BRAID_BASE_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

// A full disk takes half of a file. So a file that others may want is written beside its target,
// and replaces the target when it is complete.
struct whole_file {
    FILE *stream;
    char *target, *unfinished; // NULL: the stream is the target itself
};

// Opens a new file that replaces the path in the end, even if that is no file. False, with errno.
bool braid_whole_file_beside(const char *path, unsigned mode, struct whole_file *out_file);

// The same for a path that a user names. These are written directly:
// - a target that is no regular file, such as a pipe, a terminal or a link.
// - a file with several names, or of another owner.
// - a file in a folder that takes no new files.
// False, with errno.
bool braid_whole_file_open(const char *path, struct whole_file *out_file);

// With `complete` false the new file is given up, and the old one stays in its place. False, with
// errno: it stays, too, because not all could be written.
bool braid_whole_file_close(struct whole_file *file, bool complete);

#endif
