// SPDX-License-Identifier: Apache-2.0
// What one node may access is closed for the next one: also on the audit's own stack, and where
// many accesses have opened pages. An access may reach declared bytes up to 64 bytes behind it. A
// node may read a page of what it only writes behind its first write there.
#include "audit/audit_testing.h"

static int open_site(void **state)
{
    int opened = open_audited(state);
    return opened;
}

static void expect(const braid_graph *graph, size_t num, const char *const *texts)
{
    audit(audited.device, graph, &audited.findings);
    for (size_t i = 0; i < num && i < audited.findings.num; i++)
        assert_string_equal(audited.findings.items[i].text, texts[i]);
    assert_int_equal(audited.findings.num, num);
}
#define EXPECT(graph, ...)                                                                         \
    expect(graph, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),                   \
           (const char *const[]){ __VA_ARGS__ })

// Nodes that declare it exclusively run one after another.
static braid_resource add_order(braid_graph *graph)
{
    braid_resource order;
    check_ok(braid_graph_add_buffer(graph, "order", audited.outside, 4, &order));
    return order;
}

static void a_page_closes_behind_the_node_that_declares_it(void **state)
{
    const struct touch touches[] = {
        { READS, audited.words },
        { WRITES, audited.words },
        { READS, audited.words + 1 },
        { WRITES, audited.words + 2 },
        { 0 },
    };
    (void)state;
    braid_resource order = add_order(audited.graph);
    ADD(&audited, touches, { audited.buffer, BRAID_READ_WRITE }, { order, BRAID_EXCLUSIVE });
    ADD(&audited, touches + 2, { order, BRAID_EXCLUSIVE });
    EXPECT(audited.graph, "node 1 'scatter' reads byte 4 of 'words', which it does not declare",
           "node 1 'scatter' writes byte 8 of 'words', which it does not declare");
}

// The first node and the third open the page behind 4,096 accesses. The writes hide reads.
static void a_page_closes_behind_a_node_with_many_accesses(void **state)
{
    enum { NUM = 10000 };
    static struct touch reads[NUM + 1], writes[NUM + 1];
    const struct touch few[] = { { READS, audited.words + 1 }, { WRITES, audited.words }, { 0 } };
    static const uint32_t nodes[] = { 0, 1, 1, 2, 2, 3, 3 };
    (void)state;
    braid_resource order = add_order(audited.graph);
    for (size_t i = 0; i < NUM; i++) {
        reads[i] = (struct touch){ READS, audited.words };
        writes[i] = (struct touch){ WRITES, audited.words };
    }
    ADD(&audited, reads, { order, BRAID_EXCLUSIVE });
    ADD(&audited, few, { order, BRAID_EXCLUSIVE });
    ADD(&audited, writes, { order, BRAID_EXCLUSIVE });
    ADD(&audited, few, { order, BRAID_EXCLUSIVE });
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 7);
    for (size_t i = 0; i < 7; i++) {
        const braid_audit_finding *found = &audited.findings.items[i].told;
        assert_int_equal(found->node.index, nodes[i]);
        assert_true(nodes[i] % 2 == 0 || found->num == 1);
    }
}

// The first node opens the page, which has the frames of the audit itself as well.
static void audit_own_stack(enum how how)
{
    uint32_t local[26] = { 0 };
    const struct touch touches[] = {
        { READS, local }, { WRITES, local }, { how, &local[23] }, { 0 }
    };
    struct {
        braid_graph *graph;
    } own;
    braid_resource on_stack;
    check_ok(braid_graph_create(&own.graph));
    check_ok(braid_graph_add_buffer(own.graph, "local", local, sizeof(local), &on_stack));
    braid_resource order = add_order(own.graph);
    ADD(&own, touches, { on_stack, BRAID_READ_WRITE }, { order, BRAID_EXCLUSIVE });
    ADD(&own, touches + 2, { order, BRAID_EXCLUSIVE });
    EXPECT(own.graph,
           how == READS ? "node 1 'scatter' reads byte 92 of 'local', which it does not declare"
                        : "node 1 'scatter' writes byte 92 of 'local', which it does not declare");
    braid_graph_destroy(own.graph);
}

