// SPDX-License-Identifier: Apache-2.0
// An audit on CUDA tells of each access of a kernel that its node does not declare, and of no
// other. Kernels whose accesses it does not see are named.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/audited_world.h"
#include "standin/standin_kernel.h"
#include "support/failing_memory.h"

enum { MANY = 12000 };

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

#define UNDECLARED ", which it does not declare"

// Each kernel reads and updates the first 56 bytes, and declares that. What else it does is found.
static void accesses_are_seen_to_their_last_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *told; // behind the node's name; NULL: nothing
        const char *more;
    } cases[] = {
        { KERNEL("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+40];\n"), NULL, NULL },
        { KERNEL("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+44];\n"),
          "reads bytes from 56 to 59 of 'first'", NULL },
        { KERNEL("ld.global.nc.L1::no_allocate.v2.u64 {%d0, %d1}, [%a+56];\n"),
          "reads bytes from 56 to 63 of 'first'", "reads bytes from 0 to 7 of 'second'" },
        { KERNEL("ld.u8 %r0, [%a+56];\n"), "reads byte 56 of 'first'", NULL },
        { KERNEL("st.volatile.global.b64 [%a+56], %d0;\n"), "writes bytes from 56 to 63 of 'first'",
          NULL },
        { KERNEL("add.u64 %d0, %a, 64;\nst.v2.f32 [%d0+-8], {%f, %f};\n"),
          "writes bytes from 56 to 63 of 'first'", NULL },
        { KERNEL("atom.global.cas.b64 %d0, [%a+120], %d0, %d1;\n"),
          "atomically updates bytes from 56 to 63 of 'second'", NULL },
        { KERNEL("red.add.u32 [%a+48], 1;\nred.relaxed.gpu.global.add.u32 [%a+64], 1;\n"),
          "atomically updates bytes from 0 to 3 of 'second'", NULL },
        { KERNEL("@%p st.global.u32 [%a+64], %r0;\n@!%p st.global.u32 [%a+68], %r0;\n"),
          "writes bytes from 4 to 7 of 'second'", NULL },
        { KERNEL("@!%p bra over;\nst.global.u32 [%a+64], %r0;\nover:\n"), NULL, NULL },
        // Beyond all buffers, and in other spaces.
        { KERNEL("st.global.u32 [%a+128], %r0;\nld.global.u32 %r0, [%a+-4];\n"), NULL, NULL },
        { KERNEL(".shared .b32 own[4];\nmov.u64 %d0, own;\ncvta.shared.u64 %d0, %d0;\n"
                 "st.u32 [%d0], %r0;\nst.shared.u32 [own], %r0;\n"),
          NULL, NULL },
        // A loop goes over the end of what is declared, by turns with what is allowed.
        { KERNEL("mov.u64 %d0, 0;\nmov.u64 %d1, %a;\nagain:\nst.global.u32 [%d1], %r0;\n"
                 "st.global.u32 [%a+8], %r0;\nadd.u64 %d1, %d1, 4;\nadd.u64 %d0, %d0, 1;\n"
                 "setp.lt.u64 %p, %d0, 24;\n@%p bra again;\n"),
          "writes bytes from 56 to 63 of 'first', 2 times",
          "writes bytes from 0 to 31 of 'second', 8 times" },
        { KERNEL("mov.u64 %d1, %a;\nagain:\nsetp.lt.u64 %p, %d0, 16;\n"
                 "@%p ld.global.u32 %r0, [%d1];\nadd.u64 %d1, %d1, 4;\nadd.u64 %d0, %d0, 1;\n"
                 "setp.lt.u64 %p, %d0, 24;\n@%p bra again;\n"),
          "reads bytes from 56 to 63 of 'first', 2 times", NULL },
        { HEAD
          ".func (.param .b32 out) deep(.param .b64 at)\n{\n.reg .b32 %r;\n.reg .b64 %a;\n"
          "ld.param.b64 %a, [at];\nld.u32 %r, [%a+56];\nst.param.b32 [out], %r;\nret;\n}\n"
          ".entry given(.param .u64 at)\n{\n.reg .b32 %r;\n.reg .b64 %a;\n"
          "ld.param.u64 %a, [at];\n{\n.param .b64 p;\n.param .b32 q;\nst.param.b64 [p], %a;\n"
          "call (q), deep, (p);\nld.param.b32 %r, [q];\n}\nst.global.u32 [%a+4], %r;\nret;\n}\n",
          "reads bytes from 56 to 59 of 'first'", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(setup(state), 0);
        struct world *world = *state;
        const braid_kernel kernel = { .name = "given", .cuda.data = cases[i].text };
        const braid_kernel touches = {
            .name = "given",
            .cuda.data = KERNEL("red.global.add.u32 [%a], 1;\nld.global.u32 %r0, [%a+52];\n")
        };
        braid_resource part;
        check_ok(braid_graph_add_range(world->graph, world->first, 0, 56, &part));
        ADD_GIVEN(world, &touches, { part, BRAID_READ_WRITE });
        ADD_GIVEN(world, &kernel, { part, BRAID_READ_WRITE });
        char texts[2][128];
        const char *told[2];
        size_t num = 0;
        audit(world->device, world->graph, &world->findings);
        for (size_t k = 0; k < world->findings.num; k++)
            assert_int_equal(world->findings.items[k].told.node.index, 1);
        if (cases[i].told)
            snprintf(texts[num++], 128, "node 1 'given' %s" UNDECLARED, cases[i].told);
        if (cases[i].more)
            snprintf(texts[num++], 128, "node 1 'given' %s" UNDECLARED, cases[i].more);
        for (size_t k = 0; k < num; k++)
            told[k] = texts[k];
        size_t at = 0;
        for (size_t k = 0; k < world->findings.num; k++) {
            if (world->findings.items[k].told.kind >= BRAID_AUDIT_NEVER_READS)
                continue; // which the next test is about
            if (at == num || strcmp(world->findings.items[k].text, told[at]) != 0)
                fail_msg("case %zu: %s", i, world->findings.items[k].text);
            at++;
        }
        if (at != num)
            fail_msg("case %zu: %zu findings", i, at);
        assert_int_equal(teardown(state), 0);
    }
}

