// SPDX-License-Identifier: Apache-2.0
// An audit tells of each access that a node does not declare, and of no other.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "support/failing_memory.h"

// Two buffers that share a page: `pos` has its last quarter and the one behind, `vel` all before.
struct world {
    braid_device *device;
    braid_graph *graph;
    unsigned char *pages;
    braid_resource vel, pos;
    struct findings findings;
};

enum { VEL_BYTES = PAGE * 2 + 3072, POS_BYTES = PAGE, NUM_PAGES = 4 };

static void *vel_at(const struct world *world, size_t byte)
{
    return world->pages + byte;
}

static void *pos_at(const struct world *world, size_t byte)
{
    return world->pages + VEL_BYTES + byte;
}

static int setup(void **state)
{
    static struct world world;
    skip_without_audits();
    world = (struct world){ .pages = map_pages(NUM_PAGES) };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 },
                               &world.device));
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "vel", vel_at(&world, 0), VEL_BYTES, &world.vel));
    check_ok(braid_graph_add_buffer(world.graph, "pos", pos_at(&world, 0), POS_BYTES, &world.pos));
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    braid_graph_destroy(world->graph);
    check_ok(braid_device_close(world->device));
    munmap(world->pages, NUM_PAGES * PAGE);
    return 0;
}

static braid_resource range(struct world *world, braid_resource buffer, uint64_t begin,
                            uint64_t bytes)
{
    braid_resource made;
    check_ok(braid_graph_add_range(world->graph, buffer, begin, bytes, &made));
    return made;
}

// The findings are these, in order.
static void expect(struct world *world, size_t num, const char *const *texts)
{
    audit(world->device, world->graph, &world->findings);
    for (size_t i = 0; i < num && i < world->findings.num; i++)
        assert_string_equal(world->findings.items[i].text, texts[i]);
    assert_int_equal(world->findings.num, num);
}
#define EXPECT(world, ...)                                                                         \
    expect(world, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),                   \
           (const char *const[]){ __VA_ARGS__ })

static void right_declarations_have_no_finding(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = {
        { READS, vel_at(world, 0) },
        { READS, vel_at(world, PAGE) },
        { READS, pos_at(world, 0) },
        { WRITES, pos_at(world, 0) },
        { ADDS, pos_at(world, 4) },
        { WRITES, pos_at(world, POS_BYTES - 4) },
        { READS, vel_at(world, VEL_BYTES - 4) },
        { 0 },
    };
    ADD(world, touches, { world->vel, BRAID_READ }, { world->pos, BRAID_READ_WRITE });
    expect(world, 0, NULL);
}

static void an_element_beside_a_range_is_found(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = {
        { READS, vel_at(world, 124) },
        { READS, vel_at(world, 128) },
        { WRITES, vel_at(world, 132) },
        { WRITES, vel_at(world, 512) },
        { 0 },
    };
    ADD(world, touches, { range(world, world->vel, 128, 384), BRAID_READ_WRITE });
    EXPECT(world, "node 0 'scatter' reads byte 124 of 'vel', which it does not declare",
           "node 0 'scatter' writes byte 512 of 'vel', which it does not declare");
    const braid_audit_finding *found = &world->findings.items[1].told;
    assert_int_equal(found->kind, BRAID_AUDIT_WRITES);
    assert_int_equal(found->node.index, 0);
    assert_int_equal(found->resource.index, world->vel.index);
    assert_string_equal(found->kernel, "touching");
    assert_ptr_equal(found->address, vel_at(world, 512));
    assert_int_equal(found->begin, 512);
    assert_int_equal(found->end, 513);
    assert_int_equal(found->num, 1);
}

// 16 bytes of a page that another buffer has, too.
static void a_buffer_without_a_declaration_is_found(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = {
        { READS, pos_at(world, 8) },
        { READS, pos_at(world, 12) },
        { READS, vel_at(world, VEL_BYTES - 4) },
        { ADDS, pos_at(world, 4) },
        { READS, pos_at(world, 8) },
        { 0 },
    };
    ADD(world, touches, { world->vel, BRAID_READ });
    EXPECT(world,
           "node 0 'scatter' reads bytes from 8 to 12 of 'pos', 3 times, which it does not declare",
           "node 0 'scatter' writes byte 4 of 'pos', which it does not declare");
    assert_ptr_equal(world->findings.items[0].told.address, pos_at(world, 8));
}

static void a_write_to_what_is_read_is_found(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = {
        { READS, vel_at(world, PAGE) }, { WRITES, vel_at(world, PAGE) },
        { READS, vel_at(world, 0) },    { WRITES, pos_at(world, 64) },
        { READS, pos_at(world, 64) },   { 0 },
    };
    ADD(world, touches, { world->vel, BRAID_READ }, { world->pos, BRAID_WRITE });
    EXPECT(world, "node 0 'scatter' writes byte 4096 of 'vel', which it does not declare");
}

