// SPDX-License-Identifier: Apache-2.0
// Results in files: drawings and JSON.
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <braid/braid.h>

#include "dot_cost.h"

// Grows when a field changes its meaning or goes away; new fields do not count.
#define JSON_FORMAT 2

bool output_is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

const char *output_plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

void output_print_missing_costs(const struct dot_file *file)
{
    struct dot_unit unit = dot_cost_unit(file);
    if (file->without_cost == 0)
        return;
    if (file->without_cost == file->num_nodes)
        printf("costs      none in the file: 1%s%s for each node\n", unit.space, unit.name);
    else
        printf("costs      %" PRIu32 " of %" PRIu32 " nodes without one: 1%s%s each\n",
               file->without_cost, file->num_nodes, unit.space, unit.name);
}

static FILE *open_output(const char *path)
{
    FILE *file = output_is_stdout(path) ? stdout : fopen(path, "w");
    if (!file)
        fail(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
    return file;
}

static enum exit_status close_output(const char *path, FILE *file, bool written)
{
    errno = 0;
    written = fflush(file) == 0 && !ferror(file) && written;
    int error = errno;
    if (file != stdout && fclose(file) != 0) {
        written = false;
        error = errno;
    }
    if (written)
        return EXIT_DONE;
    return fail(EXIT_FAILED, "cannot write %s: %s", path, error ? strerror(error) : "write failed");
}

enum exit_status output_write(const char *path, output_writer *write, const void *user)
{
    FILE *file = open_output(path);
    if (!file)
        return EXIT_FAILED;
    return close_output(path, file, write(file, user) == BRAID_OK);
}

void output_print_limit(const braid_schedule *schedule)
{
    static const char start[] = "limited by ";
    char text[256];
    if (braid_schedule_explain_limit(schedule, text, sizeof(text)) == BRAID_OK)
        printf("limit      %s\n", text + strlen(start));
}

json_t *output_start_json(const char *kind)
{
    return json_pack("{s:s, s:i, s:s}", "braid", braid_version(), "format", JSON_FORMAT, "kind",
                     kind);
}

enum exit_status output_write_json(const char *path, const json_t *json)
{
    FILE *file = open_output(path);
    if (!file)
        return EXIT_FAILED;
    bool written = json_dumpf(json, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    return close_output(path, file, written);
}

// More than this, and Graphviz takes minutes, or gives up on a plan.
#define MOST_DRAWN 500

enum exit_status output_write_drawing(const char *path, const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    FILE *file = open_output(path);
    if (!file)
        return EXIT_FAILED;
    if (info.num_nodes > MOST_DRAWN)
        fprintf(stderr,
                "braid: Graphviz may take minutes for %" PRIu32
                " nodes, or draw no plan of so many; --svg draws a timeline without it\n",
                info.num_nodes);
    return close_output(path, file, braid_schedule_write_dot(schedule, file) == BRAID_OK);
}

enum exit_status output_write_timeline(const char *path, const braid_schedule *schedule,
                                       const braid_timeline_options *options)
{
    FILE *file = open_output(path);
    if (!file)
        return EXIT_FAILED;
    return close_output(path, file, braid_schedule_write_svg(schedule, options, file) == BRAID_OK);
}

enum exit_status output_write_trace(const char *path, const braid_schedule *schedule,
                                    const braid_timeline_options *options)
{
    const char *ending = strrchr(path, '.');
    bool is_json = ending && strcmp(ending, ".json") == 0;
    FILE *file = open_output(path);
    if (!file)
        return EXIT_FAILED;
    braid_status written = is_json ? braid_schedule_write_chrome_trace(schedule, options, file)
                                   : braid_schedule_write_perfetto_trace(schedule, options, file);
    return close_output(path, file, written == BRAID_OK);
}
