// SPDX-License-Identifier: Apache-2.0
// A node's table in an audit of kernels has the memory that the node declares, divided where
// accesses begin and end. It has nothing of other buffers, however many there are. One table has
// these.
#include "audit/audit.h"
#include "support/check.h"

enum { NUM_BUFFERS = 500, BYTES = 100, APART = 128 };

// Buffers with a gap behind each.
struct memory {
    struct audit_buffer buffers[NUM_BUFFERS];
    struct audit_access accesses[4];
    struct audit_memory all;
};

union made {
    struct audit_table table;
    unsigned char
        room[sizeof(struct audit_table) + (NUM_BUFFERS + 1) * sizeof(struct audit_segment)];
};

static uintptr_t begin_of(size_t buffer)
{
    return 4096 + buffer * APART;
}

static void setup(struct memory *memory)
{
    *memory = (struct memory){ .all = { .buffers = memory->buffers,
                                        .num_buffers = NUM_BUFFERS,
                                        .accesses = memory->accesses } };
    for (size_t i = 0; i < NUM_BUFFERS; i++)
        memory->buffers[i] = (struct audit_buffer){ begin_of(i), begin_of(i) + BYTES };
}

static struct audit_table *write(const struct memory *memory, size_t num_accesses)
{
    static union made made;
    uintptr_t room[8];
    const struct graph_node node = { .num_accesses = (uint32_t)num_accesses };
    const size_t num = braid_audit_table_write(&memory->all, &node, room, NULL);
    assert_int_equal(braid_audit_table_write(&memory->all, &node, room, &made.table), num);
    assert_int_equal(made.table.num, num);
    assert_true(made.table.segments[num].begin == UINT64_MAX);
    return &made.table;
}

static void check(const struct audit_table *table, size_t i, uintptr_t begin, uintptr_t end,
                  uint32_t allowed)
{
    const struct audit_segment *segment = &table->segments[i];
    assert_int_equal(segment->begin, begin);
    assert_int_equal(segment->end, end);
    assert_int_equal(segment->allowed, allowed);
    for (int act = 0; act < PTX_NUM_ACTS; act++)
        assert_true(segment->tallies[act].lowest == UINT64_MAX);
}

static void tables_have_what_is_declared(void **state)
{
    (void)state;
    static struct memory memory;
    setup(&memory);
    assert_int_equal(write(&memory, 0)->num, 0);
    memory.accesses[0] =
        (struct audit_access){ .begin = begin_of(7) + 40, .end = begin_of(7) + 80 };
    memory.accesses[1] = (struct audit_access){ .begin = begin_of(7) + 60,
                                                .end = begin_of(7) + 70,
                                                .may_write = true };
    memory.accesses[2] = (struct audit_access){ 0 };
    memory.accesses[3] = (struct audit_access){ .begin = begin_of(9), .end = begin_of(9) + BYTES };
    const struct audit_table *table = write(&memory, 4);
    assert_int_equal(table->num, 4);
    check(table, 0, begin_of(7) + 40, begin_of(7) + 60, 1);
    check(table, 1, begin_of(7) + 60, begin_of(7) + 70, 7);
    check(table, 2, begin_of(7) + 70, begin_of(7) + 80, 1);
    check(table, 3, begin_of(9), begin_of(9) + BYTES, 1);
}

static void one_table_has_all_buffers(void **state)
{
    (void)state;
    static struct memory memory;
    static union made made;
    setup(&memory);
    assert_int_equal(braid_audit_table_write_all(&memory.all, NULL), NUM_BUFFERS);
    assert_int_equal(braid_audit_table_write_all(&memory.all, &made.table), NUM_BUFFERS);
    for (size_t i = 0; i < NUM_BUFFERS; i++)
        check(&made.table, i, begin_of(i), begin_of(i) + BYTES, 0);
    assert_true(made.table.segments[NUM_BUFFERS].begin == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_have_what_is_declared),
        cmocka_unit_test(one_table_has_all_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
