// SPDX-License-Identifier: Apache-2.0
// braid simulate of many ranks: what a frame of all takes, by a model of the network.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "arguments.h"
#include "output.h"
#include "plan_json.h"
#include "printable.h"
#include "ranks_curve.h"
#include "ranks_plan.h"
#include "simulate_ranks.h"

enum { MOST_RANKS = 1 << 20 };

struct simulation {
    uint32_t ranks[RANKS_MOST_POINTS];
    uint32_t num;
    bool has_pattern;
    struct ranks_pattern pattern;
    struct ranks_machine machine;
    const char *svg, *json;
    struct dot_limits limits;
};

static enum exit_status read_ranks(char *text, void *into)
{
    struct simulation *simulation = into;
    simulation->num = 0;
    if (strcmp(text, "file") == 0)
        return EXIT_DONE;
    for (char *word; (word = strsep(&text, ","));) {
        uint64_t number = 0;
        enum exit_status status = argument_read_number("--ranks", word, 1, MOST_RANKS, &number);
        if (status != EXIT_DONE)
            return status;
        if (simulation->num == RANKS_MOST_POINTS)
            return fail(EXIT_BAD_FILE, "--ranks takes at most %d numbers", RANKS_MOST_POINTS);
        simulation->ranks[simulation->num++] = (uint32_t)number;
    }
    return EXIT_DONE;
}

static enum exit_status read_network(char *text, void *into)
{
    struct ranks_network *network = into;
    for (char *word; (word = strsep(&text, ","));) {
        char *equals = strchr(word, '='), *end = word;
        double value = equals ? strtod(equals + 1, &end) : -1;
        if (!equals || *end || end == equals + 1 || !(value >= 0 && value <= 1e9))
            return fail(EXIT_BAD_FILE, "--network: '%s' is not NAME=NUMBER", word);
        *equals = '\0';
        if (strcmp(word, "latency") == 0)
            network->latency_ns = value * 1000;
        else if (strcmp(word, "overhead") == 0)
            network->overhead_ns = value * 1000;
        else if (strcmp(word, "gap") == 0)
            network->gap_ns = value * 1000;
        else if (strcmp(word, "gb_s") == 0 && value > 0)
            network->ns_per_byte = 1 / value;
        else
            return fail(EXIT_BAD_FILE,
                        "--network: '%s': there are latency, gb_s (more than 0), overhead and gap",
                        word);
    }
    return EXIT_DONE;
}

static enum exit_status read_hosts(char *text, void *into)
{
    struct ranks_machine *machine = into;
    char *slash = strchr(text, '/');
    uint64_t ranks = 0, cores = 0;
    if (!slash)
        return fail(EXIT_BAD_FILE, "--hosts takes RANKS/CORES, not '%s'", text);
    *slash = '\0';
    enum exit_status status = argument_read_number("--hosts", text, 1, MOST_RANKS, &ranks);
    if (status == EXIT_DONE)
        status = argument_read_number("--hosts", slash + 1, 1, MOST_RANKS, &cores);
    machine->ranks_a_host = (uint32_t)ranks;
    machine->num_cores = (uint32_t)cores;
    return status;
}

static enum exit_status read_pattern(char *text, void *into)
{
    struct simulation *simulation = into;
    simulation->has_pattern = true;
    return ranks_pattern_read(text, &simulation->pattern);
}

static const struct argument known_options[] = {
    { "ranks", ARGUMENT_IS_READ, 0, 0, 0, read_ranks },
    { "pattern", ARGUMENT_IS_READ, 0, 0, 0, read_pattern },
    ARGUMENT_READ("network", struct simulation, machine.network, read_network),
    ARGUMENT_COUNT("workers", struct simulation, machine.num_workers, 1, 1024),
    ARGUMENT_READ("hosts", struct simulation, machine, read_hosts),
    DOT_LIMITS_ARGUMENT(struct simulation, limits),
    ARGUMENT_TEXT("svg", struct simulation, svg),
    ARGUMENT_TEXT("json", struct simulation, json),
    { .name = NULL },
};

// Where lanes of several ranks would wait for each other, all are planned again, as by execs.
static enum exit_status simulate_world(const struct simulation *simulation,
                                       const struct ranks_world *world,
                                       struct ranks_point *out_point)
{
    const struct ranks_machine *machine = &simulation->machine;
    struct ranks_frame frame = { .is_stuck = true };
    enum exit_status status = EXIT_DONE;
    for (int is_free = 0; is_free < 2 && status == EXIT_DONE && frame.is_stuck; is_free++) {
        struct ranks_plan plan;
        status = ranks_plan_make(world, &machine->network, machine->num_workers, is_free, &plan);
        if (status != EXIT_DONE)
            return status;
        status = ranks_run(&plan, machine, &frame);
        ranks_plan_finish(&plan);
    }
    if (status == EXIT_DONE && frame.is_stuck)
        return fail(EXIT_FAILED, "ranks wait for each other for ever");
    double cores =
        machine->ranks_a_host
            ? (double)machine->num_cores *
                  ((world->num_ranks + machine->ranks_a_host - 1) / machine->ranks_a_host)
            : (double)machine->num_workers * world->num_ranks;
    *out_point = (struct ranks_point){
        .num_ranks = world->num_ranks,
        .num_tasks = world->num_tasks,
        .frame = frame,
        .efficiency = frame.makespan_ns > 0 ? frame.work_ns / cores / frame.makespan_ns : 1,
    };
    return status;
}

