// SPDX-License-Identifier: Apache-2.0
// Chains of matrix-vector products: the kernels, and graphs of them.
#include "decode_chain.h"

#include <string.h>

#define HELPERS                                                                                    \
    "static __device__ float low(unsigned v) { return __uint_as_float(v << 16); }\n"               \
    "static __device__ float high(unsigned v) { return __uint_as_float(v & 0xffff0000u); }\n"      \
    "static __device__ __forceinline__ void multiply(const uint4 *__restrict__ weights, const "    \
    "float4 *__restrict__ in, float *__restrict__ out, unsigned rows, unsigned columns, unsigned " \
    "rows_each)\n"                                                                                 \
    "{\n"                                                                                          \
    "    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;\n" \
    "    for (unsigned k = 0; k < rows_each; k++) {\n"                                             \
    "        const unsigned row = warp * rows_each + k;\n"                                         \
    "        if (row < rows) {\n"                                                                  \
    "            const uint4 *values = weights + (unsigned long long)row * columns / 8;\n"         \
    "            float sum = 0;\n"                                                                 \
    "            for (unsigned j = lane; j < columns / 8; j += 32) {\n"                            \
    "                const uint4 v = __ldcs(values + j);\n"                                        \
    "                const float4 a = in[2 * j], b = in[2 * j + 1];\n"                             \
    "                sum += low(v.x) * a.x + high(v.x) * a.y + low(v.y) * a.z + high(v.y) * "      \
    "a.w;\n"                                                                                       \
    "                sum += low(v.z) * b.x + high(v.z) * b.y + low(v.w) * b.z + high(v.w) * "      \
    "b.w;\n"                                                                                       \
    "            }\n"                                                                              \
    "            for (int by = 16; by; by /= 2)\n"                                                 \
    "                sum += __shfl_xor_sync(~0u, sum, by);\n"                                      \
    "            if (lane == 0)\n"                                                                 \
    "                out[row] = sum;\n"                                                            \
    "        }\n"                                                                                  \
    "    }\n"                                                                                      \
    "}\n"
#define CALL "    multiply(weights, in, out, rows, columns, rows_each);\n"
#define HEAD(name)                                                                                 \
    "extern \"C\" __global__ void __launch_bounds__(256) " name                                    \
    "(const uint4 *weights, const float4 *in, float *out, unsigned rows, unsigned columns, "       \
    "unsigned rows_each)\n{\n"

// Weights and values of two bytes; a warp's rows lie one behind the other.
static float widen(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

static void multiply_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const uint16_t *weights = *(const uint16_t *const *)args[0];
    const float *in = *(const float *const *)args[1];
    float *out = *(float *const *)args[2];
    const uint64_t rows = *(const uint32_t *)args[3], columns = *(const uint32_t *)args[4];
    const uint64_t each = (uint64_t)DECODE_WARPS * *(const uint32_t *)args[5];
    for (uint64_t row = blocks->begin * each; row < blocks->end * each && row < rows; row++) {
        float sums[16] = { 0 };
        for (uint64_t j = 0; j < columns; j++)
            sums[j % 16] += widen(weights[row * columns + j]) * in[j];
        out[row] = 0;
        for (int j = 0; j < 16; j++)
            out[row] += sums[j];
    }
}

const braid_kernel decode_product = { .name = "product",
                                      .cpu = multiply_on_cpu,
                                      .source = HELPERS HEAD("product") CALL "}\n" };
const braid_kernel decode_product_early = {
    .name = "product_early",
    .source = HELPERS HEAD(
        "product_early") "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n" CALL
                         "    asm volatile(\"griddepcontrol.launch_dependents;\");\n}\n",
};

static void add_product(struct decode_chain *chain, uint32_t rows, uint32_t columns,
                        uint32_t rows_each)
{
    chain->products[chain->num++] = (struct decode_product){
        .rows = rows, .columns = columns, .rows_each = rows_each, .at = chain->bytes
    };
    chain->bytes += (uint64_t)rows * columns * 2;
}

uint32_t decode_count_blocks(const struct decode_product *one)
{
    return (one->rows + DECODE_WARPS * one->rows_each - 1) / (DECODE_WARPS * one->rows_each);
}

struct decode_chain decode_make_transformer(void)
{
    enum { HIDDEN = 2048, INNER = 8192, WORDS = 128256, LAYERS = 16 };
    struct decode_chain chain = { .name = "transformer, 81 kernels, 2.5 GB" };
    for (int layer = 0; layer < LAYERS; layer++) {
        add_product(&chain, HIDDEN, HIDDEN, 1);     // queries: 256 blocks
        add_product(&chain, HIDDEN / 2, HIDDEN, 2); // keys and values: 64
        add_product(&chain, HIDDEN, HIDDEN, 1);     // output: 256
        add_product(&chain, 2 * INNER, HIDDEN, 1);  // gate and up: 2,048
        add_product(&chain, HIDDEN, INNER, 1);      // down: 256
    }
    add_product(&chain, WORDS, HIDDEN, 1); // 16,032
    return chain;
}

struct decode_chain decode_make_equal(const char *name, uint64_t bytes, uint32_t blocks)
{
    enum { COLUMNS = 2048 };
    struct decode_chain chain = { .name = name };
    uint32_t rows = (uint32_t)(bytes / DECODE_NUM_EQUAL / 2 / COLUMNS);
    for (int i = 0; i < DECODE_NUM_EQUAL; i++)
        add_product(&chain, rows, COLUMNS,
                    (rows + blocks * DECODE_WARPS - 1) / (blocks * DECODE_WARPS));
    return chain;
}

static braid_status add_product_node(braid_graph *graph, const struct decode_chain *chain,
                                     const struct decode_memory *memory, uint32_t i,
                                     braid_resource weights, const braid_resource *vectors)
{
    const struct decode_product *one = &chain->products[i];
    char *at = memory->weights + one->at;
    float *in = memory->vectors[i % 2], *out = memory->vectors[1 - i % 2];
    braid_resource part;
    braid_status status =
        braid_graph_add_range(graph, weights, one->at, 2ull * one->rows * one->columns, &part);
    if (status)
        return status;
    const braid_kernel_node launch = {
        .kernel = &decode_product,
        .grid = { decode_count_blocks(one), 1, 1 },
        .block = { DECODE_THREADS, 1, 1 },
        BRAID_ARGS(BRAID_ARG(at), BRAID_ARG(in), BRAID_ARG(out), BRAID_ARG(one->rows),
                   BRAID_ARG(one->columns), BRAID_ARG(one->rows_each)),
        BRAID_ACCESSES({ part, BRAID_READ }, { vectors[i % 2], BRAID_READ },
                       { vectors[1 - i % 2], BRAID_WRITE }),
    };
    return braid_graph_add_kernel(graph, &launch, NULL);
}

braid_status decode_add_nodes(braid_graph *graph, const struct decode_chain *chain,
                              const struct decode_memory *memory)
{
    braid_resource weights, vectors[2];
    braid_status status =
        braid_graph_add_buffer(graph, "weights", memory->weights, chain->bytes, &weights);
    for (int i = 0; i < 2 && !status; i++)
        status = braid_graph_add_buffer(graph, i ? "odd" : "even", memory->vectors[i],
                                        DECODE_MOST_ROWS * sizeof(float), &vectors[i]);
    for (uint32_t i = 0; i < chain->num && !status; i++)
        status = add_product_node(graph, chain, memory, i, weights, vectors);
    return status;
}
