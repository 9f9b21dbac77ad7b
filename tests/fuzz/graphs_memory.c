// SPDX-License-Identifier: Apache-2.0
// Parameters, and kernels with memory of a frame's own: scratch, transient and versioned buffers.
#include "fuzz/graphs.h"

enum { scratch_words = 16 };

void subject_open_parameters(struct subject *subject)
{
    fuzz_expect_status(
        braid_graph_add_parameter(subject->graph, "token", sizeof(uint32_t), &subject->token),
        BRAID_OK);
    fuzz_expect_status(
        braid_graph_add_parameter(subject->graph, "number", sizeof(uint32_t), &subject->number),
        BRAID_OK);
}

void subject_use_parameter(struct subject *subject, uint32_t node, braid_node handle)
{
    bool valid = node < subject->model.num_nodes && subject->model.nodes[node].kind == ORDER_KERNEL;
    fuzz_expect_status(
        braid_graph_use_parameter(subject->graph, subject->token,
                                  &(braid_parameter_use){ .node = handle, .argument = 1 }),
        valid ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    if (valid)
        subject->token_users |= UINT64_C(1) << node;
}

void subject_set_token(struct subject *subject, struct random *input, braid_exec *exec)
{
    uint32_t token = random_byte(input) + 1;
    fuzz_expect_status(braid_exec_set_parameter(exec, subject->token, &token), BRAID_OK);
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        if (subject->token_users >> i & 1)
            subject->work[i].token = token;
}

// One block, behind node `after` if there is that: the model has the order from the edge, since no
// other node knows the memory.
static uint32_t add_kernel(struct subject *subject, enum subject_memory memory,
                           const uint32_t *after, braid_access *accesses, size_t num_accesses)
{
    uint32_t place = subject->model.num_nodes++;
    struct subject_work *work = &subject->work[place];
    *work = (struct subject_work){
        .subject = subject, .node = place, .num_blocks = 1, .memory = memory
    };
    subject->model.nodes[place] = (struct order_node){ .kind = ORDER_KERNEL,
                                                       .role = ORDER_MAIN,
                                                       .main = place,
                                                       .after = after ? UINT64_C(1) << *after : 0 };
    const braid_resource *other = &accesses[num_accesses - 1].resource;
    braid_kernel_node launch = {
        .kernel = &subject_memory_kernel,
        BRAID_ARGS(BRAID_ARG(work), BRAID_ARG(work->token), BRAID_ARG(work->token),
                   braid_resource_address(&accesses[0].resource), braid_resource_address(other))
    };
    launch.node.after = after ? &subject->handles[*after] : NULL;
    launch.node.num_after = after ? 1 : 0;
    launch.node.accesses = memory == MEMORY_SCRATCH ? NULL : accesses;
    launch.node.num_accesses = memory == MEMORY_SCRATCH ? 0 : num_accesses;
    fuzz_expect_status(braid_graph_add_kernel(subject->graph, &launch, &subject->handles[place]),
                       BRAID_OK);
    fuzz_expect_status(
        braid_graph_use_parameter(
            subject->graph, subject->number,
            &(braid_parameter_use){ .node = subject->handles[place], .argument = 2 }),
        BRAID_OK);
    return place;
}

static void add_versioned(struct subject *subject, uint32_t num_versions)
{
    braid_access accesses[2] = { { .mode = BRAID_WRITE }, { .mode = BRAID_READ } };
    fuzz_expect_status(braid_graph_add_versioned_buffer(subject->graph, "state", NULL, num_versions,
                                                        sizeof(uint32_t), &accesses[0].resource),
                       BRAID_OK);
    fuzz_expect_status(braid_graph_add_earlier_version(subject->graph, accesses[0].resource, 1,
                                                       &accesses[1].resource),
                       BRAID_OK);
    add_kernel(subject, MEMORY_COUNTS, NULL, accesses, 2);
}

static void add_transient(struct subject *subject, uint64_t bytes)
{
    braid_access access = { .mode = BRAID_WRITE };
    fuzz_expect_status(
        braid_graph_add_transient(subject->graph, "picture", bytes, 0, &access.resource), BRAID_OK);
    uint32_t writer = add_kernel(subject, MEMORY_WRITES, NULL, &access, 1);
    access.mode = BRAID_READ;
    add_kernel(subject, MEMORY_READS, &writer, &access, 1);
}

static void add_scratch(struct subject *subject)
{
    braid_access access = { .mode = BRAID_WRITE };
    fuzz_expect_status(braid_graph_add_scratch(subject->graph, "scratch",
                                               scratch_words * sizeof(uint32_t), 0,
                                               &access.resource),
                       BRAID_OK);
    add_kernel(subject, MEMORY_SCRATCH, NULL, &access, 1);
}

void subject_add_memory(struct subject *subject, struct random *input)
{
    if (subject->model.num_nodes + 2 > order_max_nodes)
        return;
    uint32_t choice = random_byte(input);
    if (choice % 3 == 0)
        add_versioned(subject, 2 + choice % 2);
    else if (choice % 3 == 1)
        add_transient(subject, 4 + choice);
    else
        add_scratch(subject);
}

static void use_scratch(uint32_t *scratch, uint32_t mark)
{
    for (uint32_t i = 0; i < scratch_words; i++)
        ((volatile uint32_t *)scratch)[i] = mark + i;
    for (uint32_t i = 0; i < scratch_words; i++)
        fuzz_expect(((volatile uint32_t *)scratch)[i] == mark + i);
}

void subject_use_memory(const struct subject_work *work, void *const *args, uint64_t count)
{
    if (work->memory == MEMORY_NONE)
        return;
    uint32_t number = *(const uint32_t *)args[2];
    uint32_t *own = *(uint32_t *const *)args[3];
    const uint32_t *other = *(const uint32_t *const *)args[4];
    if (work->memory == MEMORY_SCRATCH)
        use_scratch(own, work->node << 16 | number << 8);
    else if (work->memory == MEMORY_WRITES)
        *own = number;
    else if (work->memory == MEMORY_READS)
        fuzz_expect(*own == number);
    else
        *own = *other + 1;
    if (work->memory == MEMORY_COUNTS && count) // if all frames were whole
        fuzz_expect(*own == count);
}
