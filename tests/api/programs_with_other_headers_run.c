// SPDX-License-Identifier: Apache-2.0
// Structs may grow: a program whose headers know fewer or more fields runs with this library. A
// struct of the program ends where a page begins that nobody can touch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <braid/tune.h>

#include "support/check.h"
#include "support/owner.h"
#include "support/wide_plan.h"

enum { PAGE = 4096, MOST_MORE = 64 };

static unsigned char *pages;

// The last `size` bytes before the closed page, zero.
static void *at_the_end(size_t size)
{
    memset(pages, 0, PAGE);
    return pages + PAGE - size;
}

static int open_pages(void **state)
{
    (void)state;
    pages =
        mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0;
}

static int close_pages(void **state)
{
    (void)state;
    return munmap(pages, (size_t)2 * PAGE);
}

// A copy of a struct as a program with fewer fields has it, or with more, which are zero.
static void *with_size(const void *from, size_t size, size_t wanted)
{
    unsigned char *to = at_the_end(wanted);
    memcpy(to, from, size < wanted ? size : wanted);
    return to;
}

static void count(void *user)
{
    ++*(int *)user;
}

static braid_graph *counting_graph(int *counter)
{
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = count, .user = counter },
                                       NULL));
    return graph;
}

static braid_status create(const void *options, size_t size, const braid_graph *graph,
                           braid_device *device)
{
    braid_exec *exec;
    braid_status status = braid_exec_create_sized(
        device, graph, options, &exec, size, sizeof(braid_cost_model), sizeof(braid_place_model));
    if (!status) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
    }
    return status;
}

static void options_may_have_fewer_fields(void **state)
{
    (void)state;
    int counter = 0;
    braid_device *device = own_device("cpu");
    braid_graph *graph = counting_graph(&counter);
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .max_lanes = 1 };
    int num = 0;
    for (size_t size = sizeof(braid_exec_mode); size <= sizeof(options); size += 4, num++)
        check_ok(create(with_size(&options, sizeof(options), size), size, graph, device));
    assert_int_equal(counter, num);
    check_fails(create(&options, 0, graph, device), BRAID_INVALID_ARGUMENT,
                "braid_exec_create: options: a struct of 0 bytes was given");
}

static void options_may_have_more_fields_that_are_zero(void **state)
{
    (void)state;
    int counter = 0;
    braid_device *device = own_device("cpu");
    braid_graph *graph = counting_graph(&counter);
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    const size_t size = sizeof(options) + MOST_MORE;
    unsigned char *more = with_size(&options, sizeof(options), size);
    check_ok(create(more, size, graph, device));
    assert_int_equal(counter, 1);
    more[sizeof(options) + 8] = 1;
    char text[200];
    snprintf(text, sizeof(text),
             "braid_exec_create: options: this Braid does not know the field at byte %zu, which is "
             "set: the program was built for a later version",
             sizeof(options) + 8);
    check_fails(create(more, size, graph, device), BRAID_UNSUPPORTED, text);
    assert_int_equal(counter, 1);
}

// The options of the node may have grown, what follows them, or both.
static void descriptions_of_nodes_have_two_sizes(void **state)
{
    (void)state;
    const size_t node = sizeof(braid_node_options), size = sizeof(braid_host_call);
    braid_device *device = own_device("cpu");
    for (int more_node = -16; more_node <= 16; more_node += 8) {
        for (int more = -8; more <= 8; more += 8) {
            int counter = 0;
            const braid_host_call call = { .node.name = "counts", .call = count, .user = &counter };
            const size_t node_size = node + (size_t)more_node;
            const size_t whole = size + (size_t)more_node + (size_t)more;
            unsigned char *given = at_the_end(whole);
            memcpy(given, &call, more_node < 0 ? node_size : node);
            memcpy(given + node_size, (const unsigned char *)&call + node,
                   more < 0 ? whole - node_size : size - node);
            braid_graph *graph = own_graph();
            braid_node added;
            check_ok(
                braid_graph_add_host_call_sized(graph, (void *)given, &added, whole, node_size));
            assert_string_equal(braid_graph_get_node_name(graph, added), "counts");
            braid_exec *exec = own_exec(device, graph, NULL);
            check_ok(braid_exec_launch(exec, NULL));
            check_ok(braid_exec_wait(exec));
            assert_int_equal(counter, 1);
            destroy_now(exec);
            destroy_now(graph);
        }
    }
    const braid_empty empty = { .node.name = "a" };
    check_fails(braid_graph_add_empty_sized(own_graph(), &empty, NULL, 8, 16),
                BRAID_INVALID_ARGUMENT,
                "braid_graph_add_empty: empty: a struct of 8 bytes cannot begin with one of 16");
}

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

// The library reads them as long as the graph lives.
static void kernels_have_all_fields(void **state)
{
    (void)state;
    const braid_kernel kernel = { .name = "nothing", .cpu = nothing };
    const size_t size = sizeof(braid_kernel_node), node = sizeof(braid_node_options);
    unsigned char *more = with_size(&kernel, sizeof(kernel), sizeof(kernel) + 8);
    const braid_kernel_node launch = { .kernel = (const void *)more };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel_sized(graph, &launch, NULL, size, node, sizeof(kernel) + 8));
    check_fails(braid_graph_add_kernel_sized(graph, &launch, NULL, size, node, sizeof(kernel) - 8),
                BRAID_UNSUPPORTED, "braid_graph_add_kernel: kernel: the struct has");
    more[sizeof(kernel)] = 1;
    check_fails(braid_graph_add_kernel_sized(graph, &launch, NULL, size, node, sizeof(kernel) + 8),
                BRAID_UNSUPPORTED, "this Braid does not know the field at byte");
    assert_int_equal(braid_graph_get_num_nodes(graph), 1);
}

