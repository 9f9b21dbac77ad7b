// SPDX-License-Identifier: Apache-2.0
// How the examples deal with errors: say which call failed and why, and stop.
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

// A macro, because it shows the call's text.
#define CHECK(call) check_status(call, #call, __FILE__, __LINE__)

static inline void check_status(braid_status status, const char *call, const char *file, int line)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, braid_error_get_message(),
            braid_status_get_name(status));
    exit(EXIT_FAILURE);
}

static inline void *check_memory(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "out of memory\n");
    exit(EXIT_FAILURE);
}

// The plan, where a file is named: as a timeline in a file .svg, else as Graphviz DOT.
static inline void write_picture(const braid_schedule *schedule, const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        const char *end = strrchr(path, '.');
        bool is_svg = end && strcmp(end, ".svg") == 0;
        CHECK(braid_schedule_write(schedule, is_svg ? BRAID_DRAWING_SVG : BRAID_DRAWING_DOT, NULL,
                                   file));
        fclose(file);
    } else if (path) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(EXIT_FAILURE);
    }
}

#endif
