// SPDX-License-Identifier: Apache-2.0
// Audits on CUDA that run at once do not mix their findings. Kernels of one module share its
// variables. A kernel that faults is named. Memory outlives the kernels that use it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gpu/audited_world.h"
#include "standin/standin_kernel.h"

enum { NUM_THREADS = 2, TIMES = 40 };

// Writes 500 times behind its first word.
static const braid_kernel writes_long = { .name = "given",
                                          .cuda.data = KERNEL(
                                              "mov.u64 %d0, 0;\nagain:\nld.global.u32 %r0, [%a];\n"
                                              "st.global.u32 [%a+4], %r0;\nadd.u64 %d0, %d0, 1;\n"
                                              "setp.lt.u64 %p, %d0, 500;\n@%p bra again;\n") };

struct audits {
    braid_device *device;
    uint32_t *memory;
    int num_wrong;
    pthread_barrier_t *meeting;
};

// Audits of devices run at once.
static braid_status meet(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    pthread_barrier_wait(user);
    return BRAID_OK;
}

static void count_wrong(const braid_audit_finding *finding, void *user)
{
    struct audits *audits = user;
    bool is_right = finding->kind == BRAID_AUDIT_UNSEEN ||
                    (finding->kind == BRAID_AUDIT_WRITES && finding->num == 500 &&
                     finding->address == audits->memory + 1);
    audits->num_wrong += !is_right;
}

static void *audit_again_and_again(void *user)
{
    struct audits *audits = user;
    for (int i = 0; i < TIMES; i++) {
        braid_graph *graph = NULL;
        braid_resource buffer;
        size_t num = 0;
        braid_status status = braid_graph_create(&graph);
        if (!status)
            status = braid_graph_add_buffer(graph, "own", audits->memory, 64, &buffer);
        if (!status)
            status = braid_graph_add_queue_call(
                graph, &(braid_queue_call){ .call = meet, .user = audits->meeting }, NULL);
        if (!status)
            status = braid_graph_add_kernel(
                graph,
                &(braid_kernel_node){ .kernel = &writes_long,
                                      BRAID_ARGS({ &audits->memory, sizeof(audits->memory),
                                                   BRAID_ARG_UNCHECKED_POINTER }),
                                      BRAID_ACCESSES({ buffer, BRAID_READ }) },
                NULL);
        if (!status)
            status = braid_graph_audit(
                graph, audits->device,
                &(braid_audit_options){ .report = count_wrong, .user = audits }, &num);
        audits->num_wrong += status || num != 2;
        braid_graph_destroy(graph);
    }
    return NULL;
}

static void audits_at_once_have_findings_of_their_own(void **state)
{
    struct world *world = *state;
    struct audits audits[NUM_THREADS];
    pthread_t threads[NUM_THREADS];
    pthread_barrier_t meeting;
    assert_int_equal(pthread_barrier_init(&meeting, NULL, NUM_THREADS), 0);
    for (int i = 0; i < NUM_THREADS; i++) {
        void *memory;
        check_ok(braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, 64, &memory));
        memset(memory, 0, 64);
        audits[i] =
            (struct audits){ .device = world->device, .memory = memory, .meeting = &meeting };
    }
    for (int i = 0; i < NUM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, audit_again_and_again, &audits[i]), 0);
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < NUM_THREADS; i++) {
        assert_int_equal(audits[i].num_wrong, 0);
        braid_memory_free(world->device, audits[i].memory);
    }
    pthread_barrier_destroy(&meeting);
    assert_int_equal(standin_bad_accesses(), 0);
}

static const char keeps_word[] =
    HEAD ".global .u32 kept;\n"
         ".visible .entry put(.param .u64 at)\n{\n.reg .b32 %r;\nmov.u32 %r, 42;\n"
         "st.global.u32 [kept], %r;\nret;\n}\n"
         ".visible .entry get(.param .u64 at)\n{\n.reg .b32 %r;\n.reg .b64 %a;\n"
         "ld.param.u64 %a, [at];\nld.global.u32 %r, [kept];\nst.global.u32 [%a], %r;\nret;\n}\n";

static int num_modules;

static void count_modules(const char *text)
{
    if (!strstr(text, "braid_audit_table"))
        return;
    num_modules++;
    assert_non_null(strstr(text, ".maxntid 512, 1, 1"));
}

// They are loaded from one module, for the largest block.
static void kernels_of_any_block_share_their_variables(void **state)
{
    struct world *world = *state;
    static const braid_kernel put = { .name = "put", .cuda.data = keeps_word };
    static const braid_kernel get = { .name = "get", .cuda.data = keeps_word };
    const braid_access access = { world->first, BRAID_EXCLUSIVE };
    add(world, &put, 100, &access, 1);
    add(world, &get, 300, &access, 1);
    num_modules = 0;
    standin_watch_modules(count_modules);
    audit(world->device, world->graph, &world->findings);
    standin_watch_modules(NULL);
    assert_int_equal(world->findings.num, 0);
    assert_int_equal(num_modules, 1);
}

