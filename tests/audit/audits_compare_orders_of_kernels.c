// SPDX-License-Identifier: Apache-2.0
// An audit runs kernels of loops and branches in other orders, and compares large buffers to their
// last byte. BRAID_TEST_BACKEND names the device.
#include "audit/audit_testing.h"
#include "audit/audited_kernels.h"

enum { LARGE_BYTES = (5 << 19) + 12 }; // more than is copied at once

static braid_resource word_at(uint32_t number)
{
    braid_resource range;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, number * 4, 4, &range));
    return range;
}

// A node that declares at most one access to two words.
static braid_node add(const char *name, const braid_kernel *kernel, uint32_t *one, uint32_t *other,
                      const braid_access *access, const braid_node *after)
{
    braid_node node;
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){
            .node = { name, .accesses = access, access != NULL, .after = after, after != NULL },
            .kernel = kernel,
            BRAID_ARGS({ &one, sizeof(one), BRAID_ARG_UNCHECKED_POINTER },
                       { &other, sizeof(other), BRAID_ARG_UNCHECKED_POINTER }) },
        &node));
    return node;
}

// Two nodes that change one word, which they do not declare.
static void add_pair(uint32_t number)
{
    for (uint32_t i = 1; i < 3; i++) {
        audited.outside[i] = i;
        add("changing", &changing_kernel, &audited.words[number], &audited.outside[i], NULL, NULL);
    }
}

// There is one finding of orders, behind the others.
static const struct finding *expect_one(const char *text)
{
    audit_frames(audited.device, audited.graph, true, &audited.findings);
    const size_t num = audited.findings.num;
    assert_true(num > 0);
    for (size_t i = 0; i + 1 < num; i++)
        assert_true(audited.findings.items[i].told.kind < BRAID_AUDIT_ORDER);
    assert_string_equal(audited.findings.items[num - 1].text, text);
    return &audited.findings.items[num - 1];
}

static uint32_t change(uint32_t value, uint32_t times)
{
    for (; times > 0; times--)
        value = (value * 31 + 1) * 31 + 2;
    return value;
}

static void a_condition_ends_a_loop(void **state)
{
    (void)state;
    const braid_access counts = { word_at(0), BRAID_READ_WRITE };
    audited.words[0] = 3;
    audited.outside[3] = UINT32_MAX;
    check_ok(braid_graph_begin_loop(
        audited.graph, &(braid_loop){ .condition = word_at(0), .unbounded = true }, NULL));
    add("counting", &adding_kernel, &audited.outside[3], &audited.words[0], &counts, NULL);
    add_pair(8);
    check_ok(braid_graph_end(audited.graph));
    expect_one("nothing orders nodes 2 'changing' and 3 'changing', and byte 32 of 'words' depends "
               "on their order");
    assert_int_equal(audited.words[0], 0);
    assert_int_equal(audited.words[8], change(0, 3));
}

static void one_arm_of_a_branch_runs(void **state)
{
    (void)state;
    audited.words[0] = 1;
    check_ok(braid_graph_begin_if(audited.graph, &(braid_if){ .condition = word_at(0) }, NULL));
    add_pair(8);
    check_ok(braid_graph_else(audited.graph));
    add_pair(9);
    check_ok(braid_graph_end(audited.graph));
    expect_one("nothing orders nodes 1 'changing' and 2 'changing', and byte 32 of 'words' depends "
               "on their order");
    assert_int_equal(audited.words[8], change(0, 1));
    assert_int_equal(audited.words[9], 0);
}

static void a_loop_that_another_order_keeps_going_is_ended(void **state)
{
    (void)state;
    const braid_access writes = { word_at(0), BRAID_WRITE };
    const uint32_t words[] = { 0, UINT32_MAX, UINT32_MAX - 1 };
    memcpy(audited.outside, words, sizeof(words));
    audited.words[0] = 1;
    check_ok(braid_graph_begin_loop(
        audited.graph,
        &(braid_loop){ .node.name = "loop", .condition = word_at(0), .unbounded = true }, NULL));
    // The last one writes 0 behind "ready", and otherwise 1.
    braid_node first =
        add("reset", &next_kernel, &audited.outside[1], &audited.outside[0], NULL, NULL);
    add("ready", &next_kernel, &audited.outside[2], &audited.outside[0], NULL, &first);
    add("go on", &next_kernel, &audited.outside[0], &audited.words[0], &writes, &first);
    check_ok(braid_graph_end(audited.graph));
    expect_one("nothing orders nodes 2 'ready' and 3 'go on', and the end of node 0 'loop' depends "
               "on their order");
    assert_int_equal(audited.words[0], 0);
}

struct fill {
    unsigned char *memory;
    uint32_t value;
};

static braid_status fill_large(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    const struct fill *fill = user;
    return braid_stream_fill(stream, fill->memory, fill->value, 1, LARGE_BYTES);
}

static void add_fill(struct fill *fill)
{
    check_ok(braid_graph_add_queue_call(
        audited.graph, &(braid_queue_call){ .node.name = "fill", .call = fill_large, .user = fill },
        NULL));
}

// The fills are unordered. A node adds to the last word, which no other node writes.
static void large_buffers_are_compared_to_their_last_byte(void **state)
{
    (void)state;
    braid_resource large;
    void *memory;
    check_ok(braid_memory_allocate(audited.device, BRAID_MEMORY_DEVICE, LARGE_BYTES + 8, &memory));
    unsigned char *begin = memory;
    check_ok(braid_stream_fill(braid_device_get_default_stream(audited.device), memory, 7, 4,
                               LARGE_BYTES / 4 + 2));
    check_ok(braid_stream_wait(braid_device_get_default_stream(audited.device)));
    check_ok(braid_graph_add_buffer(audited.graph, "large", memory, LARGE_BYTES + 8, &large));
    struct fill one = { begin + 4, 1 }, two = { begin + 4, 2 };
    add_fill(&one);
    add_fill(&two);
    audited.outside[1] = 1;
    add("adding", &adding_kernel, &audited.outside[1], (void *)(begin + LARGE_BYTES + 4), NULL,
        NULL);
    const braid_audit_finding *found =
        &expect_one("nothing orders nodes 0 'fill' and 1 'fill', and byte 4 of 'large' depends on "
                    "their order")
             ->told;
    assert_int_equal(found->begin, 4);
    assert_int_equal(found->end, LARGE_BYTES + 4);
    assert_int_equal(found->num, LARGE_BYTES);
    assert_ptr_equal(found->address, begin + 4);
    check_ok(braid_stream_copy(braid_device_get_default_stream(audited.device), audited.words,
                               begin, 8));
    check_ok(braid_stream_copy(braid_device_get_default_stream(audited.device), audited.words + 2,
                               begin + LARGE_BYTES, 8));
    check_ok(braid_stream_wait(braid_device_get_default_stream(audited.device)));
    const uint32_t left[] = { 7, 0x02020202, 0x02020202, 8 };
    assert_memory_equal(audited.words, left, sizeof(left));
    braid_memory_free(audited.device, memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(a_condition_ends_a_loop),
        AUDITED_TEST(one_arm_of_a_branch_runs),
        AUDITED_TEST(a_loop_that_another_order_keeps_going_is_ended),
        AUDITED_TEST(large_buffers_are_compared_to_their_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
