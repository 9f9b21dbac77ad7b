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

// The program ends with exit status 2 at an argument that it does not take, and with 0 at --help.
static inline void check_arguments(int argc, char **argv, int most, const char *usage)
{
    for (int i = 1; i < argc; i++) {
        bool asks = strcmp(argv[i], "--help") == 0;
        if (i <= most && argv[i][0] != '-')
            continue;
        if (!asks)
            fprintf(stderr, "%s: unknown argument '%s'\n", argv[0], argv[i]);
        fprintf(asks ? stdout : stderr, "usage: %s %s\n", argv[0], usage);
        exit(asks ? EXIT_SUCCESS : 2);
    }
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
