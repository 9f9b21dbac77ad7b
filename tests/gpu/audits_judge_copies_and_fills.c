// SPDX-License-Identifier: Apache-2.0
// An audit on CUDA knows each byte of copies and fills.
#include "gpu/audited_world.h"

// The fill also declares a read range that it does not reach.
static void copies_and_fills_are_judged_to_their_last_byte(void **state)
{
    struct world *world = *state;
    braid_resource part, behind;
    check_ok(braid_graph_add_range(world->graph, world->first, 8, 16, &part));
    check_ok(braid_graph_add_range(world->graph, world->second, 32, 8, &behind));
    check_ok(braid_graph_add_fill(
        world->graph,
        &(braid_fill){ .to = world->memory + 4,
                       .value_bytes = 4,
                       .num_values = BYTES / 4,
                       BRAID_ACCESSES({ part, BRAID_WRITE }, { behind, BRAID_READ }) },
        NULL));
    check_ok(braid_graph_add_copy(
        world->graph,
        &(braid_copy){ .to = world->memory,
                       .from = world->memory + BYTES,
                       .bytes = 32,
                       BRAID_ACCESSES({ world->second, BRAID_READ }, { part, BRAID_READ }) },
        NULL));
    static const char *const texts[] = {
        "node 0 'fill' writes bytes from 4 to 63 of 'first', 2 times, which it does not declare",
        "node 0 'fill' writes bytes from 0 to 3 of 'second', which it does not declare",
        "node 0 'fill' declares to read 'second[32, 40)', and in this frame never does",
        "node 1 'copy' writes bytes from 0 to 31 of 'first', which it does not declare",
    };
    audit(world->device, world->graph, &world->findings);
    for (size_t i = 0; i < world->findings.num && i < 4; i++)
        assert_string_equal(world->findings.items[i].text, texts[i]);
    assert_int_equal(world->findings.num, 4);
}

// The bytes between rows are not touched.
static void rows_are_judged_one_by_one(void **state)
{
    struct world *world = *state;
    braid_resource first, second;
    check_ok(braid_graph_add_range(world->graph, world->first, 8, 4, &first));
    check_ok(braid_graph_add_range(world->graph, world->first, 24, 4, &second));
    braid_fill fill = { .to = world->memory + 8,
                        .value_bytes = 4,
                        .num_values = 1,
                        .rows = { .num = 2, .to_pitch = 16 },
                        BRAID_ACCESSES({ first, BRAID_WRITE }, { second, BRAID_WRITE }) };
    check_ok(braid_graph_add_fill(world->graph, &fill, NULL));
    fill.rows.num = 3;
    check_ok(braid_graph_add_fill(world->graph, &fill, NULL));
    audit(world->device, world->graph, &world->findings);
    assert_int_equal(world->findings.num, 1);
    assert_string_equal(world->findings.items[0].text, "node 1 'fill' writes bytes from 40 to 43 "
                                                       "of 'first', which it does not declare");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_and_fills_are_judged_to_their_last_byte, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(rows_are_judged_one_by_one, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
