// SPDX-License-Identifier: Apache-2.0
// An audit of an imported graph knows where its buffers lie, also if they are parts of others. It
// tells of memory and nodes of which it knows less.
#include <string.h>

#include "import/captures.h"

enum { HALF = BYTES / 2, MOST_TEXT = 4096 };

// set(at, index, spare): writes the word of `at` whose number stands at `index`.
// differ(one, other, to): writes how many words lie between two buffers.
// chase(at): writes where an address leads that stands there.
static const char set_text[] =
    HEAD ".visible .entry set(.param .u64 at, .param .u64 index, .param .u64 spare)\n"
         "{\n.reg .u64 %d<4>; .reg .u32 %r;\n"
         "ld.param.u64 %d0, [at]; ld.param.u64 %d1, [index]; ld.global.u32 %r, [%d1];\n"
         "mul.wide.s32 %d2, %r, 4; add.u64 %d3, %d0, %d2; st.global.u32 [%d3], 7;\nret;\n}\n"
         ".visible .entry differ(.param .u64 one, .param .u64 other, .param .u64 to)\n"
         "{\n.reg .u64 %d<4>; .reg .u32 %r;\n"
         "ld.param.u64 %d0, [one]; ld.param.u64 %d1, [other]; ld.param.u64 %d2, [to];\n"
         "sub.u64 %d3, %d1, %d0; cvt.u32.u64 %r, %d3; shr.s32 %r, %r, 2;\n"
         "st.global.u32 [%d2], %r; st.global.u32 [%d0], 1; st.global.u32 [%d1], 1;\nret;\n}\n"
         ".visible .entry chase(.param .u64 at)\n{\n.reg .u64 %d<2>; .reg .u32 %r;\n"
         "ld.param.u64 %d0, [at]; ld.global.u64 %d1, [%d0]; st.global.u32 [%d1], 7;\nret;\n}\n";
static CUmodule module;

struct findings {
    size_t num_outside, num_unseen;
    char outside[MOST_TEXT], unseen[MOST_TEXT], orders[MOST_TEXT];
};

static void append(char *to, const char *line)
{
    const size_t length = strlen(to);
    snprintf(to + length, MOST_TEXT - length, "%s\n", line);
}

static void note(const braid_audit_finding *finding, void *user)
{
    struct findings *findings = user;
    if (finding->kind == BRAID_AUDIT_ORDER)
        append(findings->orders, finding->text);
    if (finding->kind == BRAID_AUDIT_UNSEEN) {
        findings->num_unseen++;
        append(findings->unseen, finding->text);
    } else if (finding->kind <= BRAID_AUDIT_UPDATES) {
        findings->num_outside++;
        append(findings->outside, finding->text);
    }
}

static int open_world(void **state)
{
    open_captures(state);
    for (int i = 0; i < MEMORIES; i++)
        must(cuMemsetD8_v2(here.memory[i], 0, BYTES));
    must(cuModuleLoadData(&module, set_text));
    return 0;
}

static int close_world(void **state)
{
    braid_import_destroy(here.import);
    must(cuModuleUnload(module));
    return close_captures(state);
}

static void launch(const char *name, uint64_t first, uint64_t second, uint64_t third)
{
    CUfunction function;
    must(cuModuleGetFunction(&function, module, name));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream,
                        (void *[]){ &first, &second, &third }, NULL));
}

static void set_index(CUdeviceptr at, uint32_t index)
{
    must(cuMemcpyHtoD_v2(at, &index, sizeof(index)));
}

static void expect(const char *told, const char *part)
{
    if (!strstr(told, part))
        fail_msg("'%s' is not in: %s", part, told);
}

static struct findings audit_with(const braid_import_options *options, bool orders)
{
    static struct findings findings;
    findings = (struct findings){ 0 };
    import_with(options);
    check_ok(braid_graph_audit(braid_import_get_graph(here.import), here.device,
                               &(braid_audit_options){ note, &findings, orders }, &(size_t){ 0 }));
    return findings;
}