// Each level lies deeper in the stack's pages.
__attribute__((noinline)) static void audit_deeper(int levels)
{
    volatile char room[32] = { 0 };
    audit_own_stack(levels % 2 ? READS : WRITES);
    if (levels)
        audit_deeper(levels - 1);
    room[0] = room[1];
}

static void a_buffer_may_lie_anywhere_on_the_stack(void **state)
{
    (void)state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("the handlers use data that sanitizers and counters keep in such pages");
#endif
    audit_deeper(PAGE / 64);
}

// 108 bytes by one access, which faults at its first byte.
static void save_state(void *to)
{
#if defined(__x86_64__)
    __asm__ volatile("fnsave (%0)" : : "r"(to) : "memory");
#else
    (void)to;
#endif
}

static void an_access_may_reach_the_bytes_behind_it(void **state)
{
    braid_resource parts[2];
    (void)state;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, 63, &parts[0]));
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 63, 45, &parts[1]));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .call = save_state,
                            .user = audited.words,
                            BRAID_ACCESSES({ parts[0], BRAID_WRITE }, { parts[1], BRAID_WRITE }) },
        NULL));
    expect(audited.graph, 0, NULL);
}

static uint64_t pushed;

// On a stack in the buffer.
static void push_flags(void *words)
{
    (void)words;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %1, %%rsp\n\tpushfq\n\tmovq (%%rsp), %0\n\t"
                     "movq %%rbx, %%rsp"
                     : "=&r"(pushed)
                     : "r"((unsigned char *)words + 512)
                     : "rbx", "memory");
#endif
}

// The processor traps behind an instruction while the flag is set. The program may pop it again.
static void flags_that_a_node_pushes_are_the_programs(void **state)
{
    braid_resource most; // so that the page opens for single instructions
    (void)state;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, PAGE - 1, &most));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){
            .call = push_flags, .user = audited.words, BRAID_ACCESSES({ most, BRAID_READ_WRITE }) },
        NULL));
    expect(audited.graph, 0, NULL);
    assert_int_equal(pushed & 0x100, 0);
}

// Its first byte keeps the page closed.
static void a_page_with_one_undeclared_byte_stays_closed(void **state)
{
    const struct touch touches[] = { { READS, audited.words + 1 },
                                     { READS, audited.words },
                                     { 0 } };
    braid_resource most;
    (void)state;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 1, PAGE - 1, &most));
    ADD(&audited, touches, { most, BRAID_READ });
    EXPECT(audited.graph, "node 0 'scatter' reads byte 0 of 'words', which it does not declare");
}

// The last page has other data behind the buffer. To write these allows no read.
static void a_read_before_a_write_of_what_is_only_written_is_found(void **state)
{
    const struct touch touches[] = {
        { WRITES, audited.words },         { READS, audited.words + 1 },
        { WRITES, audited.outside + 512 }, { READS, audited.outside + 512 },
        { READS, audited.outside + 16 },   { WRITES, audited.outside + 16 },
        { READS, audited.outside + 32 },   { 0 },
    };
    struct {
        braid_graph *graph;
    } own;
    braid_resource longer;
    (void)state;
    check_ok(braid_graph_create(&own.graph));
    check_ok(braid_graph_add_buffer(own.graph, "longer", audited.words, PAGE + 1024, &longer));
    ADD(&own, touches, { longer, BRAID_WRITE });
    EXPECT(own.graph, "node 0 'scatter' reads byte 4160 of 'longer', which it does not declare");
    braid_graph_destroy(own.graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_audited)
    const struct CMUnitTest tests[] = {
        TEST(a_page_closes_behind_the_node_that_declares_it),
        TEST(a_page_closes_behind_a_node_with_many_accesses),
        TEST(a_buffer_may_lie_anywhere_on_the_stack),
        TEST(an_access_may_reach_the_bytes_behind_it),
        TEST(flags_that_a_node_pushes_are_the_programs),
        TEST(a_page_with_one_undeclared_byte_stays_closed),
        TEST(a_read_before_a_write_of_what_is_only_written_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
