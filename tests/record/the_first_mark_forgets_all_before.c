// SPDX-License-Identifier: Apache-2.0
// A recorder without marks notes all. At the first mark it forgets operations, and the bytes of
// copies with them. It forgets memory that the program frees before the record begins, too.
#include "record/program.h"

#include <string.h>

enum { OLD = 4242, NEW = 2424, KEPT = 1000, COPIES = 30 };

static const unsigned char bytes[KEPT] = { 1, 2, 3 };

// Together they have more bytes than BRAID_RECORD_ALL_BYTES.
static void send_much(CUdeviceptr memory)
{
    for (int i = 0; i < COPIES; i++)
        must(cuMemcpyHtoD_v2(memory, bytes, KEPT));
}

static uint32_t count_memory(const braid_record_contents *contents, uint64_t num)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < contents->num_allocations; i++)
        found += contents->allocations[i].bytes == num;
    return found;
}

static void check(const braid_record_contents *contents)
{
    uint32_t num_copies = 0;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_work *work = &contents->operations[i].work;
        if (work->kind != BRAID_RECORD_COPY)
            continue;
        assert_non_null(work->bytes);
        assert_memory_equal(work->bytes, bytes, KEPT);
        num_copies++;
    }
    assert_int_equal(num_copies, 1);
    assert_int_equal(contents->num_frames, 1);
    assert_int_equal(count_memory(contents, OLD), 0);
    assert_int_equal(count_memory(contents, OLD + 1), 0);
    assert_int_equal(count_memory(contents, NEW), 1);
}

static void the_first_mark_forgets_all_before(void **state)
{
    CUdeviceptr old, late, new;
    (void)state;
    must(cuMemAlloc_v2(&old, OLD));
    must(cuMemAlloc_v2(&late, OLD + 1));
    send_much(old);
    must(cuMemFree_v2(late));
    assert_true(braid_record_frame_mark());
    must(cuMemFree_v2(old));
    must(cuMemAlloc_v2(&new, NEW));
    assert_true(braid_record_frame_mark());
    must(cuMemcpyHtoD_v2(new, bytes, KEPT));
    assert_true(braid_record_frame_mark());
    check(open_own_record());
    close_own_record();
    must(cuMemFree_v2(new));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_first_mark_forgets_all_before) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
