// SPDX-License-Identifier: Apache-2.0
// Random graphs of random kernels, whose nodes leave all accesses to their code, write the bytes
// that one node after the other writes. Audits find no access that the code did not declare.
//
// BRAID_TEST_GRAPHS is how many graphs are tried, BRAID_TEST_SEED the seed of the first, and
// BRAID_TEST_AUDITS how many of a hundred are audited.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "accesses/random_kernel.h"
#include "support/check.h"

enum {
    BUFFERS = 7,
    TABLE = 6, // no kernel that is proven uses it
    ALL_BYTES = BUFFERS * KERNEL_BUFFER_BYTES,
    KERNELS = 4,
    MOST_NODES = 12,
    TEXT_BYTES = 1 << 15,
    FRAMES = 2
};

struct arguments {
    const void *own[KERNEL_POINTERS];
    unsigned char all[KERNEL_STRUCT_BYTES];
    uint32_t number;
};

struct node {
    int kernel;
    struct arguments arguments;
    uint32_t lane_hint, place;
    int begins_loop; // how many iterations a loop has that begins here; 0: none does
    bool ends_loop;
};

struct trial {
    struct node nodes[MOST_NODES];
    int num_nodes;
    braid_kernel kernels[KERNELS];
    char texts[KERNELS][TEXT_BYTES];
    bool has_loops, has_places;
    unsigned outputs; // a bit for each buffer; 0: all that is written stays
};

static braid_device *device, *group; // which has the device twice
static braid_stream *stream;
static unsigned char *memory; // all buffers, one behind the other
static uint64_t num_proven, num_unproven, num_audited;

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

static unsigned char *buffer(uint32_t index)
{
    return memory + (size_t)KERNEL_BUFFER_BYTES * index;
}

static const void *pointer_into(uint32_t index)
{
    return buffer(index) + KERNEL_FIRST;
}

// ---- random trials ----

static void choose_arguments(struct random *random, struct arguments *arguments)
{
    const uint32_t numbers[2] = { random_below(random, 8), 0 };
    memset(arguments, 0, sizeof(*arguments));
    for (int i = 0; i < KERNEL_POINTERS; i++)
        arguments->own[i] = pointer_into(random_below(random, TABLE));
    memcpy(arguments->all, numbers, sizeof(numbers));
    for (int i = 0; i < 3; i++) {
        const void *pointer = pointer_into(i == 2 ? TABLE : random_below(random, TABLE));
        memcpy(arguments->all + kernel_struct_places[i], &pointer, sizeof(pointer));
    }
    arguments->number = random_below(random, 8);
}

static void make_trial(struct random *random, struct trial *trial)
{
    int open_nodes = 0;
    trial->num_nodes = 3 + (int)random_below(random, MOST_NODES - 2);
    trial->has_loops = random_chance(random, 20);
    trial->has_places = !trial->has_loops && random_chance(random, 20);
    trial->outputs = random_chance(random, 25) ? 1 + random_below(random, (1 << TABLE) - 1) : 0;
    for (int i = 0; i < KERNELS; i++) {
        random_kernel_write(random, 1, trial->texts[i], TEXT_BYTES);
        trial->kernels[i] = (braid_kernel){ .name = "k", .cuda.data = trial->texts[i] };
    }
    for (int i = 0; i < trial->num_nodes; i++) {
        struct node *node = &trial->nodes[i];
        *node = (struct node){ .kernel = (int)random_below(random, KERNELS) };
        choose_arguments(random, &node->arguments);
        node->lane_hint =
            !trial->has_places && random_chance(random, 30) ? 1 + random_below(random, 3) : 0;
        node->place = trial->has_places ? random_below(random, 3) : 0;
        if (trial->has_loops && !open_nodes && random_chance(random, 30))
            node->begins_loop = 1 + (int)random_below(random, 3);
        open_nodes += open_nodes || node->begins_loop;
        node->ends_loop = open_nodes && (i + 1 == trial->num_nodes || random_chance(random, 40));
        open_nodes = node->ends_loop ? 0 : open_nodes;
    }
}

