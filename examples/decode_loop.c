// SPDX-License-Identifier: Apache-2.0
// A decode loop of twelve layers whose position is one parameter: it has how far the caches reach,
// how many blocks attend, and where each layer appends. In the prompt sampling is disabled.
#include "check.h"

enum { LAYERS = 12, WIDTH = 32, TOKENS = 96, PROMPT = 8, BLOCK = 16 };

// What changes with every token: how long the caches are with it, in blocks of BLOCK positions too.
struct position {
    uint32_t length, blocks, samples;
    float *rows[LAYERS]; // in the caches, where the token goes
};

static float caches[LAYERS][TOKENS][WIDTH], state[WIDTH] = { 1 }, sums[TOKENS / BLOCK][WIDTH];
static float tokens[TOKENS], *next = tokens;

// Each block adds up its positions, weighted by how near they are.
static void attend_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float(*cache)[WIDTH] = *(const float(*const *)[WIDTH])args[0];
    uint32_t length = *(const uint32_t *)args[1];
    for (uint64_t block = blocks->begin; block < blocks->end; block++)
        for (int i = 0; i < WIDTH; i++) {
            sums[block][i] = 0;
            for (uint64_t at = block * BLOCK; at < (block + 1) * BLOCK && at < length; at++)
                sums[block][i] += cache[at][i] / (float)(length - at);
        }
}

static void mix_on_cpu(const braid_blocks *blocks, void *const *args)
{
    uint32_t num = *(const uint32_t *)args[0];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        for (uint32_t block = 0; block < num; block++)
            state[i] = 0.5f * (state[i] + 0.5f * sums[block][i]);
}

static void sample(void *user)
{
    *next++ = *(float *)user;
}

static const braid_kernel attend = { .name = "attend", .cpu = attend_on_cpu };
static const braid_kernel mix = { .name = "mix", .cpu = mix_on_cpu };
static braid_graph *graph;
static braid_parameter position;
static braid_resource the_state, the_sums;

static void use(braid_node node, braid_target target, size_t argument, size_t offset, size_t bytes)
{
    const braid_parameter_use how = { node, argument, 0, offset, bytes, target };
    CHECK(braid_graph_use_parameter(graph, position, &how));
}

// Appends the state to the cache, attends to all of it, and mixes what that gives into the state.
static void add_layer(int layer)
{
    uint32_t length = 1;
    braid_node append, attention, mixed;
    braid_resource rows;
    CHECK(braid_graph_add_buffer(graph, "cache", caches[layer], sizeof(caches[layer]), &rows));
    const braid_copy copy = { BRAID_ACCESSES({ the_state, BRAID_READ }, { rows, BRAID_READ_WRITE }),
                              .node.cost_ns = 500, .to = caches[layer], .from = state,
                              .bytes = sizeof(state) };
    const braid_kernel_node attending = { BRAID_ARGS(BRAID_IN(rows), BRAID_ARG(length)),
                                          BRAID_ACCESSES({ the_sums, BRAID_WRITE }),
                                          .node.cost_ns = 2000, .kernel = &attend };
    const braid_kernel_node mixing = {
        BRAID_ACCESSES({ the_sums, BRAID_READ }, { the_state, BRAID_READ_WRITE }),
        BRAID_ARGS(BRAID_ARG(length)), .node.cost_ns = 1500, .kernel = &mix, .grid.x = WIDTH
    };
    CHECK(braid_graph_add_copy(graph, &copy, &append));
    CHECK(braid_graph_add_kernel(graph, &attending, &attention));
    CHECK(braid_graph_add_kernel(graph, &mixing, &mixed));
    const size_t row = offsetof(struct position, rows) + (size_t)layer * sizeof(float *);
    use(append, BRAID_TARGET_TO, 0, row, sizeof(float *));
    use(attention, BRAID_TARGET_ARGUMENT, 1, offsetof(struct position, length), 4);
    use(attention, BRAID_TARGET_GRID_X, 0, offsetof(struct position, blocks), 4);
    use(mixed, BRAID_TARGET_ARGUMENT, 0, offsetof(struct position, blocks), 4);
}

// Nothing is waited for: each frame in flight keeps the position it was launched with.
static void decode(braid_exec *exec)
{
    for (uint32_t i = 0; i < TOKENS; i++) {
        struct position now = { i + 1, i / BLOCK + 1, i >= PROMPT, { NULL } };
        for (int layer = 0; layer < LAYERS; layer++)
            now.rows[layer] = caches[layer][i];
        CHECK(braid_exec_set_parameter(exec, position, &now));
        CHECK(braid_exec_launch(exec, NULL));
    }
    CHECK(braid_exec_wait(exec));
}

int main(int argc, char **argv)
{
    braid_node node;
    braid_device *device;
    braid_exec *exec;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_buffer(graph, "state", state, sizeof(state), &the_state));
    CHECK(braid_graph_add_buffer(graph, "sums", sums, sizeof(sums), &the_sums));
    CHECK(braid_graph_add_parameter(graph, "position", sizeof(struct position), &position));
    for (int layer = 0; layer < LAYERS; layer++)
        add_layer(layer);
    const braid_host_call sampling = { BRAID_ACCESSES({ the_state, BRAID_READ }),
                                       .node.cost_ns = 500, .call = sample, .user = state };
    CHECK(braid_graph_add_host_call(graph, &sampling, &node));
    use(node, BRAID_TARGET_ENABLED, 0, offsetof(struct position, samples), 4);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    decode(exec);
    printf("%d tokens, %g to %g\n", (int)(next - tokens), (double)tokens[0], (double)next[-1]);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return next == tokens + TOKENS - PROMPT && next[-1] < tokens[0] ? EXIT_SUCCESS : EXIT_FAILURE;
}
