// SPDX-License-Identifier: Apache-2.0
// braid diff: what changed between two plans or two runs, so that a build can watch its frame.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "arguments.h"
#include "commands.h"
#include "json_file.h"
#include "output.h"
#include "printable.h"

static const char help[] =
    "usage: braid diff OLD.json NEW.json [options]\n"
    "\n"
    "Compares two files of 'braid plan --json' or of 'braid run --json', and ends with status 1 "
    "if\n"
    "the frame became longer than the limit allows: the planned makespan of plans, the median of\n"
    "the measured ones of runs.\n"
    "\n"
    "  --limit P         how many percent longer a frame may be (default 5)\n"
    "  --help            print this text\n";

enum { MOST_CHANGES = 10 };

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

// A number, or a part of one: "measured_makespan_ns.median". NULL where there is none.
static const json_t *find_number(const json_t *json, const char *name)
{
    const char *point = strchr(name, '.');
    char first[64];
    snprintf(first, sizeof(first), "%.*s", point ? (int)(point - name) : 63, name);
    const json_t *value = json_object_get(json, first);
    value = point ? json_object_get(value, point + 1) : value;
    return json_is_number(value) ? value : NULL;
}

static double number_of(const json_t *json, const char *name)
{
    return json_number_value(find_number(json, name));
}

// The field that tells how long a frame is, by which two reports are judged.
static const char *frame_of(const json_t *json)
{
    return strcmp(text_of(json, "kind"), "run") == 0 ? "measured_makespan_ns.median" : "makespan";
}

static enum exit_status check_frame(const char *path, const json_t *json)
{
    const char *name = frame_of(json);
    if (!find_number(json, name))
        return fail_in_file(path, 1, "no number '%s', by which frames are compared", name);
    if (number_of(json, name) < 0)
        return fail_in_file(path, 1, "'%s' is %g: no frame is as short", name,
                            number_of(json, name));
    return EXIT_DONE;
}

static enum exit_status read_report(const char *path, json_t **out_json)
{
    json_error_t error;
    json_t *json = json_file_load(path, &error);
    path = json_file_name(path);
    if (!json && error.line < 1)
        return fail(EXIT_BAD_FILE, "cannot read %s: %s", path, error.text);
    if (!json)
        return fail_in_file(path, (uint64_t)error.line, "%s", error.text);
    const char *kind = text_of(json, "kind");
    enum exit_status status = EXIT_DONE;
    if (strcmp(kind, "plan") != 0 && strcmp(kind, "run") != 0)
        status = fail_in_file(path, 1, "not what 'braid plan --json' or 'braid run --json' writes");
    if (status == EXIT_DONE)
        status = json_file_check_format(path, json);
    if (status == EXIT_DONE)
        status = check_frame(path, json);
    if (status == EXIT_DONE)
        *out_json = json;
    else
        json_decref(json);
    return status;
}

static double percent_more(double before, double after)
{
    if (before == after)
        return 0;
    return before > 0 ? (after / before - 1) * 100 : INFINITY;
}

static void print_numbers(const json_t *before, const json_t *after, const char *name,
                          const char *shown)
{
    double first = number_of(before, name), second = number_of(after, name);
    if (json_object_get(before, name) || strchr(name, '.'))
        printf("%-20s %16.10g %16.10g  %+.1f %%\n", shown, first, second,
               percent_more(first, second));
}

struct change {
    const char *key;
    double before, after;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *first = a, *second = b;
    double by_first = fabs(first->after - first->before);
    double by_second = fabs(second->after - second->before);
    if (by_first != by_second)
        return by_first > by_second ? -1 : 1;
    return strcmp(first->key, second->key);
}

// How many parts of its unit a report's times are whole numbers of (docs/json.md).
static double parts_of(const json_t *report)
{
    static const struct {
        const char *unit;
        double parts;
    } times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (strcmp(text_of(report, "cost_unit"), times[i].unit) == 0)
            return times[i].parts;
    }
    return 1e3;
}