static void a_declared_access_that_is_never_made_is_found(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = { { READS, pos_at(world, 0) }, { 0 } };
    ADD(world, touches, { world->vel, BRAID_READ }, { world->pos, BRAID_READ_WRITE });
    ADD(world, touches, { range(world, world->vel, 0, 8), BRAID_EXCLUSIVE },
        { world->pos, BRAID_READ });
    ADD(world, touches, { range(world, world->vel, 8, 8), BRAID_ACCUMULATE },
        { world->pos, BRAID_READ });
    EXPECT(world, "node 0 'scatter' declares to read 'vel', and in this frame never does",
           "node 0 'scatter' declares to write 'pos', and in this frame never does",
           "node 2 'scatter' declares to write 'vel[8, 16)', and in this frame never does",
           "the plan loses 1 of its 1 wait without the declared accesses that were never made");
    assert_null(world->findings.items[0].told.address);
}

// One instruction that reads a page and writes it.
static void copy_words(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    void *to = *(void *const *)args[0], *from = *(void *const *)args[1];
    size_t num = 16;
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(num) : : "memory");
#endif
}

static const braid_kernel copying = { .name = "copying", .cpu = copy_words };

static void an_instruction_with_several_accesses_makes_each_known(void **state)
{
    struct world *world = *state;
    void *to = vel_at(world, 256), *from = vel_at(world, 128);
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &copying,
                              BRAID_ARGS({ &to, sizeof(to), BRAID_ARG_UNCHECKED_POINTER },
                                         { &from, sizeof(from), BRAID_ARG_UNCHECKED_POINTER }),
                              BRAID_ACCESSES({ range(world, world->vel, 128, 12), BRAID_READ }) },
        NULL));
    EXPECT(world,
           "node 0 'copying' reads bytes from 140 to 143 of 'vel', 4 times, which it does not "
           "declare",
           "node 0 'copying' writes bytes from 256 to 271 of 'vel', 16 times, which it does not "
           "declare");
}

// The declared half is read; the other half lies in the next page.
typedef uint64_t anywhere __attribute__((aligned(1)));

// By one instruction, however the test is compiled.
static void read_across_pages(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const uint64_t value = **(const volatile anywhere *const *)args[0];
    *(volatile uint64_t *)args[0] = value;
}

static void an_access_across_pages_is_one_of_each(void **state)
{
    static const braid_kernel across = { .name = "across", .cpu = read_across_pages };
    struct world *world = *state;
    void *from = vel_at(world, PAGE - 4);
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){
            .kernel = &across,
            BRAID_ARGS({ &from, sizeof(from), BRAID_ARG_UNCHECKED_POINTER }),
            BRAID_ACCESSES({ range(world, world->vel, PAGE - 8, 8), BRAID_READ }) },
        NULL));
    EXPECT(world, "node 0 'across' reads byte 4096 of 'vel', which it does not declare");
}

static void many_undeclared_accesses_take_no_fault_each(void **state)
{
    struct world *world = *state;
    static struct touch touches[20001];
    for (size_t i = 0; i < 20000; i++)
        touches[i] = (struct touch){ i % 2 ? READS : WRITES, vel_at(world, i % 512 * 16) };
    ADD(world, touches, { world->pos, BRAID_EXCLUSIVE });
    audit(world->device, world->graph, &world->findings);
    assert_int_equal(world->findings.num, 2);
    for (int i = 0; i < 2; i++) {
        const braid_audit_finding *found = &world->findings.items[i].told;
        assert_int_equal(found->kind, i ? BRAID_AUDIT_WRITES : BRAID_AUDIT_READS);
        assert_int_equal(found->begin, i ? 0 : 16);
        assert_int_equal(found->end, (i ? 510 : 511) * 16 + 1);
        assert_in_range(found->num, 4000, 4200);
    }
}

static void a_loops_body_and_a_branch_are_judged_each_time(void **state)
{
    struct world *world = *state;
    uint32_t *yes = map_pages(1);
    braid_resource flag;
    *yes = 1;
    const struct touch first[] = { { WRITES, vel_at(world, 0) },
                                   { READS, pos_at(world, 0) },
                                   { 0 } };
    const struct touch second[] = { { WRITES, vel_at(world, 8) }, { 0 } };
    check_ok(braid_graph_add_buffer(world->graph, "flag", yes, sizeof(*yes), &flag));
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 3 }, NULL));
    ADD(world, first, { world->vel, BRAID_WRITE });
    check_ok(braid_graph_begin_if(world->graph, &(braid_if){ .condition = flag }, NULL));
    ADD(world, second, { world->vel, BRAID_READ });
    check_ok(braid_graph_else(world->graph));
    ADD(world, first, { world->vel, BRAID_READ });
    check_ok(braid_graph_end(world->graph));
    check_ok(braid_graph_end(world->graph));
    EXPECT(world, "node 1 'scatter' reads byte 0 of 'pos', 3 times, which it does not declare",
           "node 3 'scatter' writes byte 8 of 'vel', 3 times, which it does not declare");
    munmap(yes, PAGE);
}

