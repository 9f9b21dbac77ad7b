// SPDX-License-Identifier: Apache-2.0
// The costs of a graph are kept in a file and taken from it, whole or not at all; a file of another
// graph, another device or another kind is refused by name.
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <braid/braid.h>

#include "base/whole_file.h"
#include "graph/regions.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

enum { num_lists = 4 }; // that a file may have

static char path[] = "/tmp/braid-costs-XXXXXX";

static braid_graph *make_graph(const char *second)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    const char *names[] = { "first", second, "third" };
    for (uint64_t i = 0; i < 3; i++)
        check_ok(braid_graph_add_empty(
            graph, &(braid_empty){ .node = { .name = names[i], .cost_ns = 10 * (i + 1) } }, NULL));
    return graph;
}

static uint64_t length_of(const braid_graph *graph)
{
    braid_schedule *schedule;
    check_ok(braid_schedule_create(
        graph,
        &(braid_schedule_options){ .costs = &free_costs, .max_lanes = 1, .fixed_lanes = true },
        &schedule));
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info.makespan_ns;
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(void)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static braid_device *open_device(void)
{
    braid_device *device;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    return device;
}

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second"), *again = make_graph("second");
    check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, 1), 5000));
    check_ok(braid_graph_save_costs(graph, device, path));
    for (int i = 0; i < 2; i++) {
        check_ok(braid_graph_load_costs(again, i ? NULL : device, path));
        check_ok(braid_graph_save_costs(again, device, path));
        assert_non_null(strstr(read_text(), "\"costs_ns\": [10, 5000, 30]"));
    }
    assert_int_equal(length_of(graph), length_of(again));
    braid_graph_destroy(graph);
    braid_graph_destroy(again);
    check_ok(braid_device_close(device));
}

// How much nodes slow each other, and how often loops ran, if anything is known of that.
static braid_graph *make_loop(void)
{
    static uint32_t left;
    braid_graph *graph;
    braid_resource condition;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "left", &left, sizeof(left), &condition));
    check_ok(
        braid_graph_begin_loop(graph, &(braid_loop){ .condition = condition, .most = 1000 }, NULL));
    check_ok(braid_graph_add_empty(
        graph, &(braid_empty){ BRAID_ACCESSES({ condition, BRAID_WRITE }), .node.cost_ns = 7 },
        NULL));
    check_ok(braid_graph_end(graph));
    return graph;
}

static void what_else_was_measured_is_kept_too(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second"), *again = make_graph("second");
    check_ok(braid_graph_save_costs(graph, device, path));
    assert_null(strstr(read_text(), "inside_ns"));
    assert_true(braid_graph_reserve_measured(graph));
    graph_keep_measured(graph, 1, (struct graph_measured){ .outside_ns = 9, .inside_ns = 7 });
    check_ok(braid_graph_save_costs(graph, device, path));
    assert_non_null(strstr(read_text(), "], \"inside_ns\": [0, 7, 0], \"outside_ns\": [0, 9, 0]}"));
    check_ok(braid_graph_load_costs(again, device, path));
    assert_int_equal(graph_measured_of(again, 1).inside_ns, 7);
    assert_int_equal(graph_measured_of(again, 1).outside_ns, 9);
    braid_graph_destroy(graph);
    braid_graph_destroy(again);
    graph = make_loop();
    again = make_loop();
    assert_int_equal(length_of(graph), 70);
    ((struct graph_region *)graph->regions.items)[0].expected = 112;
    check_ok(braid_graph_save_costs(graph, device, path));
    assert_non_null(strstr(read_text(), "7], \"iterations\": [112]}"));
    check_ok(braid_graph_load_costs(again, device, path));
    assert_int_equal(length_of(again), 7 * 112);
    braid_graph_destroy(graph);
    braid_graph_destroy(again);
    check_ok(braid_device_close(device));
}

