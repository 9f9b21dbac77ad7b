// SPDX-License-Identifier: Apache-2.0
// On every graph of the corpus: plans are proven, waits are the fewest there are, makespans are
// near what is known to be best. Each measure is one summary line.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/corpus.h"
#include "planner/minimum.h"
#include "support/check.h"
#include "support/wide_plan.h"

#define BRUTE_FORCE_NODES 400
#define MOST_NODES_ON_ALL_LANES 10000

static const uint32_t lane_limits[] = { 1, 2, 4, 8, 16 };
#define NUM_LIMITS (sizeof(lane_limits) / sizeof(lane_limits[0]))

static struct corpus corpus;

static int set_up(void **state)
{
    (void)state;
    const char *folder = corpus_folder();
    if (folder && !corpus_read(folder, &corpus))
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    corpus_finish(&corpus);
    return 0;
}

static void need_corpus(void)
{
    if (!corpus_folder())
        skip_because("the corpus is not here: BRAID_CORPUS names no folder, and there is no "
                     "shared/dags in or beside the source tree");
}

// Waits are free and the lane limit is as given.
static braid_schedule *plan(const braid_graph *graph, uint32_t lanes)
{
    braid_schedule_options options = { .costs = &free_costs,
                                       .max_lanes = lanes,
                                       .fixed_lanes = true };
    braid_schedule *schedule;
    check_ok(braid_schedule_create(graph, &options, &schedule));
    return schedule;
}

static braid_schedule_info plan_info(const struct corpus_graph *corpus_graph, uint32_t lanes)
{
    braid_graph *graph;
    check_ok(corpus_make_graph(corpus_graph, &graph));
    braid_schedule *schedule = plan(graph, lanes);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return info;
}

static void every_plan_is_proven_and_waits_are_the_fewest(void **state)
{
    (void)state;
    need_corpus();
    uint64_t proven = 0, compared = 0, fewest = 0, waits = 0;
    for (size_t i = 0; i < corpus.num_graphs; i++) {
        const struct corpus_graph *from = &corpus.graphs[i];
        braid_graph *graph;
        check_ok(corpus_make_graph(from, &graph));
        for (size_t k = 0; k < NUM_LIMITS; k++) {
            braid_schedule *schedule = plan(graph, lane_limits[k]);
            check_ok(braid_schedule_verify(schedule, graph));
            proven++;
            braid_schedule_info info;
            braid_schedule_get_info(schedule, &info);
            waits += info.num_waits;
            assert_true(info.num_lanes <= lane_limits[k]);
            assert_true(info.makespan_ns >= info.bound_ns);
            if (from->num_nodes <= BRUTE_FORCE_NODES) {
                uint64_t least =
                    minimum_waits(schedule, from->num_nodes, from->from, from->to, from->num_edges);
                if (info.num_waits != least)
                    print_error("%s, K = %u: %" PRIu64 " waits, the fewest are %" PRIu64 "\n",
                                from->name, lane_limits[k], info.num_waits, least);
                fewest += info.num_waits == least;
                compared++;
            }
            braid_schedule_destroy(schedule);
        }
        braid_graph_destroy(graph);
    }
    printf("summary: corpus: %" PRIu64 " plans of %zu graphs proven, K = 1, 2, 4, 8, 16; "
           "%" PRIu64 " waits in all\n",
           proven, corpus.num_graphs, waits);
    printf("summary: corpus: waits are the brute-force minimum on %" PRIu64 " of %" PRIu64
           " plans (n <= %d)\n",
           fewest, compared, BRUTE_FORCE_NODES);
    assert_int_equal(fewest, compared);
}

static void makespans_are_near_published_optima(void **state)
{
    (void)state;
    need_corpus();
    struct corpus_row *rows;
    size_t num_rows;
    assert_true(corpus_read_table(corpus_folder(), "STG_OPTIMA.tsv", &rows, &num_rows));
    double sum = 0, worst = 1;
    size_t optimal = 0, below = 0, above = 0;
    for (size_t i = 0; i < num_rows; i++) {
        const struct corpus_graph *from = corpus_find(&corpus, rows[i].name);
        assert_non_null(from);
        uint64_t low = rows[i].values[1], high = rows[i].values[2];
        uint64_t makespan = plan_info(from, (uint32_t)rows[i].values[0]).makespan_ns;
        double ratio = (double)makespan / (double)high;
        sum += log(ratio);
        worst = ratio > worst ? ratio : worst;
        optimal += makespan <= high;
        below += makespan < low;
        above += makespan * 10 > high * 11;
    }
    printf("summary: corpus: %zu published optima: makespan / optimum %.4f in the mean, %.4f at "
           "worst, optimal %zu times\n",
           num_rows, exp(sum / (double)num_rows), worst, optimal);
    free(rows);
    assert_int_equal(below, 0);
    assert_int_equal(above, 0);
}