static void host_calls_copies_and_fills_are_judged_alike(void **state)
{
    struct world *world = *state;
    struct touch touches[] = { { READS, vel_at(world, 0) }, { 0 } };
    check_ok(braid_graph_add_fill(world->graph,
                                  &(braid_fill){ .to_resource = world->vel,
                                                 .value = 5,
                                                 .num_values = VEL_BYTES,
                                                 BRAID_ACCESSES({ world->vel, BRAID_WRITE }) },
                                  NULL));
    check_ok(braid_graph_add_copy(
        world->graph,
        &(braid_copy){ .to_resource = world->pos,
                       .from_resource = world->vel,
                       .bytes = POS_BYTES,
                       BRAID_ACCESSES({ world->vel, BRAID_READ }, { world->pos, BRAID_WRITE }) },
        NULL));
    check_ok(braid_graph_add_host_call(
        world->graph,
        &(braid_host_call){ .node.name = "show",
                            .call = make_touches_of_user,
                            .user = touches,
                            .blocking = true,
                            BRAID_ACCESSES({ world->pos, BRAID_EXCLUSIVE }) },
        NULL));
    EXPECT(world, "node 2 'show' reads byte 0 of 'vel', which it does not declare");
    assert_null(world->findings.items[0].told.kernel);
    assert_int_equal(*(unsigned char *)vel_at(world, VEL_BYTES - 1), 5);
    assert_int_equal(*(unsigned char *)pos_at(world, POS_BYTES - 1), 5);
}

// The pages are open: the system reads one.
static braid_status fill_pos(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], user, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return braid_stream_fill(stream, user, 9, 1, POS_BYTES);
}

static void queue_calls_run_and_are_not_judged(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = { { READS, vel_at(world, 0) }, { 0 } };
    check_ok(braid_graph_add_queue_call(
        world->graph, &(braid_queue_call){ .call = fill_pos, .user = pos_at(world, 0) }, NULL));
    ADD(world, touches, { world->pos, BRAID_EXCLUSIVE });
    EXPECT(world, "node 0 'queue call' is not audited: the work of its call is not seen",
           "node 1 'scatter' reads byte 0 of 'vel', which it does not declare");
    const braid_audit_finding *unseen = &world->findings.items[0].told;
    assert_int_equal(unseen->kind, BRAID_AUDIT_UNSEEN);
    assert_null(unseen->buffer);
    assert_null(unseen->kernel);
    assert_int_equal(*(unsigned char *)pos_at(world, POS_BYTES - 1), 9);
}

// The arguments are addresses of buffers whose memory an exec has.
static void write_and_read(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    volatile uint32_t *to = *(volatile uint32_t *const *)args[0];
    const volatile uint32_t *from = *(const volatile uint32_t *const *)args[1];
    to[3] = from[3];
}

static void memory_of_the_exec_is_known(void **state)
{
    static const braid_kernel moving = { .name = "moving", .cpu = write_and_read };
    struct world *world = *state;
    braid_resource transient, versioned, earlier, scratch;
    check_ok(braid_graph_add_transient(world->graph, "transient", 64, 0, &transient));
    check_ok(braid_graph_add_scratch(world->graph, "scratch", 64, 0, &scratch));
    check_ok(braid_graph_add_versioned_buffer(world->graph, "turns", NULL, 3, 64, &versioned));
    check_ok(braid_graph_add_earlier_version(world->graph, versioned, 1, &earlier));
    braid_resource part = range(world, transient, 0, 12);
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &moving,
                              BRAID_ARGS(braid_resource_address(&part), BRAID_IN(earlier)),
                              BRAID_ACCESSES({ part, BRAID_WRITE }) },
        NULL));
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &moving,
                              BRAID_ARGS(BRAID_OUT(versioned), BRAID_IN(transient)) },
        NULL));
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &moving,
                              BRAID_ARGS(braid_resource_address(&scratch), BRAID_OUT(versioned)) },
        NULL));
    EXPECT(world, "node 0 'moving' writes byte 12 of 'transient', which it does not declare",
           "node 0 'moving' declares to write 'transient[0, 12)', and in this frame never does",
           "node 2 'moving' reads byte 12 of 'turns', which it does not declare",
           "node 2 'moving' declares to write 'turns', and in this frame never does");
}