static void memory_for_a_file_may_be_missing(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second");
    for (uint64_t nth = 1; nth <= num_lists; nth++) {
        failing_memory_arm_once(nth);
        braid_status status = braid_graph_save_costs(graph, device, path);
        assert_true(failing_memory_disarm());
        check_fails(status, BRAID_NO_MEMORY, "a file of costs");
    }
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void what_is_of_another_is_refused(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second"), *other = make_graph("another");
    check_ok(braid_graph_save_costs(graph, device, path));
    check_fails(braid_graph_load_costs(other, device, path), BRAID_INVALID_ARGUMENT,
                "is of another graph");
    char *text = read_text();
    memset(strstr(text, "\"device\": \"") + 11, 'x', 3);
    write_text(text);
    check_fails(braid_graph_load_costs(graph, device, path), BRAID_INVALID_ARGUMENT,
                "is of another device");
    check_ok(braid_graph_load_costs(graph, NULL, path));
    check_fails(braid_graph_load_costs(graph, device, "/nowhere/costs"), BRAID_IO_ERROR,
                "cannot be read");
    check_fails(braid_graph_load_costs(graph, device, "/tmp"), BRAID_IO_ERROR, "could not be read");
    check_fails(braid_graph_save_costs(graph, device, "/nowhere/costs"), BRAID_IO_ERROR,
                "cannot be written");
    check_fails(braid_graph_save_costs(graph, device, "/dev/full"), BRAID_IO_ERROR,
                "could not be written");
    braid_graph_destroy(graph);
    braid_graph_destroy(other);
    check_ok(braid_device_close(device));
}

// A file of three costs; %s is what stands between the brackets.
#define HEAD "{\"braid\": \"0.1.0\", \"format\": 2, \"kind\": \"costs\", \"graph\": \"%s\", "
#define ORIGIN "\"backend\": \"cpu\", \"device\": \"x\", "
#define NUMBERS "\"costs_ns\": [%s]}\n"

static void what_is_no_file_of_costs_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "x",
        "{",
        "{}",
        "[1]",
        "{\"kind\": \"costs\"",
        "{\"braid\": \"0.1.0\", \"format\": 2, \"kind\": \"plan\"}",
        "{\"braid\": \"0.1.0\", \"format\": 2, \"kind\": \"costs\"}",
        "{\"braid\": \"0.1.0\", \"format\": 2, \"kind\": \"costs\", \"graph\": \"1\", \"backend\"",
    };
    static const char *const rests[] = {
        "\"backend\": \"\", \"device\": \"x\", \"costs_ns\": [1, 2, 3]}",
        "\"backend\": \"cpu\", \"device\": \"x\", \"costs_ns\": [1, 2, 3]",
        "\"backend\": \"cpu\", \"device\": \"x\", \"costs_ns\": [1, 2, 3], \"more\": [1]}",
        "\"backend\": \"cpu\", \"device\": \"x\", \"costs_ns\": [1, 2, 3], \"iterations\": [1]}",
        "\"backend\": \"cpu\", \"device\": \"x\", \"costs_ns\": [1, 2, 3]} {}",
    };
    braid_graph *graph = make_graph("second");
    char digest[32], text[512];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)braid_graph_get_digest(graph));
    size_t num = sizeof(texts) / sizeof(texts[0]), num_rests = sizeof(rests) / sizeof(rests[0]);
    for (size_t i = 0; i < num + num_rests; i++) {
        snprintf(text, sizeof(text), HEAD "%s", digest, i < num ? "" : rests[i - num]);
        write_text(i < num ? texts[i] : text);
        check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT,
                    "is no file of costs");
    }
    check_fails(braid_graph_load_costs(graph, NULL, "/dev/zero"), BRAID_INVALID_ARGUMENT,
                "/dev/zero is no file of costs");
    write_text("{\"braid\": \"9\", \"format\": 99, \"kind\": \"costs\"}");
    check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT, "format 99");
    assert_int_equal(length_of(graph), 60);
    snprintf(text, sizeof(text), "\n " HEAD "\n " ORIGIN NUMBERS "\n", digest, "7,8\n, 9 ");
    write_text(text);
    check_ok(braid_graph_load_costs(graph, NULL, path));
    assert_int_equal(length_of(graph), 24);
    braid_graph_destroy(graph);
}