static void what_is_never_accessed_is_found(void **state)
{
    struct world *world = *state;
    static const braid_kernel reads = { .name = "given",
                                        .cuda.data = KERNEL("ld.global.u32 %r0, [%a];\n") };
    static const braid_kernel updates = { .name = "given",
                                          .cuda.data = KERNEL("red.global.add.u32 [%a], 1;\n") };
    ADD_GIVEN(world, &reads, { world->first, BRAID_READ_WRITE }, { world->second, BRAID_READ });
    ADD_GIVEN(world, &updates, { world->first, BRAID_ACCUMULATE }, { world->second, BRAID_WRITE });
    ADD_GIVEN(world, &updates, { world->first, BRAID_READ }, { world->second, BRAID_EXCLUSIVE });
    EXPECT(world, "node 0 'given' declares to read 'second', and in this frame never does",
           "node 0 'given' declares to write 'first', and in this frame never does",
           "node 1 'given' declares to write 'second', and in this frame never does",
           "node 2 'given' atomically updates bytes from 0 to 3 of 'first'" UNDECLARED);
    const braid_audit_finding *found = &world->findings.items[3].told;
    assert_int_equal(found->kind, BRAID_AUDIT_UPDATES);
    assert_string_equal(found->kernel, "given");
    assert_ptr_equal(found->address, world->memory);
    assert_int_equal(found->begin, 0);
    assert_int_equal(found->end, 4);
    assert_int_equal(found->num, 1);
    assert_int_equal(*(uint32_t *)world->memory, 2);
}