// A buffer on the stack, and one beside the memory of all that Braid allocates.
static void buffers_may_lie_among_other_data(void **state)
{
    struct world *world = *state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("the handlers use data that sanitizers and counters keep in such pages");
#endif
    static uint32_t fixed[16] = { 1 };
    uint32_t local[4] = { 0 }, *heap = malloc(64), *other = malloc(64);
    const struct touch touches[] = {
        { WRITES, &local[1] }, { READS, &heap[3] }, { READS, other }, { READS, &fixed[2] }, { 0 }
    };
    braid_resource on_stack, on_heap, among_static;
    check_ok(braid_graph_add_buffer(world->graph, "local", local, sizeof(local), &on_stack));
    check_ok(braid_graph_add_buffer(world->graph, "fixed", fixed, 64, &among_static));
    check_ok(braid_graph_add_buffer(world->graph, "heap", heap, 64, &on_heap));
    ADD(world, touches, { on_stack, BRAID_WRITE },
        { range(world, on_heap, 0, 12), BRAID_EXCLUSIVE },
        { range(world, among_static, 0, 8), BRAID_EXCLUSIVE });
    EXPECT(world, "node 0 'scatter' reads byte 8 of 'fixed', which it does not declare",
           "node 0 'scatter' reads byte 12 of 'heap', which it does not declare");
    assert_int_equal(local[1], 7);
    free(heap);
    free(other);
}

static void nodes_that_do_not_run_have_no_finding(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = { { READS, vel_at(world, 0) }, { 0 } };
    const struct touch *list = touches;
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &touching,
                              .may_be_empty = true, // and it has no block
                              BRAID_ARGS({ &list, sizeof(list), BRAID_ARG_UNCHECKED_POINTER }),
                              BRAID_ACCESSES({ world->pos, BRAID_WRITE }) },
        NULL));
    expect(world, 0, NULL);
}

static void raise_trap(void *user)
{
    (void)user;
    raise(SIGTRAP);
}

static void check_ends_with(const struct world *world, int number)
{
#if defined(UNDER_TSAN) || defined(UNDER_ASAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    pid_t child = fork();
    if (child == 0) {
        const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
        braid_device *device;
        size_t num;
        signal(number, SIG_DFL);
        if (braid_device_open(&options, &device))
            _exit(2);
        _exit(braid_graph_audit(world->graph, device, NULL, &num) ? 3 : 4);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static void a_fault_of_the_program_is_the_programs(void **state)
{
    struct world *world = *state;
    unsigned char *closed = map_pages(1);
    const struct touch touches[] = { { READS, closed }, { 0 } };
    mprotect(closed, PAGE, PROT_NONE);
    ADD(world, touches, { world->vel, BRAID_EXCLUSIVE });
    check_ends_with(world, SIGSEGV);
    munmap(closed, PAGE);
}

static void a_trap_of_the_program_is_the_programs(void **state)
{
    struct world *world = *state;
    check_ok(
        braid_graph_add_host_call(world->graph, &(braid_host_call){ .call = raise_trap }, NULL));
    check_ends_with(world, SIGTRAP);
}

static void any_allocation_may_fail(void **state)
{
    struct world *world = *state;
    const struct touch touches[] = { { READS, vel_at(world, 0) }, { 0 } };
    bool failed = true;
    ADD(world, touches, { world->pos, BRAID_EXCLUSIVE });
    for (uint64_t nth = 1; failed; nth++) {
        size_t num = 5;
        failing_memory_arm_once(nth);
        braid_status status = braid_graph_audit(world->graph, world->device, NULL, &num);
        failed = failing_memory_disarm();
        assert_true(status == BRAID_OK || (failed && status == BRAID_NO_MEMORY));
        assert_int_equal(num, status ? 5 : 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(right_declarations_have_no_finding),
        TEST(an_element_beside_a_range_is_found),
        TEST(a_buffer_without_a_declaration_is_found),
        TEST(a_write_to_what_is_read_is_found),
        TEST(a_declared_access_that_is_never_made_is_found),
        TEST(an_instruction_with_several_accesses_makes_each_known),
        TEST(an_access_across_pages_is_one_of_each),
        TEST(many_undeclared_accesses_take_no_fault_each),
        TEST(a_loops_body_and_a_branch_are_judged_each_time),
        TEST(host_calls_copies_and_fills_are_judged_alike),
        TEST(queue_calls_run_and_are_not_judged),
        TEST(memory_of_the_exec_is_known),
        TEST(buffers_may_lie_among_other_data),
        TEST(nodes_that_do_not_run_have_no_finding),
        TEST(a_fault_of_the_program_is_the_programs),
        TEST(a_trap_of_the_program_is_the_programs),
        TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