// ---- graphs ----

static braid_kernel_node describe(const struct trial *trial, const struct node *node,
                                  braid_arg *args)
{
    for (int i = 0; i < KERNEL_POINTERS; i++)
        args[i] = (braid_arg){ &node->arguments.own[i], sizeof(void *) };
    args[KERNEL_POINTERS] = (braid_arg){ node->arguments.all, KERNEL_STRUCT_BYTES };
    args[KERNEL_POINTERS + 1] = (braid_arg){ &node->arguments.number, sizeof(uint32_t) };
    return (braid_kernel_node){ .kernel = &trial->kernels[node->kernel],
                                .node.lane_hint = node->lane_hint,
                                .code_use = BRAID_CODE_DECLARES,
                                .args = args,
                                .num_args = KERNEL_POINTERS + 2 };
}

// An unproven kernel may touch all that its table leads to.
static braid_node add_node(braid_graph *graph, const struct trial *trial, int index,
                           const braid_resource *buffers, bool is_chain, const braid_node *after)
{
    const struct node *node = &trial->nodes[index];
    braid_arg args[KERNEL_POINTERS + 2];
    braid_access accesses[BUFFERS];
    braid_node added;
    braid_kernel_node launch = describe(trial, node, args);
    launch.node.after = after;
    launch.node.num_after = after ? 1 : 0;
    launch.node.place = is_chain ? 0 : node->place;
    for (int i = 0; i < BUFFERS; i++)
        accesses[i] = (braid_access){ buffers[i], BRAID_READ_WRITE };
    const braid_status status = braid_graph_add_kernel(graph, &launch, &added);
    // Where code indexes a struct, numbers in it may look like addresses.
    if (status == BRAID_INVALID_ARGUMENT &&
        (strstr(braid_error_get_message(), "not proven") ||
         strstr(braid_error_get_message(), "argument 3 has an address in no declared buffer"))) {
        launch.code_use = BRAID_CODE_CHECKS;
        launch.node.accesses = accesses;
        launch.node.num_accesses = BUFFERS;
        check_ok(braid_graph_add_kernel(graph, &launch, &added));
        num_unproven++;
    } else {
        check_ok(status);
        num_proven++;
    }
    return added;
}

// Plans leave out what no output needs, but nothing of a chain.
static braid_graph *make_graph(const struct trial *trial, bool is_chain)
{
    braid_graph *graph;
    braid_resource buffers[BUFFERS];
    braid_node before = { 0 }, loop = { 0 };
    char name[8];
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < BUFFERS; i++) {
        snprintf(name, sizeof(name), "b%u", i);
        check_ok(braid_graph_add_buffer(graph, name, buffer(i), KERNEL_BUFFER_BYTES, &buffers[i]));
        check_ok(braid_graph_set_home(graph, buffers[i], BRAID_EVERYWHERE)); // it is host memory
        if (!is_chain && (trial->outputs >> i & 1))
            check_ok(braid_graph_set_output(graph, buffers[i]));
    }
    for (int i = 0; i < trial->num_nodes; i++) {
        const int times = trial->nodes[i].begins_loop;
        const bool follows = is_chain && before.graph;
        if (times) {
            check_ok(braid_graph_begin_loop(graph,
                                            &(braid_loop){ .node.after = follows ? &before : NULL,
                                                           .node.num_after = follows,
                                                           .times = (uint64_t)times },
                                            &loop));
            before = (braid_node){ 0 };
        }
        before = add_node(graph, trial, i, buffers, is_chain, follows && !times ? &before : NULL);
        if (trial->nodes[i].ends_loop) {
            check_ok(braid_graph_end(graph));
            before = loop;
        }
    }
    return graph;
}

static void reset_memory(uint64_t seed)
{
    struct random random = { seed };
    for (size_t i = 0; i < ALL_BYTES; i += sizeof(uint64_t)) {
        const uint64_t bytes = random_next(&random);
        memcpy(memory + i, &bytes, sizeof(bytes));
    }
    for (uint32_t i = 0; i < KERNEL_BUFFERS; i++) {
        const void *pointer = pointer_into(i);
        memcpy(buffer(TABLE) + KERNEL_FIRST + 8 * i, &pointer, sizeof(pointer));
    }
}