// All threads of all launches count.
static void accesses_of_all_threads_are_counted(void **state)
{
    struct world *world = *state;
    static const braid_kernel all = { .name = "given",
                                      .cuda.data = KERNEL(
                                          "mov.u32 %r0, %tid.x;\nmad.wide.u32 %d0, %r0, 1, %a;\n"
                                          "st.global.u8 [%d0+20], %r0;\n") };
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 3 }, NULL));
    add(world, &all, 100, &(braid_access){ world->second, BRAID_WRITE }, 1);
    check_ok(braid_graph_end(world->graph));
    EXPECT(world, "node 1 'given' writes bytes from 20 to 63 of 'first', 132 times" UNDECLARED);
}

// An access beyond all buffers tells nothing of one in a buffer beside it.
static void accesses_beside_a_buffer_hide_none(void **state)
{
    struct world *world = *state;
    static const braid_kernel kernel = {
        .name = "given",
        .cuda.data = KERNEL("ld.global.u32 %r0, [%a+-4];\nld.global.u32 %r0, [%a];\n"
                            "st.global.u32 [%a+128], %r0;\nst.global.u32 [%a+124], %r0;\n")
    };
    braid_resource part;
    check_ok(braid_graph_add_range(world->graph, world->first, 4, 8, &part));
    ADD_GIVEN(world, &kernel, { part, BRAID_EXCLUSIVE });
    EXPECT(world, "node 0 'given' reads bytes from 0 to 3 of 'first'" UNDECLARED,
           "node 0 'given' writes bytes from 60 to 63 of 'second'" UNDECLARED);
}

// Also if one table tells of a part of the accesses, and the table of all buffers of another.
static void the_lowest_address_is_told(void **state)
{
    struct world *world = *state;
    static const braid_kernel kernel = { .name = "given",
                                         .cuda.data = KERNEL("st.global.u32 [%a+20], %r0;\n"
                                                             "ld.global.u32 %r0, [%a+8];\n"
                                                             "st.global.u32 [%a+8], %r0;\n") };
    braid_resource part;
    check_ok(braid_graph_add_range(world->graph, world->first, 8, 8, &part));
    ADD_GIVEN(world, &kernel, { part, BRAID_READ });
    EXPECT(world, "node 0 'given' writes bytes from 8 to 23 of 'first', 2 times" UNDECLARED);
    assert_ptr_equal(world->findings.items[0].told.address, world->memory + 8);
}

static void memory_of_the_exec_is_known(void **state)
{
    struct world *world = *state;
    static const braid_kernel moving = {
        .name = "moving",
        .cuda.data = HEAD
        ".entry moving(.param .u64 to, .param .u64 from)\n{\n.reg .b32 %r;\n.reg .b64 %d<2>;\n"
        "ld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\nld.global.u32 %r, [%d1+12];\n"
        "st.global.u32 [%d0+12], %r;\nret;\n}\n"
    };
    braid_resource transient, versioned, earlier, part;
    check_ok(braid_graph_add_transient(world->graph, "transient", 64, 0, &transient));
    check_ok(braid_graph_add_versioned_buffer(world->graph, "turns", NULL, 3, 64, &versioned));
    check_ok(braid_graph_add_earlier_version(world->graph, versioned, 1, &earlier));
    check_ok(braid_graph_add_range(world->graph, transient, 0, 12, &part));
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
    EXPECT(world, "node 0 'moving' writes bytes from 12 to 15 of 'transient'" UNDECLARED,
           "node 0 'moving' declares to write 'transient[0, 12)', and in this frame never does");
}

// A node declares one version, and reads others: one that has a name, and one that has none.
static void accesses_to_wrong_versions_are_found(void **state)
{
    struct world *world = *state;
    static const braid_kernel reads = {
        .name = "given",
        .cuda.data = KERNEL("ld.global.u32 %r0, [%a];\nld.global.u32 %r0, [%a+36];\n"
                            "ld.global.u32 %r0, [%a+72];\n")
    };
    unsigned char *more;
    void *memory;
    check_ok(braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, 96, &memory));
    more = memory;
    void *versions[3] = { more, more + 32, more + 64 };
    braid_resource versioned, earlier;
    check_ok(braid_graph_add_versioned_buffer(world->graph, "turns", versions, 3, 32, &versioned));
    check_ok(braid_graph_add_earlier_version(world->graph, versioned, 1, &earlier));
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &reads,
                              BRAID_ARGS({ &more, sizeof(more), BRAID_ARG_UNCHECKED_POINTER }),
                              BRAID_ACCESSES({ versioned, BRAID_READ }) },
        NULL));
    EXPECT(world, "node 0 'given' reads bytes from 4 to 7 of 'turns'" UNDECLARED,
           "node 0 'given' reads bytes from 8 to 11 of 'turns[-1]'" UNDECLARED);
    braid_memory_free(world->device, more);
}

