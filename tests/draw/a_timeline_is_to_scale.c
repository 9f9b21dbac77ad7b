// SPDX-License-Identifier: Apache-2.0
// Timelines of braid_schedule_write: where things stand in the picture follows from when they run,
// planned or measured; it stays small for large plans; bad arguments are refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"
#include "support/wide_plan.h"
#include "support/without_islands.h"

static void kernel_function(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = kernel_function };

static char *write_text(const braid_schedule *schedule, const braid_timeline_options *options,
                        braid_drawing drawing)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    check_ok(braid_schedule_write(schedule, drawing, options, file));
    fclose(file);
    return text;
}

static char *draw(const braid_schedule *schedule, const braid_timeline_options *options)
{
    return write_text(schedule, options, BRAID_DRAWING_SVG);
}

static void assert_has(const char *picture, const char *text)
{
    if (!strstr(picture, text))
        fail_msg("no '%s' in:\n%.4000s", text, picture);
}

// start -> long, short <&>; both before end; long has a prelude. On two lanes.
static braid_schedule *make_plan(void)
{
    braid_schedule *schedule;
    braid_node start, longer, shorter;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &kernel, .node = { .name = "start", .cost_ns = 1000 } },
        &start));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .kernel = &kernel,
            .node = { .name = "long", .cost_ns = 5000, .after = &start, .num_after = 1 } },
        &longer));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .kernel = &kernel,
            .node = { .name = "short <&>]]>", .cost_ns = 2000, .after = &start, .num_after = 1 } },
        &shorter));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &kernel,
                              .node = { .prelude_of = longer, .name = "clear", .cost_ns = 1000 } },
        NULL));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &kernel,
                                                     .node = { .name = "end", .cost_ns = 1000 },
                                                     BRAID_AFTER(longer, shorter) },
                               NULL));
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 2, .fixed_lanes = true };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    return schedule;
}

// A node's rectangle, by its title.
static const char *find_rectangle(const char *picture, const char *name)
{
    char title[128];
    snprintf(title, sizeof(title), "><title>%s: ", name);
    const char *found = strstr(picture, title);
    assert_non_null(found);
    while (strncmp(found, "<rect", 5) != 0)
        found--;
    return found;
}

// Among the nodes of make_plan that ran, these two have a red outline.
static void assert_critical(const char *picture, const char *first, const char *second)
{
    static const char *const names[] = { "start", "long", "short &lt;&amp;&gt;]]&gt;", "clear" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *found = find_rectangle(picture, names[i]);
        bool is_critical =
            strstr(found, " critical") && strstr(found, " critical") < strstr(found, " x=");
        assert_int_equal(is_critical, !strcmp(names[i], first) || !strcmp(names[i], second));
    }
}

// Where a node's rectangle starts and how wide it is.
static void find_node(const char *picture, const char *name, double *out_x, double *out_width)
{
    const char *found = find_rectangle(picture, name);
    *out_x = strtod(strstr(found, " x=\"") + 4, NULL);
    *out_width = strtod(strstr(found, " width=\"") + 8, NULL);
}

static void assert_near(double found, double expected)
{
    if (found < expected - 0.02 || found > expected + 0.02)
        fail_msg("%g, not %g", found, expected);
}

// The picture is 1470 pixels wide for the whole frame, and starts at 110.
static void nodes_stand_where_they_are_planned(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    char *picture = draw(schedule, NULL);
    double x, width, pixel = 1470.0 / (double)info.makespan_ns;
    find_node(picture, "start", &x, &width);
    assert_near(x, 110);
    assert_near(width, 1000 * pixel);
    find_node(picture, "end", &x, &width);
    assert_near(x + width, 110 + 1470);
    find_node(picture, "short &lt;&amp;&gt;]]&gt;", &x, &width);
    assert_near(width, 2000 * pixel);
    assert_has(picture, "class=\"node bundled");
    assert_has(picture, ", prelude of long</title>");
    assert_has(picture, "class=\"bundle\"");
    assert_has(picture, "class=\"wait");
    assert_has(picture, "class=\"gap\"");
    assert_has(picture, "5 nodes on 2 lanes");
    free(picture);
    braid_schedule_destroy(schedule);
}

