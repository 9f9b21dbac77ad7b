// SPDX-License-Identifier: Apache-2.0
// Results in files: drawings and JSON.
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <braid/braid.h>

#include "base/text.h"
#include "base/whole_file.h"
#include "dot_cost.h"
#include "json_file.h"

bool output_is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

const char *output_plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

// "1 us a node, 100 us a host call", of those that there are.
static void print_kinds(const struct dot_file *file, const struct dot_missing *missing)
{
    const struct {
        uint32_t num;
        const char *cost, *name;
    } kinds[] = { { missing->nodes, "1", "a node" },
                  { missing->host_calls, "100", "a host call" },
                  { missing->empty, file->unit_ns > 1 ? NULL : "1", "an empty node" } };
    struct dot_unit unit = dot_cost_unit(file);
    const char *separator = "";
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!kinds[i].num)
            continue;
        if (kinds[i].cost)
            printf("%s%s%s%s %s", separator, kinds[i].cost, unit.space, unit.name, kinds[i].name);
        else
            printf("%snext to nothing %s", separator, kinds[i].name);
        separator = ", ";
    }
    printf("\n");
}

void output_print_missing_costs(const struct dot_file *file, bool is_run)
{
    if (file->without_cost == 0)
        return;
    struct dot_unit unit = dot_cost_unit(file);
    struct dot_missing missing = dot_cost_missing(file);
    bool is_each = is_run || missing.nodes == file->without_cost;
    bool is_all = file->without_cost == file->num_nodes;
    if (is_all)
        printf("costs      none in the file: ");
    else
        printf("costs      %" PRIu32 " of %" PRIu32 " nodes without one: ", file->without_cost,
               file->num_nodes);
    if (is_each)
        printf("1%s%s %s\n", unit.space, unit.name, is_all ? "for each node" : "each");
    else
        print_kinds(file, &missing);
}

// Standard output is written as it is, all else whole or not at all.
static bool open_output(const char *path, struct whole_file *out_file)
{
    *out_file = (struct whole_file){ .stream = stdout };
    if (output_is_stdout(path) || braid_whole_file_open(path, out_file))
        return true;
    fail(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
    return false;
}

static bool flush(bool written)
{
    errno = 0;
    return fflush(stdout) == 0 && !ferror(stdout) && written;
}

static enum exit_status close_output(const char *path, struct whole_file *file, bool written)
{
    bool is_stdout = output_is_stdout(path);
    if (is_stdout ? flush(written) : braid_whole_file_close(file, written))
        return EXIT_DONE;
    return fail(EXIT_FAILED, "cannot write %s: %s", path, errno ? strerror(errno) : "write failed");
}

enum exit_status output_write(const char *path, output_writer *write, const void *user)
{
    struct whole_file file;
    if (!open_output(path, &file))
        return EXIT_FAILED;
    return close_output(path, &file, write(file.stream, user) == BRAID_OK);
}

void output_print_limit(const braid_schedule *schedule)
{
    static const char start[] = "limited by ";
    char text[256];
    if (braid_schedule_explain(schedule, NULL, 0, text, sizeof(text)) == BRAID_OK) {
        char shown[4 * sizeof(text)];
        braid_text_copy(text + strlen(start), shown, sizeof(shown));
        printf("limit      %s\n", shown);
    }
}

json_t *output_start_json(const char *kind)
{
    return json_pack("{s:s, s:i, s:s}", "braid", braid_get_version(), "format", JSON_FORMAT, "kind",
                     kind);
}

enum exit_status output_write_json(const char *path, const json_t *json)
{
    struct whole_file file;
    if (!open_output(path, &file))
        return EXIT_FAILED;
    bool written =
        json_dumpf(json, file.stream, JSON_COMPACT) == 0 && fputc('\n', file.stream) != EOF;
    return close_output(path, &file, written);
}

// More than this, and Graphviz takes minutes, or gives up on a plan.
#define MOST_DRAWN 500

enum exit_status output_write_drawing(const char *path, const braid_schedule *schedule,
                                      braid_drawing drawing, const braid_timeline_options *options)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    struct whole_file file;
    if (!open_output(path, &file))
        return EXIT_FAILED;
    if (drawing == BRAID_DRAWING_DOT && info.num_nodes > MOST_DRAWN)
        fprintf(stderr,
                "braid: Graphviz may take minutes for %" PRIu32
                " nodes, or draw no plan of so many; --svg draws a timeline without it\n",
                info.num_nodes);
    return close_output(path, &file,
                        braid_schedule_write(schedule, drawing, options, file.stream) == BRAID_OK);
}
