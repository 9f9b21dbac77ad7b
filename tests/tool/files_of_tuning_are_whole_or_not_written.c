// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while a file of tuning is written, it has all that it should have, or
// the tool says that there is no memory and leaves no file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

// Before cmocka makes a macro of the tool's fail().
#include "tools/braid/way_file.h"

#include "support/check.h"

static const char path[] = "way-of-this-test.json";
static long num_left; // allocations until one fails; 0: none does

static void *allocate(size_t bytes)
{
    return num_left && --num_left == 0 ? NULL : malloc(bytes);
}

static enum exit_status write_failing(braid_device *device, const braid_graph *graph, long nth)
{
    const braid_exec_options way = { .mode = BRAID_MODE_STREAMS };
    json_t *trials = json_array();
    (void)unlink(path);
    num_left = nth;
    enum exit_status status = way_file_write(path, device, graph, &way, trials);
    num_left = nth && num_left == 0 ? -1 : 0; // whether one failed
    return status;
}

static bool is_written(void)
{
    char text[4096], packed[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t num = fread(text, 1, sizeof(text) - 1, file), length = 0;
    fclose(file);
    for (size_t i = 0; i < num; i++) {
        if (text[i] != ' ' && text[i] != '\n')
            packed[length++] = text[i];
    }
    packed[length] = '\0';
    assert_non_null(strstr(packed, "\"costs_ns\":[10,20,30]"));
    assert_non_null(strstr(packed, "\"trials\":[]"));
    return true;
}

static void whatever_fails(void **state)
{
    (void)state;
    braid_device *device;
    braid_graph *graph;
    bool failed = true;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    for (uint64_t i = 1; i <= 3; i++)
        check_ok(
            braid_graph_add_empty(graph, &(braid_empty){ .node = { .cost_ns = 10 * i } }, NULL));
    json_set_alloc_funcs(allocate, free);
    for (long nth = 1; failed; nth++) {
        enum exit_status status = write_failing(device, graph, nth);
        failed = num_left == -1;
        num_left = 0;
        assert_true(failed || status == EXIT_DONE);
        assert_int_equal(is_written(), status == EXIT_DONE);
    }
    (void)unlink(path);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
