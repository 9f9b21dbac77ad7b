// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while conditional nodes are imported, the import says so.
#include "import/conditionals.h"
#include "support/failing_memory.h"

static void any_allocation_may_fail(void **state)
{
    (void)state;
    begin();
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("up", here.memory[1]);
    struct conditional branch = begin_branch(here.memory[1], 3, true);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    import_all(BRAID_OK, NULL);
    assert_non_null(branch.told.otherwise);
    const braid_import_options options = conditional_options();
    braid_status status = BRAID_NO_MEMORY;
    for (uint64_t nth = 1; status; nth++) {
        braid_import *import = NULL;
        failing_memory_arm_once(nth);
        status = braid_import_create(here.device, here.graph, &options, &import);
        assert_int_equal(status, failing_memory_disarm() ? BRAID_NO_MEMORY : BRAID_OK);
        assert_true(status || nth > 20);
        braid_import_destroy(import);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_allocation_may_fail) };
    return cmocka_run_group_tests(tests, open_conditionals, close_conditionals);
}
