// SPDX-License-Identifier: Apache-2.0
// How much of a file is read: some have no end.
#ifndef BRAID_TOOL_FILE_LIMIT_H
#define BRAID_TOOL_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

enum { FILE_MOST_MIB = 1024 }; // more than a graph of a million nodes takes

// `num_read`: so far. What a regular file holds is known before.
static inline bool file_is_too_long(FILE *stream, uint64_t num_read)
{
    const uint64_t most = (uint64_t)FILE_MOST_MIB * 1024 * 1024;
    struct stat file;
    if (num_read == 0 && fstat(fileno(stream), &file) == 0 && S_ISREG(file.st_mode))
        num_read = (uint64_t)file.st_size;
    return num_read > most;
}

#endif