// Both transient buffers would lie at one address in a frame.
static void transients_that_would_share_memory_are_told_apart(void **state)
{
    struct world *world = *state;
    static const braid_kernel writes = { .name = "given",
                                         .cuda.data = KERNEL("st.global.u32 [%a+4], %r0;\n") };
    for (int i = 0; i < 2; i++) {
        braid_resource transient;
        check_ok(
            braid_graph_add_transient(world->graph, i ? "later" : "sooner", 64, 0, &transient));
        check_ok(braid_graph_add_kernel(
            world->graph,
            &(braid_kernel_node){ .kernel = &writes,
                                  BRAID_ARGS(BRAID_OUT(transient)),
                                  BRAID_ACCESSES({ world->first, BRAID_EXCLUSIVE }) },
            NULL));
        check_ok(braid_graph_add_kernel(
            world->graph,
            &(braid_kernel_node){ .kernel = &writes,
                                  .code_use = BRAID_CODE_UNREAD,
                                  BRAID_ARGS(BRAID_IN(transient)),
                                  BRAID_ACCESSES({ world->first, BRAID_EXCLUSIVE }) },
            NULL));
    }
    audit(world->device, world->graph, &world->findings);
    const char *found[2] = { NULL, NULL };
    for (size_t i = 0; i < world->findings.num; i++) {
        const struct finding *finding = &world->findings.items[i];
        if (finding->told.kind == BRAID_AUDIT_WRITES)
            found[finding->told.node.index / 2] = finding->text;
    }
    assert_string_equal(found[0], "node 1 'given' writes bytes from 4 to 7 of 'sooner', which it "
                                  "does not declare");
    assert_string_equal(found[1], "node 3 'given' writes bytes from 4 to 7 of 'later', which it "
                                  "does not declare");
}

void braid_standin_faulty(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args);
void braid_standin_faulty(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    standin_trap(700);
}

static const braid_kernel faulty = { .name = "faulty",
                                     .cuda.data =
                                         HEAD ".entry faulty(.param .u64 at)\n{\nret;\n}\n" };

static void a_kernel_that_faults_is_named(void **state)
{
    struct world *world = *state;
    static const braid_kernel reads = { .name = "given",
                                        .cuda.data = KERNEL("ld.global.u32 %r0, [%a];\n") };
    size_t num = 5;
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 3 }, NULL));
    ADD_GIVEN(world, &reads, { world->first, BRAID_READ });
    check_ok(braid_graph_end(world->graph));
    ADD_GIVEN(world, &faulty, { world->first, BRAID_READ });
    ADD_GIVEN(world, &reads, { world->first, BRAID_READ });
    check_fails(braid_graph_audit(world->graph, world->device, NULL, &num), BRAID_DEVICE_ERROR,
                "node 2 'faulty': ");
    assert_int_equal(num, 5);
    standin_forget_faults();
}

// Accesses that no node has made yet may follow the fault.
static void findings_before_a_fault_are_told(void **state)
{
    struct world *world = *state;
    static const braid_kernel writes = {
        .name = "given",
        .cuda.data = KERNEL(".loc 1 7 1\nst.global.u32 [%a], %r0;\n.loc 1 8 1\n"
                            "ld.global.u32 %r0, [%a+64];\n") ".file 1 \"early.cu\"\n"
    };
    static const braid_kernel only_declared = {
        .name = "given",
        .cuda.data = KERNEL(".loc 1 9 1\nst.global.u32 [%a+4], %r0;\n") ".file 1 \"late.cu\"\n"
    };
    struct findings *findings = &world->findings;
    size_t num = 5;
    findings->num = 0;
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 3 }, NULL));
    ADD_GIVEN(world, &writes, { world->first, BRAID_READ });
    check_ok(braid_graph_end(world->graph));
    ADD_GIVEN(world, &only_declared, { world->first, BRAID_READ }, { world->second, BRAID_READ });
    ADD_GIVEN(world, &faulty, { world->first, BRAID_READ });
    check_fails(
        braid_graph_audit(world->graph, world->device,
                          &(braid_audit_options){ .report = keep_finding, .user = findings }, &num),
        BRAID_DEVICE_ERROR, "node 3 'faulty': ");
    assert_int_equal(num, 5);
    assert_int_equal(findings->num, 3);
    assert_string_equal(findings->items[0].text,
                        "node 1 'given' reads bytes from 0 to 3 of 'second', 3 times, which it "
                        "does not declare (early.cu:8)");
    assert_string_equal(findings->items[1].text,
                        "node 1 'given' writes bytes from 0 to 3 of 'first', 3 times, which it "
                        "does not declare (early.cu:7)");
    assert_string_equal(findings->items[2].text,
                        "node 2 'given' writes bytes from 4 to 7 of 'first', which it does not "
                        "declare (late.cu:9)");
    standin_forget_faults();
}

// ---- a copy that fails ----

static int num_copies; // the second one takes the findings
static bool has_waited, has_freed_early;

static void note_steps(const char *function)
{
    num_copies += strstr(function, "cuMemcpyAsync") != NULL;
    if (num_copies == 2 && strstr(function, "cuStreamSynchronize"))
        has_waited = true;
    if (num_copies == 2 && strstr(function, "Free") && !has_waited)
        has_freed_early = true;
}

static void memory_stays_until_kernels_have_ended(void **state)
{
    struct world *world = *state;
    size_t num = 5;
    ADD_GIVEN(world, &writes_long, { world->first, BRAID_READ_WRITE });
    fail_calls("cuMemcpyAsync:2=2");
    num_copies = 0;
    has_waited = has_freed_early = false;
    standin_watch(note_steps);
    check_fails(braid_graph_audit(world->graph, world->device, NULL, &num), BRAID_NO_MEMORY,
                "copy 'a copy of an audit'");
    standin_watch(NULL);
    fail_calls(NULL);
    assert_true(has_waited);
    assert_false(has_freed_early);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(audits_at_once_have_findings_of_their_own),
        TEST(kernels_of_any_block_share_their_variables),
        TEST(transients_that_would_share_memory_are_told_apart),
        TEST(a_kernel_that_faults_is_named),
        TEST(findings_before_a_fault_are_told),
        TEST(memory_stays_until_kernels_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