static void loops_end_as_the_device_says(void **state)
{
    struct world *world = *state;
    // Counts down a word, and writes what it does not declare.
    static const braid_kernel counting = {
        .name = "given",
        .cuda.data = KERNEL("ld.global.u32 %r0, [%a];\nsub.u32 %r0, %r0, 1;\n"
                            "st.global.u32 [%a], %r0;\nst.global.u32 [%a+64], %r0;\n")
    };
    static const braid_kernel other = { .name = "given",
                                        .cuda.data = KERNEL("ld.global.u32 %r0, [%a+64];\n") };
    *(uint32_t *)world->memory = 4;
    check_ok(braid_graph_begin_loop(
        world->graph, &(braid_loop){ .times = 100, .condition = world->first }, NULL));
    ADD_GIVEN(world, &counting, { world->first, BRAID_READ_WRITE });
    check_ok(braid_graph_end(world->graph));
    check_ok(braid_graph_begin_if(world->graph, &(braid_if){ .condition = world->first }, NULL));
    ADD_GIVEN(world, &counting, { world->first, BRAID_READ_WRITE });
    check_ok(braid_graph_else(world->graph));
    ADD_GIVEN(world, &other, { world->first, BRAID_EXCLUSIVE });
    check_ok(braid_graph_end(world->graph));
    EXPECT(world, "node 1 'given' writes bytes from 0 to 3 of 'second', 4 times" UNDECLARED,
           "node 4 'given' reads bytes from 0 to 3 of 'second'" UNDECLARED);
}

// What reads the grid is the kernel.
static void reads_of_the_grid_are_accesses(void **state)
{
    struct world *world = *state;
    static const braid_kernel fills = {
        .name = "given",
        .cuda.data = KERNEL("mov.u32 %r0, %ctaid.x;\nmad.wide.u32 %d0, %r0, 4, %a;\n"
                            "st.global.u32 [%d0+68], %r0;\n")
    };
    const uint32_t grid[3] = { 3, 1, 1 };
    memcpy(world->memory, grid, sizeof(grid));
    braid_resource words, part;
    check_ok(braid_graph_add_range(world->graph, world->first, 0, 12, &words));
    check_ok(braid_graph_add_range(world->graph, world->second, 4, 8, &part));
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){
            .kernel = &fills,
            .grid.x = 8,
            .grid_from = world->memory,
            BRAID_ARGS({ &world->memory, sizeof(world->memory), BRAID_ARG_UNCHECKED_POINTER }),
            BRAID_ACCESSES({ words, BRAID_READ }, { part, BRAID_WRITE }) },
        NULL));
    EXPECT(world, "node 0 'given' writes bytes from 12 to 15 of 'second'" UNDECLARED);
}

// The body of an entry with an instruction that the stand-in does not run.
void braid_standin_textured(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args);
void braid_standin_textured(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    memset(*(void **)args[0], 9, 4);
}

static const braid_kernel textured = {
    .name = "textured",
    .cuda.data = HEAD ".entry textured(.param .u64 at)\n{\n.reg .b32 %r<4>;\n"
                      "tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [t, {%r0}];\nret;\n}\n"
};