static void measured_times_are_drawn_where_given(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 500, 600 }, { 700, 1000 }, { 600, 900 }, { 600, 700 }, { 0, 0 }
    };
    braid_timeline_options options = { .title = "a <title>", .intervals = intervals };
    char *picture = draw(schedule, &options);
    double x, width, pixel = 1470.0 / 500;
    find_node(picture, "long", &x, &width);
    assert_near(x, 110 + 200 * pixel);
    assert_near(width, 300 * pixel);
    assert_null(strstr(picture, "<title>end: "));
    assert_has(picture, "a &lt;title&gt;</text>");
    assert_has(picture, "measured: 500 ns");
    assert_critical(picture, "long", "clear"); // long began behind its prelude
    free(picture);
    const braid_interval late[] = {
        { 500, 600 }, { 700, 1000 }, { 600, 1500 }, { 600, 700 }, { 0, 0 }
    };
    options.intervals = late;
    picture = draw(schedule, &options);
    assert_critical(picture, "start",
                    "short &lt;&amp;&gt;]]&gt;"); // short ends last, and began behind start
    free(picture);
    const braid_interval waited[] = {
        { 500, 800 }, { 800, 1000 }, { 800, 900 }, { 500, 600 }, { 0, 0 }
    };
    options.intervals = waited;
    picture = draw(schedule, &options);
    assert_critical(picture, "start", "long"); // long waited for start, on another lane
    free(picture);
    braid_schedule_destroy(schedule);
}

// Time 0 is then where the host began to launch, 400 ns before the first node.
static void launches_are_drawn_above_the_lanes(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 500, 600 }, { 700, 1000 }, { 600, 900 }, { 600, 700 }, { 1000, 1100 }
    };
    const braid_interval launch = { 100, 350 };
    braid_timeline_options options = { .intervals = intervals,
                                       .launches = &launch,
                                       .error_ns = 70 };
    char *picture = draw(schedule, &options);
    double x, width, pixel = 1470.0 / 1000;
    find_node(picture, "the host launches the frame", &x, &width);
    assert_near(x, 110);
    assert_near(width, 250 * pixel);
    find_node(picture, "start", &x, &width);
    assert_near(x, 110 + 400 * pixel);
    assert_has(picture, "0 ns to 250 ns; its clock and the device's agree to within 70 ns</title>");
    assert_has(picture, "measured: 600 ns");
    free(picture);
    // The clocks may be so far off that the frame seems to begin first.
    const braid_interval late = { 520, 700 };
    options.launches = &late;
    picture = draw(schedule, &options);
    find_node(picture, "the host launches the frame", &x, &width);
    assert_near(x, 110 + 20 * 1470.0 / 600);
    free(picture);
    const braid_interval backwards = { 520, 500 };
    options.launches = &backwards;
    check_fails(braid_schedule_write(schedule, BRAID_DRAWING_SVG, &options, stdout),
                BRAID_INVALID_ARGUMENT, "the launch of frame 0 ends before it starts");
    options.intervals = NULL; // a plan was never launched
    picture = draw(schedule, &options);
    assert_null(strstr(picture, "class=\"launch\""));
    free(picture);
    braid_schedule_destroy(schedule);
}

// Frames in flight: a later one may begin first, and one may have no node that ran.
static void frames_that_overlap_are_drawn(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 0, 0 },     { 0, 0 },      { 0, 0 },     { 0, 0 },     { 0, 0 },
        { 700, 800 }, { 900, 1000 }, { 800, 900 }, { 800, 850 }, { 0, 0 },
        { 500, 600 }, { 700, 1200 }, { 600, 900 }, { 600, 700 }, { 0, 0 },
    };
    braid_timeline_options options = { .intervals = intervals, .num_frames = 3 };
    char *trace = write_text(schedule, &options, BRAID_DRAWING_TRACE);
    assert_has(trace, "\"name\":\"frame 0\",\"cat\":\"frame\",\"pid\":1,\"tid\":0,\"ts\":0.000");
    assert_has(trace, "\"name\":\"frame 1\",\"cat\":\"frame\",\"pid\":1,\"tid\":4,\"ts\":0.200");
    assert_has(trace, "\"name\":\"frame 2\",\"cat\":\"frame\",\"pid\":1,\"tid\":0,\"ts\":0.000");
    free(trace);
    options.intervals = intervals + 5; // a picture is of the first, wherever others begin
    options.num_frames = 2;
    char *picture = draw(schedule, &options);
    double x, width;
    find_node(picture, "start", &x, &width);
    assert_near(x, 110);
    assert_has(picture, "measured: 300 ns");
    free(picture);
    braid_schedule_destroy(schedule);
}