static void infos_fill_what_the_program_knows(void **state)
{
    (void)state;
    int counter = 0;
    braid_device *device = own_device("cpu");
    braid_exec *exec = own_exec(device, counting_graph(&counter), NULL);
    const size_t size = sizeof(braid_exec_info);
    braid_exec_info whole;
    braid_exec_get_info(exec, &whole);
    for (size_t known = 8; known < size; known += 8) {
        unsigned char *to = at_the_end(known + 8); // eight bytes more, which stay
        memset(to, 0xaa, known + 8);
        braid_exec_get_info_sized(exec, (void *)to, known);
        assert_memory_equal(to, &whole, known < offsetof(braid_exec_info, reason) ? 4 : known);
        for (size_t i = known; i < known + 8; i++)
            assert_int_equal(to[i], 0xaa);
    }
    unsigned char *more = at_the_end(size + MOST_MORE);
    memset(more, 0xaa, size + MOST_MORE);
    braid_exec_get_info_sized(exec, (void *)more, size + MOST_MORE);
    for (size_t i = size; i < size + MOST_MORE; i++)
        assert_int_equal(more[i], 0);
}

// A cost model lies behind a pointer in options, and has a size of its own.
static void models_may_have_fewer_fields(void **state)
{
    (void)state;
    int counter = 0;
    braid_graph *graph = counting_graph(&counter);
    const braid_cost_model costs = { .default_cost_ns = 7, .node_ns = 3, .wait_ns = 5 };
    const size_t known = offsetof(braid_cost_model, max_concurrent);
    const braid_schedule_options options = {
        .costs = with_size(&costs, sizeof(costs), known),
    };
    braid_schedule *schedule;
    braid_schedule_info info;
    check_ok(braid_schedule_create_sized(graph, &options, &schedule, sizeof(options), known,
                                         sizeof(braid_place_model)));
    braid_schedule_get_info(schedule, &info);
    assert_int_equal(info.makespan_ns, 700); // a host call is a hundred times as long
    braid_schedule_destroy(schedule);
    const braid_place_model alone = { .num_places = 1 };
    const size_t places = offsetof(braid_place_model, speeds);
    const braid_schedule_options placed = {
        .costs = &free_costs,
        .places = with_size(&alone, sizeof(alone), places),
    };
    check_ok(braid_schedule_create_sized(graph, &placed, &schedule, sizeof(placed),
                                         sizeof(free_costs), places));
    braid_schedule_destroy(schedule);
}

// A program with newer headers gives models of the library back, with more fields than they have.
static void models_of_the_library_may_come_back_larger(void **state)
{
    (void)state;
    int counter = 0;
    const size_t costs_size = sizeof(braid_cost_model) + MOST_MORE;
    const size_t places_size = sizeof(braid_place_model) + MOST_MORE;
    braid_device *device = own_device("cpu");
    braid_graph *graph = counting_graph(&counter);
    braid_device_info info;
    braid_device_get_info(device, &info);
    for (int mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_GRAPH; mode++) {
        const braid_schedule_options options = { .costs = info.costs[mode] };
        braid_schedule *schedule;
        check_ok(braid_schedule_create_sized(graph, &options, &schedule, sizeof(options),
                                             costs_size, places_size));
        braid_schedule_destroy(schedule);
    }
    braid_device *group, *members[] = { device, device };
    check_ok(braid_device_open_group(members, 2, &group));
    braid_device_get_info(group, &info);
    const braid_exec_options options = { .places = info.place_model };
    braid_exec *exec;
    check_ok(braid_exec_create_sized(group, graph, &options, &exec, sizeof(options), costs_size,
                                     places_size));
    braid_exec_destroy(exec);
    check_ok(braid_device_close(group));
}

struct kept_way {
    unsigned char bytes[sizeof(braid_exec_options) + MOST_MORE];
};

static void keep_way(const braid_tune_trial *trial, void *user)
{
    memcpy(((struct kept_way *)user)->bytes, trial->way, sizeof(struct kept_way));
}

// It keeps a way of a tuning, which the library has, and makes an exec with it.
static void ways_of_tunings_may_be_kept_larger(void **state)
{
    (void)state;
    int counter = 0;
    struct kept_way *kept = at_the_end(sizeof(*kept));
    braid_device *device = own_device("cpu");
    braid_graph *graph = counting_graph(&counter);
    const braid_tune_options options = { .budget_ns = 1, .report = keep_way, .user = kept };
    braid_exec_options way;
    const braid_status status = braid_graph_tune(graph, device, &options, &way);
    if (status == BRAID_UNSUPPORTED) {
        print_message("skipped: %s\n", braid_error_get_message());
        skip();
    }
    check_ok(status);
    check_ok(create(kept, sizeof(*kept), graph, device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(options_may_have_fewer_fields),
        owning_test(options_may_have_more_fields_that_are_zero),
        owning_test(descriptions_of_nodes_have_two_sizes),
        owning_test(kernels_have_all_fields),
        owning_test(infos_fill_what_the_program_knows),
        owning_test(models_may_have_fewer_fields),
        owning_test(models_of_the_library_may_come_back_larger),
        owning_test(ways_of_tunings_may_be_kept_larger),
    };
    return cmocka_run_group_tests(tests, open_pages, close_pages);
}
