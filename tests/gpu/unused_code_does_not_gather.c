// SPDX-License-Identifier: Apache-2.0
// Code that no exec uses any more stays loaded for a while, since unloading it waits for all work
// on the device. It does not gather without end, and is not taken for what comes to its address.
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
    braid_graph *graph;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_kernel(graph, &(braid_launch){ .kernel = &kernel }, NULL));
    check_ok(braid_exec_create(device, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
}

static void another_image_at_the_same_address_is_loaded(void **state)
{
    (void)state;
    braid_device *device;
    char image[200];
    reset_standin();
    num_first = num_second = 0;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    live(device, image, sizeof(image), "first");
    live(device, image, sizeof(image), "second");
    braid_device_close(device);
    assert_int_equal(num_first, 1);
    assert_int_equal(num_second, 1);
    check_nothing_is_left();
}

static void many_images_do_not_stay_loaded(void **state)
{
    (void)state;
    braid_device *device;
    static char images[MANY][200];
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    for (size_t i = 0; i < MANY; i++) {
        live(device, images[i], sizeof(images[i]), "first");
        if (standin_live("module") > MOST_KEPT)
            fail_msg("%ld modules are loaded after %zu images", standin_live("module"), i + 1);
    }
    braid_device_close(device);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_image_at_the_same_address_is_loaded),
        cmocka_unit_test(many_images_do_not_stay_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