static void wrong_numbers_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *numbers, *reason;
    } files[] = {
        { "", "costs_ns[0] is no whole number, or not one of 3" },
        { "1, 2", "costs_ns[1] is no whole number, or not one of 3" },
        { "1, 2, 3, 4", "costs_ns[2] is no" },
        { "1, 2, -3", "costs_ns[2] is no" },
        { "1,\n 1.5 ", "costs_ns[1] is no" },
        { "0, 1e3", "costs_ns[1] is no" },
        { "\"7\"", "costs_ns[0] is no" },
        { "99999999999999999999, 1, 1",
          "the numbers of costs_ns add up to more than 9223372036854775807" },
        { "999999999999999999999, 1, 1", "costs_ns[0] is no" },
        { "9223372036854775808, 1, 1", "add up to more than" },
        { "1, 9223372036854775806, 1", "add up to more than" },
        { "1, 2, 3], \"inside_ns\": [1, 2", "inside_ns[1] is no whole number" },
        { "1, 2, 3], \"crowding\": [0, 1, 0", "it has 'crowding' in this place. Measure" },
    };
    braid_graph *graph = make_graph("second");
    char digest[32], text[512];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)braid_graph_get_digest(graph));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(text, sizeof(text), HEAD ORIGIN NUMBERS, digest, files[i].numbers);
        write_text(text);
        check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT,
                    files[i].reason);
        check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT, path);
        assert_int_equal(length_of(graph), 60);
    }
    braid_graph_destroy(graph);
}

// Though planning refuses such costs.
static void numbers_that_are_too_large_are_saved_as_the_largest(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second");
    const braid_loop loop = { .times = UINT64_MAX };
    check_ok(braid_graph_begin_loop(graph, &loop, NULL));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, 1), UINT64_MAX));
    check_ok(braid_graph_save_costs(graph, device, path));
    check_ok(braid_graph_load_costs(graph, device, path));
    assert_int_equal(graph_regions(graph)[0].expected, INT64_MAX);
    assert_int_equal(graph_nodes(graph)[1].cost_ns, INT64_MAX - 10);
    assert_int_equal(graph_nodes(graph)[2].cost_ns, 0);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void missing_lists_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *lists, *reason;
    } files[] = {
        { "\"inside_ns\": [1, 2, 3]}", "'costs_ns' is missing, or is no list" },
        { "\"costs_ns\": {1, 2, 3}}", "'costs_ns' is missing, or is no list" },
        { "\"costs_ns\": [1, 2, 3], \"more\": 1}", "'more' is missing, or is no list" },
    };
    braid_graph *graph = make_graph("second");
    char digest[32], text[512];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)braid_graph_get_digest(graph));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(text, sizeof(text), HEAD ORIGIN "%s", digest, files[i].lists);
        write_text(text);
        check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT,
                    files[i].reason);
        assert_int_equal(length_of(graph), 60);
    }
    braid_graph_destroy(graph);
}

static void wrong_iterations_are_named(void **state)
{
    (void)state;
    static const char *const numbers[] = { "0", "9223372036854775808" };
    static const char *const reasons[] = { "iterations[0] is 0",
                                           "have one of more than 9223372036854775807" };
    braid_graph *graph = make_loop();
    const uint64_t length = length_of(graph);
    char digest[32], text[512];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)braid_graph_get_digest(graph));
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), HEAD ORIGIN "\"costs_ns\": [0, 7], \"iterations\": [%s]}",
                 digest, numbers[i]);
        write_text(text);
        check_fails(braid_graph_load_costs(graph, NULL, path), BRAID_INVALID_ARGUMENT, reasons[i]);
        assert_int_equal(length_of(graph), length);
    }
    braid_graph_destroy(graph);
}

// Counts files in the folder whose names begin with that of the file.
static unsigned num_files(void)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof(pattern), "%s*", path);
    unsigned num = glob(pattern, 0, NULL, &found) ? 0 : (unsigned)found.gl_pathc;
    globfree(&found);
    return num;
}

