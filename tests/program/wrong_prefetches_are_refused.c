// SPDX-License-Identifier: Apache-2.0
// The proof of a program refuses each prefetch of bytes that somebody may write, that the next
// kernel does not read, or of which the kernel that fetches is not told when they change.
#include "exec/exec.h"
#include "support/check.h"
#include "verify/verify_program.h"

enum { WORDS = 1024, BYTES = WORDS * sizeof(uint32_t), NUM_KERNELS = 3 };

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void call_nothing(void *user)
{
    (void)user;
}

static const braid_kernel kernel = { .name = "nothing", .cpu = nothing };
static const char *const names[NUM_KERNELS] = { "first", "second", "third" };

// Three kernels in a chain, of which each reads a quarter of the weights. Nobody reads the last.
struct fixture {
    braid_device *device;
    braid_graph *graph;
    uint32_t weights[4 * WORDS], words[NUM_KERNELS + 1];
    braid_resource all, parts[NUM_KERNELS], vectors[NUM_KERNELS + 1];
    braid_node nodes[NUM_KERNELS];
    braid_exec *exec;
    struct plan_prefetch prefetches[NUM_KERNELS + 3];
};

static void open_fixture(struct fixture *fixture)
{
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    *fixture = (struct fixture){ 0 };
    check_ok(braid_device_open(&options, &fixture->device));
    check_ok(braid_graph_create(&fixture->graph));
    check_ok(braid_graph_add_buffer(fixture->graph, "weights", fixture->weights,
                                    sizeof(fixture->weights), &fixture->all));
    for (int i = 0; i <= NUM_KERNELS; i++)
        check_ok(braid_graph_add_buffer(fixture->graph, "vector", fixture->words + i, 4,
                                        &fixture->vectors[i]));
    for (uint32_t i = 0; i < NUM_KERNELS; i++) {
        uint32_t *weights = fixture->weights + (size_t)i * WORDS;
        uint16_t other = 0;
        check_ok(braid_graph_add_range(fixture->graph, fixture->all, (uint64_t)i * BYTES, BYTES,
                                       &fixture->parts[i]));
        const braid_kernel_node launch = {
            .kernel = &kernel,
            .node.name = names[i],
            BRAID_ARGS(BRAID_ARG(weights), BRAID_ARG(other)),
            BRAID_ACCESSES({ fixture->parts[i], BRAID_READ }, { fixture->vectors[i], BRAID_READ },
                           { fixture->vectors[i + 1], BRAID_WRITE }),
        };
        check_ok(braid_graph_add_kernel(fixture->graph, &launch, &fixture->nodes[i]));
    }
}

// The first kernel fetches for the second.
static void make(struct fixture *fixture)
{
    check_ok(braid_exec_create(fixture->device, fixture->graph, NULL, &fixture->exec));
    for (int i = 0; i < NUM_KERNELS + 3; i++)
        fixture->prefetches[i].before = PLAN_NONE;
    fixture->prefetches[0] = (struct plan_prefetch){ .node = 1,
                                                     .before = PLAN_NONE,
                                                     .resource = fixture->parts[1].index,
                                                     .address = fixture->weights + WORDS,
                                                     .bytes = BYTES };
    fixture->prefetches[1].before = 0;
    fixture->exec->tasks.prefetches = fixture->prefetches;
}

static braid_status verify(const struct fixture *fixture)
{
    return braid_program_verify(&fixture->exec->program, fixture->graph, NULL);
}

static void refuse(const struct fixture *fixture, const char *message)
{
    check_fails(verify(fixture), BRAID_INTERNAL, message);
}

static void close_fixture(struct fixture *fixture)
{
    braid_exec_destroy(fixture->exec);
    braid_graph_destroy(fixture->graph);
    check_ok(braid_device_close(fixture->device));
}

static void what_nobody_writes_may_be_fetched(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture);
    make(&fixture);
    check_ok(verify(&fixture));
    fixture.prefetches[0].bytes = BYTES / 2;
    check_ok(verify(&fixture));
    fixture.prefetches[0].address = fixture.weights + 3 * WORDS / 2;
    check_ok(verify(&fixture));
    close_fixture(&fixture);
}

static void each_wrong_value_is_found(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture);
    make(&fixture);
    const struct plan_prefetch right = fixture.prefetches[0];
    struct plan_prefetch *prefetch = &fixture.prefetches[0];
    const char *const reads = "kernel 0 'first' fetches 'weights[4096, 8192)' for node 1 'second', "
                              "and node 1 'second' does not read all of these bytes";
    prefetch->bytes++;
    refuse(&fixture, reads);
    *prefetch = right;
    prefetch->address = fixture.weights + WORDS - 1;
    refuse(&fixture, reads);
    *prefetch = right;
    prefetch->bytes = UINT64_MAX;
    refuse(&fixture, reads);
    *prefetch = right;
    prefetch->argument = 1; // it has two bytes
    refuse(&fixture, "'second' may get another address");
    prefetch->argument = 2;
    refuse(&fixture, "'second' may get another address");
    *prefetch = right;
    fixture.prefetches[1].before = PLAN_NONE;
    refuse(&fixture, "'second' may get another address");
    fixture.prefetches[1].before = 0;
    prefetch->node = 2;
    refuse(&fixture, "node 0 fetches for node 2, which is not behind it");
    *prefetch = right;
    fixture.prefetches[2] = right;
    refuse(&fixture, "node 2 fetches for node 1, which is not behind it");
    close_fixture(&fixture);
}