static void guesses_are_told(void **state)
{
    (void)state;
    braid_schedule *schedule;
    const braid_kernel_node launch = { .kernel = &kernel };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    char *picture = draw(schedule, NULL);
    assert_has(picture, ", a guess</title>");
    assert_has(picture, "; 1 cost is guessed</text>");
    free(picture);
    const braid_interval interval = { 1, 2 };
    picture = draw(schedule, &(braid_timeline_options){ .intervals = &interval });
    assert_null(strstr(picture, "a guess</title>")); // what was measured is none
    free(picture);
    braid_schedule_destroy(schedule);
}

// Three calls of one kernel of 500 ns, 100 ns apart, and one node outside.
static void islands_are_framed(void **state)
{
    (void)state;
    skip_without_islands();
    static const braid_kernel inside = { .name = "i", .cpu = kernel_function, .source = "i" };
    braid_schedule *schedule;
    braid_node last = { 0 };
    braid_graph *graph = own_graph();
    for (int i = 0; i < 4; i++) {
        const braid_node before = last;
        const braid_kernel_node launch = {
            .kernel = i < 3 ? &inside : &kernel,
            .node = { .cost_ns = 500, .after = &before, .num_after = i > 0 },
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &last));
    }
    const braid_schedule_options options = {
        .max_lanes = 1, .costs = &(braid_cost_model){ .node_ns = 800, .island_call_ns = 100 }
    };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    char *picture = draw(schedule, NULL);
    double x, width, pixel = 1470.0 / 3000;
    find_node(picture, "island 0", &x, &width);
    assert_near(x, 110 - 1.5);
    assert_near(width, 1700 * pixel + 3);
    assert_has(picture, "island 0: 3 nodes in one kernel, 0 ns to 1.70 us (1.70 us)</title>");
    assert_has(picture, "4 nodes on 1 lane, 0 waits, 1 island of 3 nodes; planned");
    assert_has(picture, "island: one kernel</text>");
    free(picture);
    picture = write_text(schedule, NULL, BRAID_DRAWING_TRACE);
    assert_has(picture, "\"args\":{\"node\":2,\"island\":0}");
    assert_has(picture, "\"args\":{\"node\":3}");
    free(picture);
    braid_schedule_destroy(schedule);
    schedule = make_plan();
    picture = draw(schedule, NULL);
    assert_null(strstr(picture, "island: one kernel</text>"));
    free(picture);
    braid_schedule_destroy(schedule);
}

static void do_nothing(void *user)
{
    (void)user;
}

static size_t count(const char *picture, const char *text)
{
    size_t num = 0;
    for (const char *next = picture; (next = strstr(next, text)); next++)
        num++;
    return num;
}

static void kinds_of_nodes_and_ends_of_waits_are_told(void **state)
{
    (void)state;
    int from[4] = { 0 }, to[4];
    braid_node copy, host;
    braid_schedule *schedule;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_copy(
        graph, &(braid_copy){ .node.cost_ns = 1000, .to = to, .from = from, .bytes = sizeof(to) },
        &copy));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .node.cost_ns = 2000, .call = do_nothing }, &host));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node.cost_ns = 1000, .kernel = &kernel, BRAID_AFTER(copy, host) },
        NULL));
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    char *picture = draw(schedule, NULL);
    assert_int_equal(count(picture, "class=\"node copy\""), 2);          // and its key
    assert_int_equal(count(picture, "class=\"node critical host\""), 1); // the longer way
    assert_has(picture, "class=\"node host\"");                          // its key
    assert_has(picture, ">host call</text>");
    assert_null(strstr(picture, "class=\"node fill"));
    assert_has(picture, "<marker id=\"braid-head\"");
    assert_has(picture,
               ".wait{fill:none;stroke:#6d7a8c;stroke-width:.7;marker-end:url(#braid-head)}");
    free(picture);
    braid_schedule_destroy(schedule);
}