// In whole parts, so that differences and sums of them are exact.
static double parts_in(const json_t *json, const char *name, double parts)
{
    return rint(number_of(json, name) * parts);
}

static double length_of(const json_t *task, double parts)
{
    return parts_in(task, "end", parts) - parts_in(task, "start", parts);
}

// A task goes by its name if neither report has that twice. Ids of dumps are only numbers, and
// change when a node is added. So a task with such an id is one of its name's, in the order of the
// report. Any other goes by its id. The first letter keeps the three apart.
enum { IN_KEY = 1 };

// How often a report has each name is in `times`, if that is more than once.
static void count_names(const json_t *report, json_t *times)
{
    json_t *once = json_object(), *task;
    size_t i;
    json_array_foreach(json_object_get(report, "tasks"), i, task)
    {
        const char *name = text_of(task, "name");
        json_object_set_new(json_object_get(once, name) ? times : once, name, json_true());
    }
    json_decref(once);
}

// Counts the tasks of a repeated name that came before; negative: no memory.
static long long count_before(json_t *counts, const char *name)
{
    const long long num = json_integer_value(json_object_get(counts, name));
    return json_object_set_new(counts, name, json_integer(num + 1)) == 0 ? num : -1;
}

// NULL: no memory.
static char *make_key(const json_t *task, const json_t *repeated, json_t *counts)
{
    const char *id = text_of(task, "id"), *name = text_of(task, "name");
    const bool is_number = id[strspn(id, "0123456789")] == '\0';
    char *key = NULL;
    int length = -1;
    if (*name && !json_object_get(repeated, name)) {
        length = asprintf(&key, "n%s", name);
    } else if (*name && is_number) {
        const long long num = count_before(counts, name);
        length = num < 0 ? -1 : asprintf(&key, "k%s (%lld)", name, num + 1);
    } else {
        length = asprintf(&key, "i%s", id);
    }
    return length < 0 ? NULL : key;
}

// The tasks of a report by their keys; false: no memory.
static bool index_tasks(const json_t *report, const json_t *repeated, json_t *index)
{
    json_t *counts = json_object(), *task;
    size_t i;
    bool done = index && counts;
    json_array_foreach(json_object_get(report, "tasks"), i, task)
    {
        char *key = done ? make_key(task, repeated, counts) : NULL;
        done = key && json_object_set(index, key, task) == 0;
        free(key);
    }
    json_decref(counts);
    return done;
}

static void print_changes(struct change *changes, size_t num)
{
    if (num > 0)
        qsort(changes, num, sizeof(*changes), compare_changes);
    for (size_t i = 0; i < num && i < MOST_CHANGES; i++)
        printf("  %-18s %16.10g %16.10g  %+.1f %%\n", printable_name(changes[i].key + IN_KEY).text,
               changes[i].before, changes[i].after,
               percent_more(changes[i].before, changes[i].after));
    if (num > MOST_CHANGES)
        printf("  and %zu more\n", num - MOST_CHANGES);
}

// Nodes that only one has, and those whose costs differ, the largest difference first.
static enum exit_status compare_tasks(const json_t *before, const json_t *after)
{
    json_t *repeated = json_object(), *old_tasks = json_object(), *new_tasks = json_object();
    json_t *task;
    count_names(before, repeated);
    count_names(after, repeated);
    bool done = repeated && index_tasks(before, repeated, old_tasks) &&
                index_tasks(after, repeated, new_tasks);
    json_decref(repeated);
    struct change *changes =
        done ? calloc(json_object_size(old_tasks) + 1, sizeof(*changes)) : NULL;
    size_t num = 0, num_gone = 0, num_new = 0;
    double parts = parts_of(before); // both files have so many
    const char *key;
    if (!changes) {
        json_decref(old_tasks);
        json_decref(new_tasks);
        return fail(EXIT_FAILED, "out of memory for the differences");
    }
    json_object_foreach(old_tasks, key, task)
    {
        const json_t *now = json_object_get(new_tasks, key);
        num_gone += now == NULL;
        if (now && length_of(task, parts) != length_of(now, parts))
            changes[num++] = (struct change){ key, length_of(task, parts) / parts,
                                              length_of(now, parts) / parts };
    }
    json_object_foreach(new_tasks, key, task) num_new += json_object_get(old_tasks, key) == NULL;
    if (num_gone + num_new > 0)
        printf("nodes: %zu gone, %zu new\n", num_gone, num_new);
    if (num > 0)
        printf("costs of %zu node%s changed\n", num, output_plural(num));
    print_changes(changes, num);
    free(changes);
    json_decref(old_tasks);
    json_decref(new_tasks);
    return EXIT_DONE;
}