static void what_is_not_seen_is_named_and_runs(void **state)
{
    struct world *world = *state;
    ADD_GIVEN(world, &textured, { world->second, BRAID_WRITE });
    ADD_GIVEN(world, &textured, { world->first, BRAID_WRITE });
    check_ok(braid_graph_add_queue_call(
        world->graph, &(braid_queue_call){ .call = fill_second, .user = world->memory + BYTES },
        NULL));
    EXPECT(world,
           "node 0 'textured' is not audited: kernel 'textured' cannot tell of its accesses: it "
           "has the instruction 'tex.1d.v4.s32.s32', which tells no address",
           "node 1 'textured' is not audited: kernel 'textured' cannot tell of its accesses: it "
           "has the instruction 'tex.1d.v4.s32.s32', which tells no address",
           "node 2 'queue call' is not audited: the work of its call is not seen");
    const braid_audit_finding *found = &world->findings.items[0].told;
    assert_int_equal(found->kind, BRAID_AUDIT_UNSEEN);
    assert_string_equal(found->kernel, "textured");
    assert_null(found->buffer);
    assert_int_equal(world->memory[0], 9);
    assert_int_equal(world->memory[2 * BYTES - 1], 5);
}

static void add_one(void *word)
{
    ++*(uint32_t *)word;
}

// Only the work of the call is not seen.
static void other_nodes_run_among_the_kernels(void **state)
{
    struct world *world = *state;
    static const braid_kernel doubles = {
        .name = "given",
        .cuda.data = KERNEL("ld.global.u32 %r0, [%a+64];\nadd.u32 %r0, %r0, %r0;\n"
                            "st.global.u32 [%a+64], %r0;\n")
    };
    check_ok(braid_graph_add_fill(world->graph,
                                  &(braid_fill){ .to_resource = world->first,
                                                 .value = 20,
                                                 .value_bytes = 4,
                                                 .num_values = BYTES / 4,
                                                 BRAID_ACCESSES({ world->first, BRAID_WRITE }) },
                                  NULL));
    check_ok(braid_graph_add_copy(world->graph,
                                  &(braid_copy){ .to_resource = world->second,
                                                 .from_resource = world->first,
                                                 .bytes = BYTES,
                                                 BRAID_ACCESSES({ world->first, BRAID_READ },
                                                                { world->second, BRAID_WRITE }) },
                                  NULL));
    check_ok(braid_graph_add_host_call(
        world->graph,
        &(braid_host_call){ .call = add_one,
                            .user = world->memory + BYTES,
                            BRAID_ACCESSES({ world->second, BRAID_READ_WRITE }) },
        NULL));
    ADD_GIVEN(world, &doubles, { world->second, BRAID_READ_WRITE });
    EXPECT(world, "node 2 'host call' is not audited: the work of its call is not seen");
    assert_int_equal(world->findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(*(uint32_t *)(world->memory + BYTES), 42);
}

// Each node tells of its own accesses only, whatever the nodes before it did.
static void nodes_of_many_buffers_tell_in_turn(void **state)
{
    struct world *world = *state;
    static const braid_kernel kernel = { .name = "given",
                                         .cuda.data = KERNEL("st.global.u32 [%a+60], %r0;\n") };
    unsigned char *more;
    void *memory;
    check_ok(braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, MANY * 8, &memory));
    more = memory;
    braid_resource resource;
    for (size_t i = 0; i < MANY; i++)
        check_ok(braid_graph_add_buffer(world->graph, "more", more + 8 * i, 4, &resource));
    for (int i = 0; i < 4; i++)
        ADD_GIVEN(world, &kernel, { i == 1 ? world->first : world->second, BRAID_EXCLUSIVE });
    EXPECT(world, "node 0 'given' writes bytes from 60 to 63 of 'first'" UNDECLARED,
           "node 2 'given' writes bytes from 60 to 63 of 'first'" UNDECLARED,
           "node 3 'given' writes bytes from 60 to 63 of 'first'" UNDECLARED);
    braid_memory_free(world->device, more);
}

static int num_copies;

static void count_copies(const char *function)
{
    num_copies += strstr(function, "Memcpy") != NULL;
}

