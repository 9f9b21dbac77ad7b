// SPDX-License-Identifier: Apache-2.0
// Reads the command line.
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "physics.h"

static const char help[] =
    "usage: sparse_mpm [options]\n"
    "  --device cpu|cuda|hip       where to run (cpu)\n"
    "  --mode auto|streams|graph  how the plan reaches the device (auto)\n"
    "  --islands auto|never|always whether small kernels become one (auto)\n"
    "  --costs measured|estimated  whether nodes are measured first (on the CPU they are)\n"
    "  --lanes N                   at most N lanes (0: the planner chooses)\n"
    "  --devices N                 also with its materials on N devices, 2 or 3 (1)\n"
    "  --frames N                  how many frames (240)\n"
    "  --particles N               about how many particles (16000)\n"
    "  --workers N                 CPU threads (0: one a core, at least 2)\n"
    "  --out DIR                   where to put the outputs (build/demo)\n"
    "  --quiet                     no progress\n";

static const struct option long_options[] = {
    { "device", required_argument, NULL, 'd' },
    { "mode", required_argument, NULL, 'm' },
    { "islands", required_argument, NULL, 'i' },
    { "costs", required_argument, NULL, 'c' },
    { "lanes", required_argument, NULL, 'l' },
    { "devices", required_argument, NULL, 'D' },
    { "frames", required_argument, NULL, 'f' },
    { "particles", required_argument, NULL, 'p' },
    { "workers", required_argument, NULL, 'w' },
    { "out", required_argument, NULL, 'o' },
    { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static bool parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *out_number)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number < least || number > most) {
        fprintf(stderr, "sparse_mpm: '%s' is not a number from %u to %u\n", text, least, most);
        return false;
    }
    *out_number = (uint32_t)number;
    return true;
}

static bool parse_mode(const char *text, braid_exec_mode *out_mode)
{
    static const char *const names[] = { "auto", "streams", "graph" };
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_mode = (braid_exec_mode)i;
            return true;
        }
    }
    fprintf(stderr, "sparse_mpm: no mode '%s' (auto, streams, graph)\n", text);
    return false;
}

static bool parse_islands(const char *text, braid_islands *out_islands)
{
    static const struct {
        const char *name;
        braid_islands islands;
    } all[] = { { "auto", BRAID_ISLANDS_AUTO },
                { "never", BRAID_ISLANDS_NEVER },
                { "always", BRAID_ISLANDS_ALWAYS } };
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, all[i].name) == 0) {
            *out_islands = all[i].islands;
            return true;
        }
    }
    fprintf(stderr, "sparse_mpm: no islands '%s' (auto, never, always)\n", text);
    return false;
}

static bool parse_costs(const char *text, const char **out_costs)
{
    if (strcmp(text, "measured") != 0 && strcmp(text, "estimated") != 0) {
        fprintf(stderr, "sparse_mpm: no costs '%s' (measured, estimated)\n", text);
        return false;
    }
    *out_costs = text;
    return true;
}

static bool apply(int letter, const char *text, struct mpm_options *options)
{
    switch (letter) {
    case 'd':
        options->backend = text;
        return true;
    case 'm':
        return parse_mode(text, &options->mode);
    case 'i':
        return parse_islands(text, &options->islands);
    case 'c':
        return parse_costs(text, &options->costs);
    case 'l':
        return parse_number(text, 0, 128, &options->max_lanes);
    case 'D':
        return parse_number(text, 1, MPM_NUM_MATERIALS, &options->num_devices);
    case 'f':
        return parse_number(text, 1, 100000, &options->num_frames);
    case 'p':
        return parse_number(text, 200, 1000000, &options->num_particles);
    case 'w':
        return parse_number(text, 0, 1024, &options->num_workers);
    case 'o':
        options->folder = text;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    default:
        fputs(help, letter == 'h' ? stdout : stderr);
        exit(letter == 'h' ? EXIT_SUCCESS : 2);
    }
}

bool mpm_options_parse(int argc, char **argv, struct mpm_options *out_options)
{
    struct mpm_options options = {
        .backend = "cpu",
        .num_devices = 1,
        .num_frames = 240,
        .num_particles = 16000,
        .folder = "build/demo",
    };
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (!apply(letter, optarg, &options))
            return false;
    if (optind < argc) {
        fprintf(stderr, "sparse_mpm: unknown argument '%s'\n%s", argv[optind], help);
        exit(2);
    }
    // The estimates of cost.c are near for the GPU that they are from, and every CPU is another.
    if (!options.costs)
        options.costs = strcmp(options.backend, "cpu") == 0 ? "measured" : "estimated";
    *out_options = options;
    return true;
}