// Whether a * b > c * d; exact: where the products are the same rounded, their remainders tell.
static bool is_more(double a, double b, double c, double d)
{
    double first = a * b, second = c * d;
    return first == second ? fma(a, b, -first) > fma(c, d, -second) : first > second;
}

static bool is_past_limit(double before, double after, double limit)
{
    const double parts = 1e6; // in a percent: as decimals, limits are no binary fractions
    return is_more(after - before, 100 * parts, rint(limit * parts), before);
}

static enum exit_status compare(const json_t *before, const json_t *after, double limit)
{
    static const struct {
        const char *name, *shown;
    } numbers[] = {
        { "nodes", "nodes" },       { "edges", "edges" },     { "num_lanes", "lanes" },
        { "num_waits", "waits" },   { "records", "records" }, { "work", "work" },
        { "makespan", "makespan" }, { "bound", "bound" },
    };
    const char *frame = frame_of(before);
    printf("%-20s %16s %16s\n", "", "old", "new");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        print_numbers(before, after, numbers[i].name, numbers[i].shown);
    if (strcmp(frame, "makespan") != 0)
        print_numbers(before, after, frame, "measured makespan");
    enum exit_status status = compare_tasks(before, after);
    double parts = parts_of(before);
    double first = parts_in(before, frame, parts), second = parts_in(after, frame, parts);
    if (status == EXIT_DONE && is_past_limit(first, second, limit)) {
        fflush(stdout);
        status = fail(EXIT_FAILED, "the frame became %.1f %% longer; the limit is %g %%",
                      percent_more(first, second), limit);
    }
    return status;
}

static enum exit_status check_alike(const json_t *before, const json_t *after)
{
    static const char *const names[] = { "kind", "cost_unit" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *first = text_of(before, names[i]), *second = text_of(after, names[i]);
        if (strcmp(first, second) != 0)
            return fail(EXIT_BAD_FILE, "the two differ in their %s: '%s' and '%s'", names[i], first,
                        second);
    }
    return EXIT_DONE;
}

static enum exit_status read_limit(char *text, void *out_limit)
{
    char *end;
    double limit = strtod(text, &end);
    if (end == text || *end || !(limit >= 0 && limit <= 1e6))
        return fail(EXIT_BAD_FILE, "--limit takes a number from 0 to 1e6, not '%s'", text);
    *(double *)out_limit = limit;
    return EXIT_DONE;
}

enum exit_status command_diff(int argc, char **argv)
{
    static const struct argument known_options[] = {
        { "limit", ARGUMENT_IS_READ, 0, 0, 0, read_limit }, { .name = NULL }
    };
    double limit = 5;
    bool is_help;
    enum exit_status status =
        arguments_read("diff", help, argc, argv, known_options, &limit, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    if (argc - optind != 2)
        return fail(EXIT_BAD_FILE, "which two? braid diff OLD.json NEW.json");
    json_t *before = NULL, *after = NULL;
    status = read_report(argv[optind], &before);
    if (status == EXIT_DONE)
        status = read_report(argv[optind + 1], &after);
    if (status == EXIT_DONE)
        status = check_alike(before, after);
    if (status == EXIT_DONE)
        status = compare(before, after, limit);
    json_decref(before);
    json_decref(after);
    return status;
}