static enum exit_status simulate_file(const struct simulation *simulation,
                                      const struct dot_file *file, struct ranks_point *out_point)
{
    struct ranks_world world;
    enum exit_status status = ranks_file_make(file, &world);
    if (status != EXIT_DONE)
        return status;
    status = simulate_world(simulation, &world, out_point);
    ranks_world_finish(&world);
    return status;
}

static enum exit_status simulate_pattern(const struct simulation *simulation, uint32_t num_ranks,
                                         struct ranks_point *out_point)
{
    struct ranks_world world;
    enum exit_status status = ranks_pattern_make(&simulation->pattern, num_ranks, &world);
    if (status != EXIT_DONE)
        return status;
    status = simulate_world(simulation, &world, out_point);
    ranks_world_finish(&world);
    return status;
}

static void print_points(const struct ranks_curve *curve)
{
    printf("%s, simulated\n%7s %9s %9s %10s %12s %10s\n", printable_name(curve->title).text,
           "ranks", "tasks", "messages", "MB", "frame ms", "efficiency");
    for (uint32_t i = 0; i < curve->num; i++) {
        const struct ranks_point *point = &curve->points[i];
        printf("%7" PRIu32 " %9zu %9" PRIu64 " %10.1f %12.3f %10.3f\n", point->num_ranks,
               point->num_tasks, point->frame.num_messages, (double)point->frame.bytes / 1e6,
               point->frame.makespan_ns / 1e6, point->efficiency);
    }
}

static enum exit_status write_json(const char *path, const struct ranks_curve *curve)
{
    json_t *json = output_start_json("ranks"), *points = json_array();
    bool done = json && json_object_set_new(json, "graph", plan_json_text(curve->title)) == 0;
    for (uint32_t i = 0; i < curve->num && done; i++) {
        const struct ranks_point *point = &curve->points[i];
        done = json_array_append_new(points, json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "ranks",
                                                       (json_int_t)point->num_ranks, "tasks",
                                                       (json_int_t)point->num_tasks, "messages",
                                                       (json_int_t)point->frame.num_messages,
                                                       "bytes", (json_int_t)point->frame.bytes,
                                                       "makespan_ns", point->frame.makespan_ns,
                                                       "efficiency", point->efficiency)) == 0;
    }
    if (done)
        done = json_object_set(json, "simulated", points) == 0;
    json_decref(points);
    enum exit_status status = done ? output_write_json(path, json)
                                   : fail(EXIT_FAILED, "out of memory for the JSON of ranks");
    json_decref(json);
    return status;
}

static enum exit_status simulate_all(const struct simulation *simulation, const char *path,
                                     struct ranks_curve *curve)
{
    struct dot_file file;
    enum exit_status status = EXIT_DONE;
    if (simulation->has_pattern) {
        curve->title = simulation->pattern.name;
        for (; curve->num < simulation->num && status == EXIT_DONE; curve->num++)
            status = simulate_pattern(simulation, simulation->ranks[curve->num],
                                      &curve->points[curve->num]);
        return status;
    }
    status = dot_file_read(path, &simulation->limits, &file);
    if (status != EXIT_DONE)
        return status;
    curve->title = path;
    status = simulate_file(simulation, &file, &curve->points[0]);
    curve->num = 1;
    dot_file_finish(&file);
    return status;
}

bool simulate_ranks_is_meant(int argc, char **argv)
{
    static const char *const options[] = { "--ranks", "--pattern", "--network", "--hosts" };
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof(options) / sizeof(*options); k++) {
            size_t length = strlen(options[k]);
            if (strncmp(argv[i], options[k], length) == 0 &&
                (!argv[i][length] || argv[i][length] == '='))
                return true;
        }
    }
    return false;
}

enum exit_status simulate_ranks(const char *help, int argc, char **argv)
{
    struct simulation simulation = {
        .ranks = { 1, 4, 16, 64, 256, 1024 },
        .num = 6,
        .machine = { .network = { 1500, 500, 100, 1 / 12.0 }, .num_workers = 1 },
    };
    const char *path = NULL;
    bool is_help;
    enum exit_status status =
        arguments_read("simulate", help, argc, argv, known_options, &simulation, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    if (!simulation.has_pattern)
        status = argument_read_file("simulate", argc, argv, optind, &path);
    else if (optind < argc)
        status = fail(EXIT_BAD_FILE, "a pattern or a file: '%s' is one too many", argv[optind]);
    else if (!simulation.num)
        status = fail(EXIT_BAD_FILE, "--ranks of a pattern are numbers");
    struct ranks_curve curve = { 0 };
    if (status == EXIT_DONE)
        status = simulate_all(&simulation, path, &curve);
    if (status == EXIT_DONE && simulation.svg)
        status = output_write(simulation.svg, ranks_curve_write, &curve);
    if (status == EXIT_DONE && simulation.json)
        status = write_json(simulation.json, &curve);
    if (status == EXIT_DONE && !output_is_stdout(simulation.json) &&
        !output_is_stdout(simulation.svg))
        print_points(&curve);
    return status;
}
