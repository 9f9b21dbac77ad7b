// SPDX-License-Identifier: Apache-2.0
// Beginning loops.
#include "base/error.h"
#include "graph/region_begin.h"

enum { EXPECTED = 10 }; // iterations, where nobody says

static braid_status refuse(const char *name, const char *why)
{
    return braid_error_invalid("loop '%s': %s", name, why);
}

static braid_status check_bounds(const char *name, const braid_loop *loop)
{
    bool has_condition = loop->condition.graph != 0;
    if (!has_condition && !loop->times)
        return refuse(name, "it has neither .condition nor .times");
    if (!has_condition && (loop->most || loop->unbounded || loop->tests_first))
        return refuse(name, ".most, .unbounded and .tests_first are for loops with a .condition");
    if ((loop->times != 0) + (loop->most != 0) + loop->unbounded > 1)
        return refuse(name, "it has more than one of .times, .most and .unbounded");
    if (!loop->times && !loop->most && !loop->unbounded)
        return refuse(name, "it has a .condition and no bound: give .most, or .unbounded");
    return BRAID_OK;
}

static uint64_t find_expected(const braid_loop *loop)
{
    if (loop->expected || loop->times)
        return loop->expected ? loop->expected : loop->times;
    return loop->most && loop->most < EXPECTED ? loop->most : EXPECTED;
}

static uint64_t find_most(const braid_loop *loop)
{
    if (loop->times || loop->most)
        return loop->times ? loop->times : loop->most;
    return UINT64_MAX;
}

braid_status braid_graph_begin_loop(braid_graph *graph, const braid_loop *loop,
                                    braid_node *out_loop)
{
    if (!graph || !loop)
        return braid_error_null("braid_graph_begin_loop", graph ? "loop" : "graph");
    const char *name = loop->node.name ? loop->node.name : braid_work_words[WORK_LOOP].name;
    braid_status status = check_bounds(name, loop);
    if (status)
        return status;
    const struct region_begin begin = { .kind = WORK_LOOP,
                                        .name = name,
                                        .options = &loop->node,
                                        .condition = loop->condition,
                                        .most = find_most(loop),
                                        .expected = find_expected(loop),
                                        .tests_first = loop->tests_first };
    return braid_graph_begin_region(graph, &begin, out_loop);
}
