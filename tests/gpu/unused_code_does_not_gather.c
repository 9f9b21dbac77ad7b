// SPDX-License-Identifier: Apache-2.0
// Code that no exec uses any more stays loaded for a while, since unloading it waits for all work
// on the device, and so does memory of execs that went. Neither gathers without end, and code is
// not taken for what comes to its address.
#include <stdio.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { MANY = 200, MOST_KEPT = 65 };

static const char image_format[] = ".version 7.0\n"
                                   ".target sm_70\n"
                                   ".address_size 64\n"
                                   ".visible .entry %s()\n"
                                   "{\n"
                                   "    ret;\n"
                                   "}\n";

static int num_first, num_second;

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_first, braid_standin_second;

void braid_standin_first(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_first++;
}

void braid_standin_second(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_second++;
}

// Loads `entry` from an image that is written to `image`, runs it once, and gives it back.
static void live(braid_device *device, char *image, size_t size, const char *entry)
{
    snprintf(image, size, image_format, entry);
    const braid_kernel kernel = { .name = entry, .cuda = { .data = image } };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &kernel }, NULL));
    braid_exec *exec = own_exec(device, graph, NULL);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    destroy_now(exec);
}

static void another_image_at_the_same_address_is_loaded(void **state)
{
    (void)state;
    braid_device *device;
    char image[200];
    num_first = num_second = 0;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    live(device, image, sizeof(image), "first");
    live(device, image, sizeof(image), "second");
    braid_device_close(device);
    assert_int_equal(num_first, 1);
    assert_int_equal(num_second, 1);
}

static void many_images_do_not_stay_loaded(void **state)
{
    (void)state;
    static char images[MANY][200];
    braid_device *device = own_device("cuda");
    for (size_t i = 0; i < MANY; i++) {
        live(device, images[i], sizeof(images[i]), "first");
        if (standin_live("module") > MOST_KEPT)
            fail_msg("%ld modules are loaded after %zu images", standin_live("module"), i + 1);
    }
}

static const braid_kernel in_source = { .name = "first",
                                        .source = "extern \"C\" __global__ void first() {}\n" };

static braid_graph *make_chain(uint32_t length)
{
    braid_graph *graph;
    braid_node last;
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < length; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &last, .num_after = i > 0, .cost_ns = 100 }, .kernel = &in_source
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &last));
    }
    return graph;
}

// Islands, and frames that keep their times, give back memory when their exec goes.
static void execs_come_and_go(braid_device *device, const braid_exec_options *options)
{
    enum { FEW = 2, EXECS = 30 };
    braid_graph *graph = make_chain(1);
    long after_few = 0;
    for (int i = 0; i < EXECS; i++) {
        braid_exec *exec = own_exec(device, graph, options);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        destroy_now(exec);
        after_few = i == FEW ? standin_live("memory") : after_few;
    }
    assert_int_equal(standin_live("memory"), after_few);
    braid_graph_destroy(graph);
}

static void memory_of_execs_that_went_is_used_again(void **state)
{
    (void)state;
    static const braid_exec_options ways[] = {
        { .islands = BRAID_ISLANDS_WHOLE },
        { .islands = BRAID_ISLANDS_WHOLE, .frames_kept = 4 },
        { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER, .frames_kept = 4 },
    };
    braid_device *device = own_device("cuda");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        execs_come_and_go(device, &ways[i]);
}

static const braid_exec_options whole = { .islands = BRAID_ISLANDS_WHOLE };

// All use the same code, so that nothing else frees it.
static void memory_that_is_kept_goes_where_it_is_missing(void **state)
{
    (void)state;
    braid_exec *exec;
    braid_graph *little = make_chain(1), *large = make_chain(100);
    braid_device *device = own_device("cuda");
    check_ok(braid_exec_create(device, little, &whole, &exec));
    braid_exec_destroy(exec);
    long kept = standin_live("memory");
    fail_calls("cuMemAlloc:1=2");
    check_ok(braid_exec_create(device, large, &whole, &exec));
    fail_calls("cuMemAlloc:1+=2");
    braid_exec *none = NULL;
    check_fails(braid_exec_create(device, large, &whole, &none), BRAID_NO_MEMORY, "cuMemAlloc");
    fail_calls(NULL);
    assert_true(standin_live("memory") <= kept + 1);
    braid_exec_destroy(exec);
    braid_graph_destroy(little);
    braid_graph_destroy(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(another_image_at_the_same_address_is_loaded),
        standin_test(many_images_do_not_stay_loaded),
        standin_test(memory_of_execs_that_went_is_used_again),
        standin_test(memory_that_is_kept_goes_where_it_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
