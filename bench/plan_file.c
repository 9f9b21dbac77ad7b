// SPDX-License-Identifier: Apache-2.0
// How long `braid plan` takes for a file of a million nodes and four million edges, and how much
// memory. Goals: 4 s and 0.8 GB, with --json too.
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan_shapes.h"

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((state >> 33) % limit);
}

// Each node is after four of the `reach` nodes before it, at random.
static void write_graph(const char *path, uint32_t num, uint32_t reach)
{
    FILE *file = fopen(path, "w");
    if (!file)
        give_up(path);
    fputs("digraph {\n", file);
    for (uint32_t i = 0; i < num; i++)
        fprintf(file, "n%" PRIu32 " [cost=%" PRIu32 "];\n", i, 1000 + below(1000));
    for (uint32_t i = 1; i < num; i++) {
        for (int k = 0; k < 4; k++)
            fprintf(file, "n%" PRIu32 " -> n%" PRIu32 ";\n", i - 1 - below(i < reach ? i : reach),
                    i);
    }
    fputs("}\n", file);
    if (fclose(file) != 0)
        give_up(path);
}

// NULL: on as many lanes as pay.
static void measure(const char *shape, const char *path, const char *lanes, const char *json)
{
    const char *const arguments[] = {
        "braid", "plan", path, "--json", json ? json : "/dev/null", lanes ? "--lanes" : NULL,
        lanes,   NULL
    };
    const char *const plain[] = { "braid", "plan", path, lanes ? "--lanes" : NULL, lanes, NULL };
    double wall = plan_wall_seconds();
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execv(BRAID_TOOL, (char *const *)(uintptr_t)(json ? arguments : plain));
        _exit(127);
    }
    int status = 0;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) < 0 || status != 0)
        give_up("braid plan");
    wall = plan_wall_seconds() - wall;
    double user = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
    double kernel = (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec;
    printf("| %s | %s | %s | %.2f | %.2f | %.2f | %.2f |\n", shape, lanes ? lanes : "chosen",
           json ? "yes" : "no", wall, user, kernel, (double)used.ru_maxrss * 1024 / 1e9);
    fflush(stdout);
}

int main(int num_arguments, char **arguments)
{
    uint32_t num = num_arguments > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 1000000;
    char path[] = "/tmp/braid-plan-file-XXXXXX", json[] = "/tmp/braid-plan-json-XXXXXX";
    int file = mkstemp(path), out = mkstemp(json);
    if (file < 0 || out < 0)
        give_up("mkstemp");
    printf("`braid plan` of %" PRIu32 " nodes and four times the edges.\n\n"
           "| edges from | lanes | --json | wall s | user s | kernel s | peak GB |\n"
           "|---|---:|---|---:|---:|---:|---:|\n",
           num);
    const uint32_t reaches[] = { 1000, UINT32_MAX };
    for (int i = 0; i < 2; i++) {
        const char *shape = i ? "all before" : "1,000 before";
        write_graph(path, num, reaches[i]);
        measure(shape, path, "8", NULL);
        measure(shape, path, "8", json);
        measure(shape, path, NULL, NULL);
        measure(shape, path, NULL, json);
    }
    close(file);
    close(out);
    unlink(path);
    unlink(json);
    return 0;
}
