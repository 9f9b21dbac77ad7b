// SPDX-License-Identifier: Apache-2.0
// Any text as a DOT file: read, planned, proven, drawn; and its graph's drawing makes the same
// plan.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "dot_file.h"
#include "fuzz/fuzz.h"
#include "task_graph.h"

static bool read_graph(const void *bytes, size_t length, braid_graph **out_graph)
{
    struct dot_text text;
    struct dot_file read;
    const struct dot_limits limits = { 0 };
    FILE *stream = fmemopen((void *)(uintptr_t)bytes, length, "r");
    if (!stream)
        return false;
    enum exit_status status = dot_text_read_stream(stream, "input", &text);
    fclose(stream);
    if (status != EXIT_DONE || dot_file_read_text(text, &limits, &read) != EXIT_DONE)
        return false;
    status = task_graph_create(&read, task_graph_add_to_plan, NULL, out_graph);
    dot_file_finish(&read);
    return status == EXIT_DONE;
}

static braid_status make_plan(const braid_graph *graph, braid_schedule **out_schedule)
{
    // Lanes by the dozen, and waits that cost: what a file can ask for, within small memory.
    braid_schedule_options options = {
        .max_lanes = 12, .costs = &(braid_cost_model){ .default_cost_ns = 1, .wait_ns = 3 }
    };
    return braid_schedule_create(graph, &options, out_schedule);
}

static void check_same_steps(const braid_schedule *one, const braid_schedule *two)
{
    braid_schedule_info of_one, of_two;
    braid_schedule_get_info(one, &of_one);
    braid_schedule_get_info(two, &of_two);
    const braid_step *steps = of_one.steps, *again = of_two.steps;
    size_t num_steps = of_one.num_steps, num_again = of_two.num_steps;
    fuzz_expect(num_steps == num_again);
    for (size_t i = 0; i < num_steps; i++)
        fuzz_expect(steps[i].kind == again[i].kind && steps[i].lane == again[i].lane &&
                    steps[i].node == again[i].node && steps[i].position == again[i].position);
}

static void check_drawing_of_plan(const braid_schedule *schedule)
{
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    fuzz_expect(file);
    for (braid_drawing i = BRAID_DRAWING_DOT; i <= BRAID_DRAWING_TRACE; i++)
        fuzz_expect(braid_schedule_write(schedule, i, NULL, file) == BRAID_OK);
    fclose(file);
    free(drawing);
}

static void check_drawing_of_graph(const braid_graph *graph, const braid_schedule *schedule)
{
    char *drawing = NULL;
    size_t length = 0;
    braid_graph *again;
    braid_schedule *planned;
    FILE *file = open_memstream(&drawing, &length);
    fuzz_expect(file && braid_graph_write_dot(graph, file) == BRAID_OK);
    fclose(file);
    fuzz_expect(read_graph(drawing, length, &again));
    fuzz_expect(make_plan(again, &planned) == BRAID_OK);
    check_same_steps(schedule, planned);
    braid_schedule_destroy(planned);
    braid_graph_destroy(again);
    free(drawing);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    message_be_quiet();
    braid_graph *graph;
    braid_schedule *schedule;
    if (length == 0 || !read_graph(bytes, length, &graph))
        return 0;
    if (make_plan(graph, &schedule) == BRAID_OK) {
        fuzz_expect(braid_schedule_verify(schedule, graph) == BRAID_OK);
        check_drawing_of_plan(schedule);
        check_drawing_of_graph(graph, schedule);
        braid_schedule_destroy(schedule);
    }
    braid_graph_destroy(graph);
    return 0;
}