static int audit_and_count(struct world *world)
{
    num_copies = 0;
    standin_watch(count_copies);
    expect(world, 0, NULL);
    standin_watch(NULL);
    return num_copies;
}

// As long as nothing undeclared is accessed, nodes cost no copies.
static void tables_are_copied_once(void **state)
{
    struct world *world = *state;
    static const braid_kernel kernel = { .name = "given",
                                         .cuda.data = KERNEL("st.global.u32 [%a+60], %r0;\n") };
    ADD_GIVEN(world, &kernel, { world->first, BRAID_WRITE });
    const int num_of_one = audit_and_count(world);
    assert_true(num_of_one > 0);
    for (int i = 0; i < 10; i++)
        ADD_GIVEN(world, &kernel, { world->first, BRAID_WRITE });
    assert_int_equal(audit_and_count(world), num_of_one);
}

// One access may begin and end outside of the declared bytes.
static void bytes_around_declared_ones_are_told(void **state)
{
    struct world *world = *state;
    static const braid_kernel kernel = {
        .name = "given", .cuda.data = KERNEL("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+56];\n")
    };
    static const braid_kernel earlier = {
        .name = "given",
        .cuda.data = KERNEL("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+-8];\n"
                            "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+64];\n")
    };
    braid_resource left, right, begin;
    check_ok(braid_graph_add_range(world->graph, world->first, 59, 2, &left));
    check_ok(braid_graph_add_range(world->graph, world->second, 2, 2, &right));
    ADD_GIVEN(world, &kernel, { left, BRAID_READ });
    ADD_GIVEN(world, &kernel, { world->first, BRAID_READ }, { right, BRAID_READ });
    ADD_GIVEN(world, &kernel, { world->first, BRAID_READ }, { world->second, BRAID_READ });
    check_ok(braid_graph_add_range(world->graph, world->first, 0, 8, &begin));
    ADD_GIVEN(world, &earlier, { begin, BRAID_READ });
    EXPECT(world, "node 0 'given' reads bytes from 56 to 63 of 'first', 2 times" UNDECLARED,
           "node 0 'given' reads bytes from 0 to 7 of 'second'" UNDECLARED,
           "node 1 'given' reads bytes from 0 to 7 of 'second', 2 times" UNDECLARED,
           "node 3 'given' reads bytes from 0 to 15 of 'second'" UNDECLARED);
}

static void count_files(const braid_audit_finding *finding, void *user)
{
    *(size_t *)user += finding->file && finding->kind == BRAID_AUDIT_READS;
}

static void check_allocations(struct world *world, bool orders)
{
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        size_t num = 5, num_files = 0;
        const braid_audit_options options = { .report = count_files,
                                              .user = &num_files,
                                              .orders = orders };
        failing_memory_arm_once(nth);
        braid_status status = braid_graph_audit(world->graph, world->device, &options, &num);
        failed = failing_memory_disarm();
        assert_true(status == BRAID_OK || (failed && status == BRAID_NO_MEMORY));
        assert_int_equal(num, status ? 5 : 3);
        assert_true(status || num_files == 1);
    }
}

static void any_allocation_may_fail(void **state)
{
    struct world *world = *state;
    add_what_may_fail(world);
    ADD_GIVEN(world, &textured, { world->second, BRAID_WRITE });
    check_allocations(world, false);
    check_allocations(world, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_seen_to_their_last_byte),
        TEST(what_is_never_accessed_is_found),
        TEST(accesses_of_all_threads_are_counted),
        TEST(accesses_beside_a_buffer_hide_none),
        TEST(the_lowest_address_is_told),
        TEST(memory_of_the_exec_is_known),
        TEST(accesses_to_wrong_versions_are_found),
        TEST(loops_end_as_the_device_says),
        TEST(reads_of_the_grid_are_accesses),
        TEST(what_is_not_seen_is_named_and_runs),
        TEST(other_nodes_run_among_the_kernels),
        TEST(nodes_of_many_buffers_tell_in_turn),
        TEST(tables_are_copied_once),
        TEST(bytes_around_declared_ones_are_told),
        TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