static struct findings audit(const braid_import_options *options)
{
    return audit_with(options, false);
}

#define RELOADED .reloaded = (const char *const[]){ set_text, text }, .num_reloaded = 2

// Writes into the one half by an index from its begin, and audits that.
static struct findings audit_halves(uint32_t index, bool has_whole)
{
    const braid_import_buffer halves[] = {
        { .address = (void *)here.memory[0], .bytes = HALF - 64, .name = "left" },
        { .address = (void *)(here.memory[0] + HALF), .bytes = HALF, .name = "right" },
    };
    set_index(here.memory[1], index);
    begin_capture();
    launch("set", here.memory[0], here.memory[1], 0);
    launch("set", here.memory[0] + HALF, here.memory[1] + 4, 0);
    if (has_whole)
        launch("set", here.memory[0] + HALF - 8, here.memory[1] + 4, 0);
    return audit(&(braid_import_options){ RELOADED, .buffers = halves, .num_buffers = 2 });
}

static void parts_of_an_allocation_are_told_apart(void **state)
{
    (void)state;
    struct findings findings = audit_halves((HALF + 16) / 4, false);
    assert_int_equal(findings.num_outside, 1);
    assert_int_equal(findings.num_unseen, 0);
    expect(findings.outside, "writes bytes from 16 to 19 of 'right'");
}

static void a_write_inside_a_part_is_no_finding(void **state)
{
    (void)state;
    const struct findings findings = audit_halves(3, true);
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 0);
}

// Its end is in neither part, and in the allocation, which another node touches.
static void a_write_beside_the_parts_is_told_of_the_allocation(void **state)
{
    (void)state;
    const struct findings findings = audit_halves((HALF - 32) / 4, true);
    char expected[80];
    snprintf(expected, sizeof(expected), "writes bytes from %d to %d of 'memory", HALF - 32,
             HALF - 29);
    assert_int_equal(findings.num_outside, 1);
    expect(findings.outside, expected);
}

// An access to the whole allocation is one to each part of it.
static void a_node_of_the_whole_allocation_may_write_its_parts(void **state)
{
    (void)state;
    const braid_import_buffer part = { .address = (void *)here.memory[0], .bytes = 64 };
    set_index(here.memory[1], (uint32_t)-32);
    begin_capture();
    launch("set", here.memory[0] + 128, here.memory[1], 0);
    launch("set", here.memory[0], here.memory[1] + 4, 0);
    const struct findings findings =
        audit(&(braid_import_options){ RELOADED, .buffers = &part, .num_buffers = 1 });
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 0);
}

// The first kernel has an address in the memory of the second, of which its code makes nothing.
static struct findings audit_spare(int64_t distance)
{
    set_index(here.memory[2], (uint32_t)(distance / 4));
    begin_capture();
    launch("set", here.memory[0], here.memory[2], here.memory[1]);
    launch("set", here.memory[1], here.memory[2] + 4, 0);
    return audit(&(braid_import_options){ RELOADED });
}

static void an_address_that_a_kernel_does_not_use_is_no_finding(void **state)
{
    (void)state;
    const struct findings findings = audit_spare(8);
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 0);
}

static void a_kernel_may_not_write_where_it_has_an_unused_address(void **state)
{
    (void)state;
    const struct findings findings = audit_spare((int64_t)(here.memory[1] - here.memory[0]) + 8);
    assert_int_equal(findings.num_outside, 1);
    expect(findings.outside, "writes bytes from 8 to 11 of 'memory");
}

// A kernel finds how far the one allocation lies from the other. Another one goes there.
static struct findings audit_allocations(bool leaves)
{
    CUdeviceptr one, other;
    begin_capture();
    must(cuMemAllocAsync(&one, HALF, here.stream));
    must(cuMemAllocAsync(&other, HALF, here.stream));
    launch("differ", one, leaves ? other : one, here.memory[0]);
    launch("set", other, here.memory[0] + 4, 0);
    launch("set", one, here.memory[0], 0);
    must(cuMemFreeAsync(one, here.stream));
    must(cuMemFreeAsync(other, here.stream));
    return audit(&(braid_import_options){ RELOADED });
}

