// SPDX-License-Identifier: Apache-2.0
// Tiled Cholesky: kernels and tasks.
#include "gpu/places_cholesky.h"

#include <math.h>

#include "standin/standin_kernel.h"

static const char source[] =
    "extern \"C\" __global__ void places_potrf(float *a, unsigned n)\n"
    "{\n"
    "    for (unsigned j = 0; j < n; j++) {\n"
    "        float d = sqrtf(a[j * n + j]);\n"
    "        unsigned m = n - j - 1;\n"
    "        __syncthreads();\n"
    "        for (unsigned i = j + threadIdx.x; i < n; i += blockDim.x)\n"
    "            a[i * n + j] = i == j ? d : a[i * n + j] / d;\n"
    "        __syncthreads();\n"
    "        for (unsigned t = threadIdx.x; t < m * m; t += blockDim.x) {\n"
    "            unsigned i = j + 1 + t / m, k = j + 1 + t % m;\n"
    "            if (k <= i)\n"
    "                a[i * n + k] -= a[i * n + j] * a[k * n + j];\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void places_trsm(float *a, const float *l, unsigned n)\n"
    "{\n"
    "    __shared__ float x;\n"
    "    unsigned t = threadIdx.x;\n"
    "    float value = a[blockIdx.x * n + t];\n"
    "    for (unsigned j = 0; j < n; j++) {\n"
    "        if (t == j) {\n"
    "            value /= l[j * n + j];\n"
    "            x = value;\n"
    "        }\n"
    "        __syncthreads();\n"
    "        if (t > j)\n"
    "            value -= x * l[t * n + j];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    a[blockIdx.x * n + t] = value;\n"
    "}\n"
    "extern \"C\" __global__ void places_gemm(float *c, const float *a, const float *b, unsigned "
    "n)\n"
    "{\n"
    "    __shared__ float s[16][17], r[16][17];\n"
    "    unsigned x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * 16;\n"
    "    unsigned i = blockIdx.y * 16 + y;\n"
    "    float sum = 0;\n"
    "    for (unsigned k = 0; k < n; k += 16) {\n"
    "        s[y][x] = a[i * n + k + x];\n"
    "        r[y][x] = b[(first + y) * n + k + x];\n"
    "        __syncthreads();\n"
    "        for (unsigned q = 0; q < 16; q++)\n"
    "            sum += s[y][q] * r[x][q];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    c[i * n + first + x] -= sum;\n"
    "}\n";

static void potrf(void *const *args)
{
    float *a = *(float **)args[0];
    uint32_t n = *(const uint32_t *)args[1];
    for (uint32_t j = 0; j < n; j++) {
        float d = sqrtf(a[j * n + j]);
        for (uint32_t i = j; i < n; i++)
            a[i * n + j] = i == j ? d : a[i * n + j] / d;
        for (uint32_t i = j + 1; i < n; i++)
            for (uint32_t k = j + 1; k <= i; k++)
                a[i * n + k] -= a[i * n + j] * a[k * n + j];
    }
}

static void trsm(void *const *args)
{
    float *a = *(float **)args[0];
    const float *l = *(const float **)args[1];
    uint32_t n = *(const uint32_t *)args[2];
    for (uint32_t row = 0; row < n; row++)
        for (uint32_t j = 0; j < n; j++) {
            a[row * n + j] /= l[j * n + j];
            for (uint32_t t = j + 1; t < n; t++)
                a[row * n + t] -= a[row * n + j] * l[t * n + j];
        }
}

static void gemm(void *const *args)
{
    float *c = *(float **)args[0];
    const float *a = *(const float **)args[1], *b = *(const float **)args[2];
    uint32_t n = *(const uint32_t *)args[3];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            float sum = 0;
            for (uint32_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[j * n + k];
            c[i * n + j] -= sum;
        }
}

// Whoever has the first block does it all: the CPU is there to check the tasks by.
#define KERNEL(name)                                                                               \
    static void name##_on_cpu(const braid_blocks *blocks, void *const *args)                       \
    {                                                                                              \
        if (blocks->begin == 0)                                                                    \
            name(args);                                                                            \
    }                                                                                              \
    __attribute__((visibility("default"))) void braid_standin_places_##name(                       \
        const unsigned grid[3], const unsigned block[3], unsigned shared_bytes, void **args);      \
    void braid_standin_places_##name(const unsigned grid[3], const unsigned block[3],              \
                                     unsigned shared_bytes, void **args)                           \
    {                                                                                              \
        (void)grid, (void)block, (void)shared_bytes;                                               \
        name(args);                                                                                \
    }
KERNEL(potrf)
KERNEL(trsm)
KERNEL(gemm)
#undef KERNEL

const braid_kernel cholesky_kernels[CHOLESKY_NUM_KINDS] = {
    { .name = "places_potrf", .cpu = potrf_on_cpu, .source = source },
    { .name = "places_trsm", .cpu = trsm_on_cpu, .source = source },
    { .name = "places_gemm", .cpu = gemm_on_cpu, .source = source },
};

braid_dim3 cholesky_grid(enum cholesky_kind kind, uint32_t n)
{
    if (kind == CHOLESKY_GEMM)
        return (braid_dim3){ n / 16, n / 16, 1 };
    return (braid_dim3){ kind == CHOLESKY_TRSM ? n : 1, 1, 1 };
}

braid_dim3 cholesky_block(enum cholesky_kind kind, uint32_t n)
{
    if (kind == CHOLESKY_GEMM)
        return (braid_dim3){ 16, 16, 1 };
    return (braid_dim3){ kind == CHOLESKY_TRSM ? n : 1024, 1, 1 };
}

static void add(struct cholesky_tasks *tasks, struct cholesky_task task)
{
    tasks->items[tasks->num++] = task;
}

void cholesky_list(uint32_t num_tiles, struct cholesky_tasks *out_tasks)
{
    out_tasks->num = 0;
    for (uint32_t k = 0; k < num_tiles; k++) {
        add(out_tasks, (struct cholesky_task){ CHOLESKY_POTRF, cholesky_tile(k, k), 0, { 0 } });
        for (uint32_t i = k + 1; i < num_tiles; i++)
            add(out_tasks, (struct cholesky_task){
                               CHOLESKY_TRSM, cholesky_tile(i, k), 1, { cholesky_tile(k, k) } });
        for (uint32_t i = k + 1; i < num_tiles; i++)
            for (uint32_t j = k + 1; j <= i; j++)
                add(out_tasks,
                    (struct cholesky_task){ CHOLESKY_GEMM,
                                            cholesky_tile(i, j),
                                            2,
                                            { cholesky_tile(i, k), cholesky_tile(j, k) } });
    }
}