static void times_are_shown_in_the_unit_given(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    braid_timeline_options options = { .unit = "flops", .unit_ns = 500 };
    char *picture = draw(schedule, &options);
    assert_has(picture, "start: 0 flops to 2 flops (2 flops)");
    free(picture);
    options.unit_ns = 600;
    picture = draw(schedule, &options);
    assert_has(picture, "start: 0 flops to 1.667 flops (1.667 flops)");
    free(picture);
    options.unit_ns = 500;
    options.unit = "<b>&\"]]>\x1b\xff";
    picture = draw(schedule, &options);
    assert_has(picture, "start: 0 &lt;b&gt;&amp;&quot;]]&gt;\\x1b\xef\xbf\xbd to 2 ");
    assert_null(strstr(picture, "<b>"));
    free(picture);
    braid_schedule_destroy(schedule);
}

// A chain of twenty thousand is blocks: what is drawn does not grow with the number of nodes.
static void large_plans_are_drawn_in_blocks(void **state)
{
    (void)state;
    enum { NUM_NODES = 20000 };
    braid_schedule *schedule;
    braid_graph *graph = own_graph();
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        braid_node before = braid_graph_get_node(graph, i - 1);
        braid_empty node = { .node = {
                                 .cost_ns = 1 + i % 7, .after = &before, .num_after = i > 0 } };
        check_ok(braid_graph_add_empty(graph, &node, NULL));
    }
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    char *picture = draw(schedule, NULL);
    assert_has(picture, "20000 nodes: ");
    size_t drawn = 0;
    for (const char *next = picture; (next = strstr(next, "<rect")); next++)
        drawn++;
    assert_true(drawn > 0 && drawn < 30);
    free(picture);
    braid_schedule_destroy(schedule);
}

static void the_same_plan_gives_the_same_text(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    char *one = draw(schedule, NULL), *two = draw(schedule, NULL);
    assert_string_equal(one, two);
    free(one);
    free(two);
    braid_schedule_destroy(schedule);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval backwards[] = { { 1, 2 }, { 3, 2 }, { 1, 2 }, { 1, 2 }, { 1, 2 } };
    braid_timeline_options options = { .intervals = backwards };
    for (braid_drawing drawing = BRAID_DRAWING_DOT; drawing <= BRAID_DRAWING_TRACE; drawing++) {
        check_fails(braid_schedule_write(NULL, drawing, NULL, stdout), BRAID_INVALID_ARGUMENT,
                    "schedule is NULL");
        check_fails(braid_schedule_write(schedule, drawing, NULL, NULL), BRAID_INVALID_ARGUMENT,
                    "file is NULL");
        if (drawing != BRAID_DRAWING_DOT)
            check_fails(braid_schedule_write(schedule, drawing, &options, stdout),
                        BRAID_INVALID_ARGUMENT, "node 1 in frame 0 ends before it starts");
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        check_fails(braid_schedule_write(schedule, drawing, NULL, full), BRAID_IO_ERROR,
                    "cannot write");
        fclose(full);
    }
    check_fails(braid_schedule_write(schedule, (braid_drawing)7, NULL, stdout),
                BRAID_INVALID_ARGUMENT, "no drawing has number 7");
    braid_schedule_destroy(schedule);
}

static void an_empty_plan_is_drawn(void **state)
{
    (void)state;
    braid_schedule *schedule;
    braid_graph *graph = own_graph();
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    char *picture = draw(schedule, NULL);
    assert_has(picture, "0 nodes on 0 lanes");
    assert_has(picture, "</svg>");
    free(picture);
    braid_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(nodes_stand_where_they_are_planned),
        owning_test(measured_times_are_drawn_where_given),
        owning_test(kinds_of_nodes_and_ends_of_waits_are_told),
        owning_test(launches_are_drawn_above_the_lanes),
        owning_test(frames_that_overlap_are_drawn),
        owning_test(guesses_are_told),
        owning_test(times_are_shown_in_the_unit_given),
        owning_test(islands_are_framed),
        owning_test(large_plans_are_drawn_in_blocks),
        owning_test(the_same_plan_gives_the_same_text),
        owning_test(bad_arguments_are_refused),
        owning_test(an_empty_plan_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