static void allocations_of_the_graph_are_known(void **state)
{
    (void)state;
    const struct findings findings = audit_allocations(false);
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 0);
}

static void a_write_from_one_allocation_into_another_is_told(void **state)
{
    (void)state;
    const struct findings findings = audit_allocations(true);
    assert_int_equal(findings.num_outside, 1);
    assert_int_equal(findings.num_unseen, 0);
    expect(findings.outside, "writes bytes from 0 to 3 of 'allocation");
}

// It loads an address, and so keeps its captured orders.
static void a_node_that_may_touch_anything_is_told_as_unseen(void **state)
{
    (void)state;
    must(cuMemcpyHtoD_v2(here.memory[0], &here.memory[2], sizeof(here.memory[2])));
    begin_capture();
    launch("chase", here.memory[0], 0, 0);
    launch("set", here.memory[2], here.memory[3], 0);
    const struct findings findings = audit(&(braid_import_options){ RELOADED });
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 1);
    expect(findings.unseen, "'chase' is not audited: the import proves no accesses of it");
}

// Somebody may look at the first buffer, and the second address is in none.
static void a_node_that_others_watch_may_touch_anything_too(void **state)
{
    (void)state;
    static uint32_t elsewhere;
    const braid_import_buffer seen = { .address = (void *)here.memory[0],
                                       .bytes = BYTES,
                                       .is_watched = true };
    begin_capture();
    launch("differ", here.memory[0], (uintptr_t)&elsewhere, here.memory[1]);
    const struct findings findings =
        audit(&(braid_import_options){ RELOADED, .buffers = &seen, .num_buffers = 1 });
    assert_int_equal(findings.num_outside, 0);
    assert_int_equal(findings.num_unseen, 1);
    expect(findings.unseen, "'differ' is not audited: the import proves no accesses of it");
}

static void memory_that_the_import_does_not_know_is_told(void **state)
{
    (void)state;
    static uint32_t number;
    begin_capture();
    LAUNCH("count", 0);
    must(cuMemcpyHtoDAsync_v2(here.memory[0], &number, sizeof(number), here.stream));
    const struct findings findings =
        audit(&(braid_import_options){ RELOADED, .is_unwatched = true });
    assert_int_equal(findings.num_outside, 0);
    expect(findings.unseen, "'variables of modules' is not audited in full: the import does not");
    expect(findings.unseen, "'memory of the host' is not audited in full: the import does not");
}

// The one writes 77 into its buffer, and the other leaves its own and writes 7 there.
static void orders_on_which_memory_depends_are_found(void **state)
{
    (void)state;
    set_index(here.memory[2], (uint32_t)((here.memory[1] - here.memory[0]) / 4));
    begin_capture();
    wait_for(side, here.stream);
    launch("set", here.memory[0], here.memory[2], 0);
    LAUNCH_BESIDE("spread", here.memory[1]);
    wait_for(here.stream, side);
    const struct findings findings = audit_with(&(braid_import_options){ RELOADED }, true);
    expect(findings.orders, "nothing orders nodes 0 'set' and 1 'spread', and byte 0 of 'memory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_of_an_allocation_are_told_apart),
        TEST(a_write_inside_a_part_is_no_finding),
        TEST(a_write_beside_the_parts_is_told_of_the_allocation),
        TEST(a_node_of_the_whole_allocation_may_write_its_parts),
        TEST(an_address_that_a_kernel_does_not_use_is_no_finding),
        TEST(a_kernel_may_not_write_where_it_has_an_unused_address),
        TEST(allocations_of_the_graph_are_known),
        TEST(a_write_from_one_allocation_into_another_is_told),
        TEST(a_node_that_may_touch_anything_is_told_as_unseen),
        TEST(a_node_that_others_watch_may_touch_anything_too),
        TEST(orders_on_which_memory_depends_are_found),
        TEST(memory_that_the_import_does_not_know_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
