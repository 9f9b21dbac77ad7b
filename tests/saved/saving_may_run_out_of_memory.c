// SPDX-License-Identifier: Apache-2.0
// Whichever allocation of saving or loading fails, the call says so: no plan is made, nothing is
// leaked, and the file of before stays.
#include <string.h>

#include "saved/saved_testing.h"
#include "support/failing_memory.h"

static void check_status(braid_status status, bool has_failed)
{
    assert_true(status == BRAID_OK || (has_failed && status == BRAID_NO_MEMORY));
    if (status)
        assert_non_null(strstr(braid_error_get_message(), "memory"));
}

static void saving(void **state)
{
    (void)state;
    braid_graph *graph = saved_graph(2);
    const braid_cost_model costs = saved_costs(2);
    braid_schedule *schedule = save_plan(graph, &costs, 3);
    bool has_failed = true;
    uint64_t num = 0;
    for (uint64_t nth = 1; has_failed; nth++, num++) {
        failing_memory_arm_once(nth);
        braid_status status = braid_schedule_save(schedule, graph, saved_path);
        has_failed = failing_memory_disarm();
        if (status != BRAID_IO_ERROR) // the stream or its path
            check_status(status, has_failed);
        braid_schedule *loaded = load_plan(graph);
        check_same_plan(schedule, loaded);
        braid_schedule_destroy(loaded);
    }
    print_message("summary: %llu allocations of saving failed\n", (unsigned long long)num);
    assert_true(num > 30);
}

static void loading(void **state)
{
    (void)state;
    braid_graph *graph = saved_graph(2);
    const braid_cost_model costs = saved_costs(2);
    braid_schedule *schedule = save_plan(graph, &costs, 3);
    bool has_failed = true;
    uint64_t num = 0;
    for (uint64_t nth = 1; has_failed; nth++, num++) {
        braid_schedule *loaded = NULL;
        failing_memory_arm_once(nth);
        braid_status status = braid_schedule_load(graph, saved_path, &loaded);
        has_failed = failing_memory_disarm();
        if (status != BRAID_IO_ERROR)
            check_status(status, has_failed);
        if (!status)
            check_same_plan(schedule, loaded);
        braid_schedule_destroy(loaded);
    }
    print_message("summary: %llu allocations of loading failed\n", (unsigned long long)num);
    assert_true(num > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(saving), owning_test(loading) };
    return cmocka_run_group_tests(tests, saved_begin, saved_end);
}
