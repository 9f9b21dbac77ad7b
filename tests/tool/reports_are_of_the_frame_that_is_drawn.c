// SPDX-License-Identifier: Apache-2.0
// What a report tells of a measured frame is of the one it draws, whatever the others took.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

// Before cmocka makes a macro of the tool's fail().
#include "tools/braid/report_page.h"
#include "tools/braid/task_graph.h"

#include "support/check.h"

static const char path[] = "report-of-this-test.html";

static char *read_page(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *page = fopen(path, "r"), *copy = open_memstream(&text, &length);
    assert_non_null(page);
    for (int byte; (byte = fgetc(page)) != EOF;)
        fputc(byte, copy);
    fclose(copy);
    fclose(page);
    (void)unlink(path);
    return text;
}

// Writes the page for a graph on so many lanes whose nodes ran like this, and whose frames took
// median_ns.
static char *write_page(const char *graph, uint32_t num_lanes, const braid_interval *measured,
                        uint64_t median_ns)
{
    struct dot_text text;
    struct dot_file file;
    braid_schedule *schedule;
    FILE *stream = fmemopen((void *)graph, strlen(graph), "r");
    assert_int_equal(dot_text_read_stream(stream, "graph.dot", &text), EXIT_DONE);
    fclose(stream);
    assert_int_equal(dot_file_read_text(text, &(struct dot_limits){ 0 }, &file), EXIT_DONE);
    struct report report = { .file = &file,
                             .options = { .costs = &(braid_cost_model){ 0 },
                                          .max_lanes = num_lanes,
                                          .fixed_lanes = true },
                             .measured = measured,
                             .measured_ns = median_ns };
    assert_int_equal(task_graph_create(&file, task_graph_add_to_plan, NULL, &report.graph),
                     EXIT_DONE);
    check_ok(braid_schedule_create(report.graph, &report.options, &schedule));
    report.schedule = schedule;
    assert_int_equal(report_page_write(path, &report), EXIT_DONE);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(report.graph);
    dot_file_finish(&file);
    return read_page();
}

static void assert_has(const char *page, const char *text)
{
    const char *limit = strstr(page, "id=\"limit\"");
    if (!strstr(page, text))
        fail_msg("no '%s' in:\n%.1500s", text, limit ? limit : page);
}

static const char chain[] = "digraph { cost_unit=us; a [cost=10]; b [cost=10]; a -> b }";

static void a_path_is_a_part_of_its_own_frame(void **state)
{
    (void)state;
    static const braid_interval measured[] = { { 5000, 25000 }, { 25000, 45000 } };
    char *page = write_page(chain, 1, measured, 20000);
    assert_has(page, "took 40.0&nbsp;us (100.0&nbsp;% of the frame drawn)");
    free(page);
}

static void advice_is_of_what_was_measured(void **state)
{
    (void)state;
    static const char fork[] =
        "digraph { cost_unit=us; a [cost=10]; b [cost=10]; a -> c; b -> c; c [cost=10] }";
    static const braid_interval measured[] = { { 0, 80000 }, { 0, 20000 }, { 80000, 90000 } };
    char *page = write_page(fork, 2, measured, 90000);
    assert_has(page, "<i>a</i> took half</td><td>50.0&nbsp;us</td><td>44.4&nbsp;% shorter</td>");
    assert_has(page, "<td>a</td><td>10.0&nbsp;us</td><td>88.9&nbsp;%</td><td>80.0&nbsp;us</td>");
    assert_has(page, "measured to take, the frame takes 90.0&nbsp;us.");
    free(page);
}

static void what_began_early_is_not_counted_twice(void **state)
{
    (void)state;
    static const braid_interval measured[] = { { 5000, 25000 }, { 15000, 45000 } };
    char *page = write_page(chain, 1, measured, 40000);
    assert_has(page, "took 40.0&nbsp;us (100.0&nbsp;% of the frame drawn)");
    free(page);
}

// By the plan a, b and c hold the frame, and x none of it.
static void nodes_that_took_long_are_those_that_matter(void **state)
{
    (void)state;
    static const char graph[] =
        "digraph { cost_unit=us; a [cost=10]; b [cost=10]; c [cost=10]; x [cost=5]; a -> b -> c }";
    static const braid_interval measured[] = {
        { 1000, 11000 }, { 11000, 21000 }, { 21000, 31000 }, { 2000, 92000 }
    };
    char *page = write_page(graph, 2, measured, 91000);
    char *nodes = strstr(page, "<table id=\"nodes\">");
    assert_non_null(nodes);
    *strstr(nodes, "</table>") = '\0';
    assert_has(nodes, "<td>x</td><td>5.00&nbsp;us</td><td>98.9&nbsp;%</td><td>90.0&nbsp;us</td>");
    assert_null(strstr(nodes, "<td>a</td>"));
    free(page);
}

// That began at no time at all.
static void a_node_that_is_left_out_takes_nothing(void **state)
{
    (void)state;
    static const char graph[] =
        "digraph { cost_unit=us; resources=\"x:8 y:8\"; outputs=0; a [cost=10, accesses=w0]; "
        "b [cost=10, accesses=rw0]; c [cost=10, accesses=\"r0 w1\"] }";
    static const braid_interval measured[] = { { 50000, 60000 }, { 60000, 70000 }, { 0, 0 } };
    char *page = write_page(graph, 2, measured, 20000);
    assert_has(page, "took 20.0&nbsp;us (100.0&nbsp;% of the frame drawn)");
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_a_part_of_its_own_frame),
        cmocka_unit_test(advice_is_of_what_was_measured),
        cmocka_unit_test(what_began_early_is_not_counted_twice),
        cmocka_unit_test(nodes_that_took_long_are_those_that_matter),
        cmocka_unit_test(a_node_that_is_left_out_takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