static void add_fill(const struct fixture *fixture, braid_resource to)
{
    const braid_fill fill = { .to_resource = to,
                              .value_bytes = 1,
                              .num_values = 1,
                              .node.name = "change",
                              BRAID_ACCESSES({ to, BRAID_WRITE }) };
    check_ok(braid_graph_add_fill(fixture->graph, &fill, NULL));
}

static braid_resource add_range(const struct fixture *fixture, uint64_t first, uint64_t num)
{
    braid_resource range;
    check_ok(braid_graph_add_range(fixture->graph, fixture->all, first, num, &range));
    return range;
}

static void check_writer(uint64_t first, uint64_t num, bool in_loop, bool is_refused)
{
    struct fixture fixture;
    open_fixture(&fixture);
    const braid_loop loop = { .node.name = "loop", .times = 2 };
    if (in_loop)
        check_ok(braid_graph_begin_loop(fixture.graph, &loop, NULL));
    add_fill(&fixture, add_range(&fixture, first, num));
    if (in_loop)
        check_ok(braid_graph_end(fixture.graph));
    make(&fixture);
    if (is_refused)
        refuse(&fixture, in_loop ? "and node 4 'change' writes there"
                                 : "kernel 0 'first' fetches 'weights[4096, 8192)' for node "
                                   "1 'second', and node 3 'change' writes there");
    else
        check_ok(verify(&fixture));
    close_fixture(&fixture);
}

static void a_writer_of_any_byte_is_found(void **state)
{
    (void)state;
    check_writer(BYTES, 1, false, true);
    check_writer(2 * BYTES - 1, 1, false, true);
    check_writer(0, 4 * BYTES, false, true);
    check_writer(BYTES - 1, 2, false, true);
    check_writer(BYTES - 1, 1, false, false);
    check_writer(2 * BYTES, 2 * BYTES, false, false);
    check_writer(BYTES, 1, true, true);
}

// A short one that begins behind a long one.
static void a_long_writer_is_found_behind_short_ones(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture);
    add_fill(&fixture, fixture.all);
    add_fill(&fixture, add_range(&fixture, 8, 8));
    make(&fixture);
    refuse(&fixture, "and node 3 'change' writes there");
    close_fixture(&fixture);
}

static void a_node_without_accesses_may_write(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture);
    const braid_host_call call = { .call = call_nothing, .node.name = "host" };
    check_ok(braid_graph_add_host_call(fixture.graph, &call, NULL));
    make(&fixture);
    refuse(&fixture, "'weights[4096, 8192)' for node 1 'second', and node 3 'host' declares no "
                     "access");
    close_fixture(&fixture);
}

// The second kernel reads a buffer of which each frame has another version.
static void versions_are_not_fetched(void **state)
{
    (void)state;
    struct fixture fixture;
    static uint32_t versions[2][WORDS];
    const uint16_t other = 0;
    braid_resource versioned;
    void *const addresses[] = { versions[0], versions[1] };
    open_fixture(&fixture);
    check_ok(
        braid_graph_add_versioned_buffer(fixture.graph, "state", addresses, 2, BYTES, &versioned));
    const braid_kernel_node launch = {
        .kernel = &kernel,
        .node.name = "reader",
        BRAID_ARGS(braid_resource_address(&versioned), BRAID_ARG(other)),
        BRAID_ACCESSES({ versioned, BRAID_READ }, { fixture.vectors[NUM_KERNELS], BRAID_READ }),
    };
    check_ok(braid_graph_add_kernel(fixture.graph, &launch, NULL));
    make(&fixture);
    fixture.prefetches[0].bytes = 0;
    fixture.prefetches[2] = (struct plan_prefetch){ .node = 3,
                                                    .before = PLAN_NONE,
                                                    .resource = versioned.index,
                                                    .address = versions[0],
                                                    .bytes = BYTES };
    fixture.prefetches[3].before = 2;
    refuse(&fixture, "kernel 2 'third' fetches 'state' for node 3 'reader', and node 3 'reader' "
                     "does not read all of these bytes");
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_writes_may_be_fetched),
        cmocka_unit_test(each_wrong_value_is_found),
        cmocka_unit_test(a_writer_of_any_byte_is_found),
        cmocka_unit_test(a_long_writer_is_found_behind_short_ones),
        cmocka_unit_test(a_node_without_accesses_may_write),
        cmocka_unit_test(versions_are_not_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