static void a_full_disk_leaves_the_file_as_it_was(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second");
    check_ok(braid_graph_save_costs(graph, device, path));
    char *before = strdup(read_text());
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 40, limit.rlim_max }), 0);
    braid_status status = braid_graph_save_costs(graph, device, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_fails(status, BRAID_IO_ERROR, path);
    assert_string_equal(read_text(), before);
    assert_int_equal(num_files(), 1);
    free(before);
    check_fails(braid_graph_save_costs(graph, device, "/dev/full"), BRAID_IO_ERROR, "/dev/full");
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

// Some of it was lost, though the last of it could be written.
static void a_disk_that_was_full_for_a_while_leaves_it_too(void **state)
{
    (void)state;
    static char more[1 << 16];
    struct whole_file file;
    write_text("before");
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_true(braid_whole_file_open(path, &file));
    assert_int_equal(setvbuf(file.stream, NULL, _IONBF, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 40, limit.rlim_max }), 0);
    size_t num = fwrite(more, 1, sizeof(more), file.stream);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(num < sizeof(more));
    assert_int_equal(fputs("the last", file.stream) < 0, 0);
    assert_false(braid_whole_file_close(&file, true));
    assert_string_equal(read_text(), "before");
    assert_int_equal(num_files(), 1);
}

static void what_is_given_up_leaves_the_file_as_it_was(void **state)
{
    (void)state;
    struct whole_file file;
    write_text("before");
    assert_true(braid_whole_file_open(path, &file));
    assert_int_equal(fputs("half", file.stream) < 0, 0);
    assert_false(braid_whole_file_close(&file, false));
    assert_string_equal(read_text(), "before");
    assert_int_equal(num_files(), 1);
}

// Somebody makes a folder where the file should go, while it is written.
static void a_folder_in_the_place_of_the_file_stays(void **state)
{
    (void)state;
    struct whole_file file;
    assert_int_equal(unlink(path), 0);
    assert_true(braid_whole_file_open(path, &file));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(fputs("text", file.stream) < 0, 0);
    errno = 0;
    assert_false(braid_whole_file_close(&file, true));
    assert_int_equal(errno, EISDIR);
    assert_int_equal(num_files(), 1);
    assert_int_equal(rmdir(path), 0);
    write_text("");
}

// As long as a name may be, so that none beside it can be longer.
static void a_name_as_long_as_can_be_is_written(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second");
    char folder[] = "/tmp/braid-costs-XXXXXX", name[NAME_MAX + sizeof(folder) + 1];
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof(name), "%s/%0*d", folder, NAME_MAX, 0);
    check_ok(braid_graph_save_costs(graph, device, name));
    check_ok(braid_graph_load_costs(graph, device, name));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(folder), 0); // and nothing else is in it
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void a_file_keeps_its_rights_and_its_links(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph("second");
    char link[64];
    snprintf(link, sizeof(link), "%s.link", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(chmod(path, 0640), 0);
    check_ok(braid_graph_save_costs(graph, device, link));
    struct stat seen;
    assert_int_equal(lstat(link, &seen), 0);
    assert_true(S_ISLNK(seen.st_mode));
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0640);
    assert_int_equal(unlink(link), 0);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(what_else_was_measured_is_kept_too),
        cmocka_unit_test(memory_for_a_file_may_be_missing),
        cmocka_unit_test(what_is_of_another_is_refused),
        cmocka_unit_test(what_is_no_file_of_costs_is_refused),
        cmocka_unit_test(wrong_numbers_are_named),
        cmocka_unit_test(numbers_that_are_too_large_are_saved_as_the_largest),
        cmocka_unit_test(missing_lists_are_named),
        cmocka_unit_test(wrong_iterations_are_named),
        cmocka_unit_test(a_full_disk_leaves_the_file_as_it_was),
        cmocka_unit_test(a_disk_that_was_full_for_a_while_leaves_it_too),
        cmocka_unit_test(what_is_given_up_leaves_the_file_as_it_was),
        cmocka_unit_test(a_folder_in_the_place_of_the_file_stays),
        cmocka_unit_test(a_name_as_long_as_can_be_is_written),
        cmocka_unit_test(a_file_keeps_its_rights_and_its_links),
    };
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    int status = cmocka_run_group_tests_name("costs_are_kept_in_files", tests, NULL, NULL);
    unlink(path);
    return status;
}