static void small_graphs_are_near_the_exhaustive_optimum(void **state)
{
    (void)state;
    need_corpus();
    struct corpus_row *rows;
    size_t num_rows;
    assert_true(corpus_read_table(corpus_folder(), "EXACT_SMALL.tsv", &rows, &num_rows));
    uint64_t waits = 0, fewest = 0;
    size_t optimal = 0, as_few = 0;
    for (size_t i = 0; i < num_rows; i++) {
        const struct corpus_graph *from = corpus_find(&corpus, rows[i].name);
        assert_non_null(from);
        braid_schedule_info info = plan_info(from, (uint32_t)rows[i].values[2]);
        assert_true(info.makespan_ns >= rows[i].values[3]);
        if (info.makespan_ns != rows[i].values[3])
            continue;
        optimal++;
        waits += info.num_waits;
        fewest += rows[i].values[4];
        as_few += info.num_waits == rows[i].values[4];
    }
    printf("summary: corpus: %zu exhaustive optima (n <= 12): makespan optimal %zu times; there "
           "%" PRIu64 " waits, the fewest at that makespan are %" PRIu64 ", reached %zu times\n",
           num_rows, optimal, waits, fewest, as_few);
    free(rows);
}

static void makespans_are_near_the_bound(void **state)
{
    (void)state;
    need_corpus();
    for (uint32_t lanes = 4; lanes <= 8; lanes *= 2) {
        double sum = 0, worst = 1;
        size_t num = 0;
        for (size_t i = 0; i < corpus.num_graphs; i++) {
            if (corpus.graphs[i].num_nodes < 20)
                continue;
            braid_schedule_info info = plan_info(&corpus.graphs[i], lanes);
            double ratio = (double)info.makespan_ns / (double)info.bound_ns;
            sum += log(ratio);
            worst = ratio > worst ? ratio : worst;
            num++;
        }
        double mean = exp(sum / (double)num);
        printf("summary: corpus: makespan / bound at K = %u: %.4f in the mean of %zu graphs "
               "(n >= 20), %.4f at worst\n",
               lanes, mean, num, worst);
        assert_true(mean <= 1.02);
    }
}

// Plans one graph on more and more lanes, and returns how many plans are longer than an earlier
// one.
static uint64_t count_longer(const braid_graph *graph, braid_schedule_options options)
{
    static const uint32_t limits[] = { 1, 2, 3, 4, 6, 8, 12 };
    uint64_t num_longer = 0, best = UINT64_MAX;
    for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
        options.max_lanes = limits[k];
        braid_schedule *schedule;
        braid_schedule_info info;
        check_ok(braid_schedule_create(graph, &options, &schedule));
        braid_schedule_get_info(schedule, &info);
        braid_schedule_destroy(schedule);
        uint64_t length = options.fixed_lanes ? info.makespan_ns : info.expected_ns;
        num_longer += length > best;
        best = length < best ? length : best;
    }
    return num_longer;
}

// With lanes as given, or as many as pay; waits are free, or take a quarter of a node, or starting
// nodes does.
static void more_lanes_never_make_a_longer_plan(void **state)
{
    (void)state;
    need_corpus();
    uint64_t num_longer = 0, num_graphs = 0;
    for (size_t i = 0; i < corpus.num_graphs; i++) {
        const struct corpus_graph *from = &corpus.graphs[i];
        if (from->num_nodes > MOST_NODES_ON_ALL_LANES || from->num_nodes == 0)
            continue;
        braid_graph *graph;
        check_ok(corpus_make_graph(from, &graph));
        uint64_t work = 0;
        for (uint32_t node = 0; node < from->num_nodes; node++)
            work += from->costs[node];
        uint64_t mean = work / from->num_nodes;
        const braid_cost_model models[] = {
            { 0 },
            { .wait_ns = mean / 4, .root_ns = mean / 8, .node_ns = mean / 16 },
            { .wait_ns = mean / 4, .issue_ns = mean / 4, .issue_wait_ns = mean / 32 },
        };
        const braid_schedule_options options = { .costs = &models[i % 3],
                                                 .fixed_lanes = i / 3 % 2 };
        num_longer += count_longer(graph, options);
        num_graphs++;
        braid_graph_destroy(graph);
    }
    printf("summary: corpus: %" PRIu64 " plans on at most 1 to 12 lanes of %" PRIu64
           " graphs (n <= %d) are longer than one on fewer\n",
           num_longer, num_graphs, MOST_NODES_ON_ALL_LANES);
    assert_int_equal(num_longer, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_proven_and_waits_are_the_fewest),
        cmocka_unit_test(makespans_are_near_published_optima),
        cmocka_unit_test(small_graphs_are_near_the_exhaustive_optimum),
        cmocka_unit_test(makespans_are_near_the_bound),
        cmocka_unit_test(more_lanes_never_make_a_longer_plan),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