static void run(braid_device *on, const braid_graph *graph, const braid_exec_options *options,
                uint64_t seed, unsigned char *out_bytes)
{
    braid_exec *exec;
    check_ok(braid_exec_create(on, graph, options, &exec));
    reset_memory(seed);
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    memcpy(out_bytes, memory, ALL_BYTES);
}

// ---- comparing ----

static uint64_t seed_now;

static void fail_on_undeclared(const braid_audit_finding *finding, void *user)
{
    (void)user;
    if (finding->kind <= BRAID_AUDIT_UPDATES || finding->kind == BRAID_AUDIT_ORDER)
        fail_msg("seed %llu: %s", (unsigned long long)seed_now, finding->text);
}

static void audit(const braid_graph *graph)
{
    size_t num;
    reset_memory(seed_now);
    check_ok(braid_graph_audit(graph, device,
                               &(braid_audit_options){ .report = fail_on_undeclared }, &num));
    num_audited++;
}

static void try_one(struct random *random, struct trial *trial)
{
    static unsigned char expected[ALL_BYTES], found[ALL_BYTES];
    make_trial(random, trial);
    braid_graph *graph = make_graph(trial, false), *chain = make_graph(trial, true);
    const braid_exec_options one = { .mode =
                                         trial->has_loops ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS,
                                     .max_lanes = 1,
                                     .no_rewriting = true };
    // A compiler of islands may be here, or not.
    const braid_exec_options many = { .mode = trial->has_loops || random_chance(random, 70)
                                                  ? BRAID_MODE_AUTO
                                                  : BRAID_MODE_STREAMS,
                                      .max_lanes = 2 + random_below(random, 4),
                                      .ignore_costs = random_chance(random, 50),
                                      .fixed_lanes = random_chance(random, 50),
                                      .frames_in_flight = 1 + random_below(random, 2),
                                      .islands = BRAID_ISLANDS_NEVER,
                                      .no_rewriting = random_chance(random, 80) };
    run(device, chain, &one, seed_now, expected);
    run(trial->has_places ? group : device, graph, &many, seed_now, found);
    for (size_t i = 0; i < ALL_BYTES; i++) {
        const bool is_kept = !trial->outputs || (trial->outputs >> i / KERNEL_BUFFER_BYTES & 1);
        if (is_kept && expected[i] != found[i])
            fail_msg("seed %llu: byte %zu of buffer %zu differs", (unsigned long long)seed_now,
                     i % KERNEL_BUFFER_BYTES, i / KERNEL_BUFFER_BYTES);
    }
    if (random_chance(random, (uint32_t)count_of("BRAID_TEST_AUDITS", 10)))
        audit(graph);
    braid_graph_destroy(graph);
    braid_graph_destroy(chain);
}

static void any_lanes_write_what_one_lane_does(void **state)
{
    (void)state;
    static struct trial trial;
    const uint64_t num = count_of("BRAID_TEST_GRAPHS", 60), seed = count_of("BRAID_TEST_SEED", 1);
    void *all;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    check_ok(braid_device_open_group((braid_device *const[]){ device, device }, 2, &group));
    check_ok(braid_stream_create(device, NULL, &stream));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, ALL_BYTES, &all));
    memory = all;
    for (uint64_t i = 0; i < num; i++) {
        struct random random = { seed + i };
        seed_now = seed + i;
        try_one(&random, &trial);
    }
    print_message("summary: %llu nodes have the accesses of their code, %llu declare them; %llu "
                  "graphs are audited\n",
                  (unsigned long long)num_proven, (unsigned long long)num_unproven,
                  (unsigned long long)num_audited);
    assert_true(num_proven > num_unproven);
    braid_memory_free(device, all);
    braid_stream_destroy(stream);
    check_ok(braid_device_close(group));
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_lanes_write_what_one_lane_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
