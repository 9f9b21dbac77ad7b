// SPDX-License-Identifier: Apache-2.0
// A decode loop of twelve layers whose position is one parameter: it has how far the caches reach,
// how many blocks attend, and where each layer appends. In the prompt sampling is disabled.
#include "check.h"

enum { LAYERS = 12, WIDTH = 32, TOKENS = 96, PROMPT = 8, BLOCK = 16 };

// What changes with every token. The rows of the caches follow from the position.
struct position {
    uint32_t length; // of the caches, with this token
    uint32_t blocks; // of BLOCK positions
    uint32_t samples;
    float *rows[LAYERS];
};

static float caches[LAYERS][TOKENS][WIDTH], state[WIDTH] = { 1 }, sums[TOKENS / BLOCK][WIDTH];
static float tokens[TOKENS];

// Each block adds up its positions, weighted by how near they are.
static void attend_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float(*cache)[WIDTH] = *(const float(*const *)[WIDTH])args[0];
    uint32_t length = *(const uint32_t *)args[1];
    for (uint64_t block = blocks->begin; block < blocks->end; block++) {
        for (int i = 0; i < WIDTH; i++)
            sums[block][i] = 0;
        for (uint64_t at = block * BLOCK; at < (block + 1) * BLOCK && at < length; at++)
            for (int i = 0; i < WIDTH; i++)
                sums[block][i] += cache[at][i] / (float)(length - at);
    }
}

static void mix_on_cpu(const braid_blocks *blocks, void *const *args)
{
    uint32_t length = *(const uint32_t *)args[0];
    (void)blocks; // one block
    for (int i = 0; i < WIDTH; i++)
        for (uint32_t block = 0; block * BLOCK < length; block++)
            state[i] = 0.5f * (state[i] + 0.5f * sums[block][i]);
}

static void sample_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    tokens[*(const uint32_t *)args[0] - 1] = state[0];
}

static const braid_kernel attend = { .name = "attend", .cpu = attend_on_cpu };
static const braid_kernel mix = { .name = "mix", .cpu = mix_on_cpu };
static const braid_kernel sample = { .name = "sample", .cpu = sample_on_cpu };

struct model {
    braid_graph *graph;
    braid_parameter position;
    braid_resource state, sums;
};

static void use(const struct model *model, braid_node node, braid_target target, size_t argument,
                size_t offset, size_t bytes)
{
    CHECK(braid_graph_use_parameter(model->graph, model->position,
                                    &(braid_parameter_use){ .node = node,
                                                            .target = target,
                                                            .argument = argument,
                                                            .offset = offset,
                                                            .bytes = bytes }));
}

// Appends the state to the cache, attends to all of it, and mixes what that gives into the state.
static void add_layer(const struct model *model, int layer)
{
    float(*cache)[WIDTH] = caches[layer];
    uint32_t length = 1;
    braid_node append, attention, mixed;
    braid_resource rows;
    CHECK(braid_graph_add_buffer(model->graph, "cache", cache, sizeof(caches[layer]), &rows));
    CHECK(braid_graph_add_copy(
        model->graph,
        &(braid_copy){ .node.name = "append",
                       .to = cache,
                       .from = state,
                       .bytes = sizeof(state),
                       BRAID_ACCESSES({ model->state, BRAID_READ }, { rows, BRAID_READ_WRITE }) },
        &append));
    CHECK(braid_graph_add_kernel(
        model->graph,
        &(braid_launch){ .kernel = &attend,
                         BRAID_ARGS(BRAID_ARG(cache), BRAID_ARG(length)),
                         BRAID_ACCESSES({ rows, BRAID_READ }, { model->sums, BRAID_WRITE }) },
        &attention));
    CHECK(braid_graph_add_kernel(
        model->graph,
        &(braid_launch){
            .kernel = &mix,
            BRAID_ARGS(BRAID_ARG(length)),
            BRAID_ACCESSES({ model->sums, BRAID_READ }, { model->state, BRAID_READ_WRITE }) },
        &mixed));
    size_t row = offsetof(struct position, rows) + (size_t)layer * sizeof(float *);
    use(model, append, BRAID_TARGET_TO, 0, row, sizeof(float *));
    use(model, attention, BRAID_TARGET_ARGUMENT, 1, offsetof(struct position, length), 4);
    use(model, attention, BRAID_TARGET_GRID_X, 0, offsetof(struct position, blocks), 4);
    use(model, mixed, BRAID_TARGET_ARGUMENT, 0, offsetof(struct position, length), 4);
}

// Nothing is waited for: each frame in flight keeps the position it was launched with.
static void decode(braid_exec *exec, braid_parameter parameter)
{
    for (uint32_t i = 0; i < TOKENS; i++) {
        struct position position = { i + 1, i / BLOCK + 1, i >= PROMPT, { NULL } };
        for (int layer = 0; layer < LAYERS; layer++)
            position.rows[layer] = caches[layer][i];
        CHECK(braid_exec_set_param(exec, parameter, &position));
        CHECK(braid_exec_launch(exec, NULL));
    }
    CHECK(braid_exec_wait(exec));
}

int main(int argc, char **argv)
{
    uint32_t length = 1;
    struct model model;
    braid_node sampling;
    braid_device *device;
    braid_exec *exec;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&model.graph));
    CHECK(braid_graph_add_buffer(model.graph, "state", state, sizeof(state), &model.state));
    CHECK(braid_graph_add_buffer(model.graph, "sums", sums, sizeof(sums), &model.sums));
    CHECK(braid_graph_add_parameter(model.graph, "position", sizeof(struct position),
                                    &model.position));
    for (int layer = 0; layer < LAYERS; layer++)
        add_layer(&model, layer);
    CHECK(braid_graph_add_kernel(model.graph,
                                 &(braid_launch){ .kernel = &sample,
                                                  BRAID_ARGS(BRAID_ARG(length)),
                                                  BRAID_ACCESSES({ model.state, BRAID_READ }) },
                                 &sampling));
    use(&model, sampling, BRAID_TARGET_ARGUMENT, 0, offsetof(struct position, length), 4);
    use(&model, sampling, BRAID_TARGET_ENABLED, 0, offsetof(struct position, samples), 4);
    CHECK(braid_exec_create(device, model.graph, NULL, &exec));
    write_picture(braid_exec_schedule(exec), argc > 1 ? argv[1] : NULL);
    decode(exec, model.position);
    float prompt = tokens[PROMPT - 1], first = tokens[PROMPT], last = tokens[TOKENS - 1];
    printf("%g in the prompt, then %g to %g\n", (double)prompt, (double)first, (double)last);
    braid_exec_destroy(exec);
    braid_graph_destroy(model.graph);
    braid_device_close(device);
    return prompt == 0 && first > 0 && last > 0 && last < first ? EXIT_SUCCESS : EXIT_FAILURE;
}
