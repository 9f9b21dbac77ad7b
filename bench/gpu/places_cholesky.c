// SPDX-License-Identifier: Apache-2.0
// Tiled Cholesky: kernels and tasks.
#include "gpu/places_cholesky.h"

#include <math.h>

#include "standin/standin_kernel.h"

static const char potrf_source[] =
    // In panels of 32 columns: the square on the diagonal in a warp's registers, a row below it in
    // a thread's, and what is to the right of the panel by all threads.
    "extern \"C\" __global__ void places_potrf(float *a, unsigned n)\n"
    "{\n"
    "    __shared__ float panel[256][33];\n"
    "    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;\n"
    "    for (unsigned first = 0; first < n; first += 32) {\n"
    "        unsigned m = n - first, left = m - 32;\n"
    "        float *corner = a + first * n + first;\n"
    "        for (unsigned i = warp; i < m; i += warps)\n"
    "            panel[i][lane] = corner[i * n + lane];\n"
    "        __syncthreads();\n"
    "        if (warp == 0) {\n"
    "            float row[32];\n"
    "#pragma unroll\n"
    "            for (int k = 0; k < 32; k++)\n"
    "                row[k] = panel[lane][k];\n"
    "#pragma unroll\n"
    "            for (int j = 0; j < 32; j++) {\n"
    "                float d = sqrtf(__shfl_sync(0xffffffffu, row[j], j));\n"
    "                row[j] = lane == j ? d : row[j] / d;\n"
    "#pragma unroll\n"
    "                for (int k = j + 1; k < 32; k++)\n"
    "                    row[k] -= row[j] * __shfl_sync(0xffffffffu, row[j], k);\n"
    "            }\n"
    "#pragma unroll\n"
    "            for (int k = 0; k < 32; k++)\n"
    "                panel[lane][k] = row[k];\n"
    "        }\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x < left) {\n"
    "            float row[32];\n"
    "            float *x = panel[32 + threadIdx.x];\n"
    "#pragma unroll\n"
    "            for (int j = 0; j < 32; j++) {\n"
    "                float value = x[j];\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < j; k++)\n"
    "                    value -= row[k] * panel[j][k];\n"
    "                row[j] = value / panel[j][j];\n"
    "            }\n"
    "#pragma unroll\n"
    "            for (int j = 0; j < 32; j++)\n"
    "                x[j] = row[j];\n"
    "        }\n"
    "        __syncthreads();\n"
    "        for (unsigned i = warp; i < m; i += warps)\n"
    "            if (i >= 32 || lane <= i)\n"
    "                corner[i * n + lane] = panel[i][lane];\n"
    "        unsigned chunks = (left + 63) / 64, items = left / 4 * chunks;\n"
    "        for (unsigned item = warp; item < items; item += warps) {\n"
    "            unsigned i = item / chunks * 4, k = item % chunks * 64 + lane;\n"
    "            float sums[4][2] = { { 0 } };\n"
    "            if (k - lane > i + 3)\n"
    "                continue;\n"
    "            unsigned second = k + 32 < left ? k + 32 : k;\n"
    "            for (int c = 0; c < 32; c++) {\n"
    "                float p = panel[32 + k][c], q = panel[32 + second][c];\n"
    "#pragma unroll\n"
    "                for (int r = 0; r < 4; r++) {\n"
    "                    float x = panel[32 + i + r][c];\n"
    "                    sums[r][0] += x * p;\n"
    "                    sums[r][1] += x * q;\n"
    "                }\n"
    "            }\n"
    "#pragma unroll\n"
    "            for (int r = 0; r < 4; r++) {\n"
    "                float *to = corner + (32 + i + r) * n + 32;\n"
    "                if (k <= i + r)\n"
    "                    to[k] -= sums[r][0];\n"
    "                if (k + 32 <= i + r)\n"
    "                    to[k + 32] -= sums[r][1];\n"
    "            }\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";

static const char source[] =
    // A warp has a row, and eight of them share the squares of l.
    "extern \"C\" __global__ void places_trsm(float *a, const float *l, unsigned n)\n"
    "{\n"
    "    __shared__ float rows[8][256], square[32][33];\n"
    "    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
    "    float *from = a + (blockIdx.x * 8 + warp) * n, *row = rows[warp];\n"
    "    for (unsigned k = lane; k < n; k += 32)\n"
    "        row[k] = from[k];\n"
    "    for (unsigned first = 0; first < n; first += 32)\n"
    "        for (unsigned at = first; at < n; at += 32) {\n"
    "            __syncthreads();\n"
    "            for (unsigned i = warp; i < 32; i += 8)\n"
    "                square[i][lane] = l[(at + i) * n + first + lane];\n"
    "            __syncthreads();\n"
    "            float value = row[at + lane];\n"
    "            for (int j = 0; j < 32; j++) {\n"
    "                if (at == first) {\n"
    "                    float x = __shfl_sync(0xffffffffu, value, j) / square[j][j];\n"
    "                    value = lane == j ? x : lane > j ? value - x * square[lane][j] : value;\n"
    "                } else {\n"
    "                    value -= row[first + j] * square[lane][j];\n"
    "                }\n"
    "            }\n"
    "            row[at + lane] = value;\n"
    "            __syncwarp();\n"
    "        }\n"
    "    for (unsigned k = lane; k < n; k += 32)\n"
    "        from[k] = row[k];\n"
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
    { .name = "places_potrf", .cpu = potrf_on_cpu, .source = potrf_source },
    { .name = "places_trsm", .cpu = trsm_on_cpu, .source = source },
    { .name = "places_gemm", .cpu = gemm_on_cpu, .source = source },
};

braid_dim3 cholesky_grid(enum cholesky_kind kind, uint32_t n)
{
    if (kind == CHOLESKY_GEMM)
        return (braid_dim3){ n / 16, n / 16, 1 };
    return (braid_dim3){ kind == CHOLESKY_TRSM ? n / 8 : 1, 1, 1 };
}

braid_dim3 cholesky_block(enum cholesky_kind kind, uint32_t n)
{
    (void)n;
    if (kind == CHOLESKY_GEMM)
        return (braid_dim3){ 16, 16, 1 };
    return (braid_dim3){ kind == CHOLESKY_TRSM ? 256 : 1024, 1, 1 };
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
