// SPDX-License-Identifier: Apache-2.0
// Blocks of unlike branches, as image networks have them (Szegedy and others 2015), for the tuning
// bench: each branch is a chain of matrix products, and the next block takes all their results.
#include <math.h>
#include <string.h>

#include "tuned.h"

enum { BLOCKS = 4, ROWS = 96, WIDTH = 64, BRANCHES = 4, MOST_LINKS = 3 };

// The columns of each product of a branch, the last one WIDTH / BRANCHES; ended by 0.
static const int branches[BRANCHES][MOST_LINKS + 1] = {
    { WIDTH / BRANCHES },
    { 48, WIDTH / BRANCHES },
    { 24, 96, WIDTH / BRANCHES },
    { 160, WIDTH / BRANCHES },
};

static void multiply(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    tuned_multiply(&(struct tuned_product){ .c = *(double *const *)args[0],
                                            .a = *(const double *const *)args[1],
                                            .b = *(const double *const *)args[2],
                                            .m = *(const int *)args[3],
                                            .n = *(const int *)args[4],
                                            .k = *(const int *)args[5],
                                            .scale = 1 });
}

enum { SIDE = 16 }; // a block's on a GPU

static const char source[] =
    "extern \"C\" __global__ void product(double *c, const double *a, const double *b, int m, int "
    "n,\n"
    "                                   int k)\n"
    "{\n"
    "    const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;\n"
    "    double sum = 0;\n"
    "    if (i >= m || j >= n)\n"
    "        return;\n"
    "    for (int x = 0; x < k; x++)\n"
    "        sum += a[i * k + x] * b[x * n + j];\n"
    "    c[i * n + j] = sum;\n"
    "}\n";

static const braid_kernel kernel = { .name = "product", .cpu = multiply, .source = source };

static struct tuned_product products[BLOCKS * BRANCHES * MOST_LINKS]; // in their order
static int num_products;

struct making {
    braid_graph *graph;
    double *next; // free memory
    struct tuned_memory memory;
};

static double *take(struct making *making, int num, double value)
{
    double *taken = making->next;
    making->next += num;
    for (int i = 0; i < num; i++)
        tuned_mirror(&making->memory, taken)[i] = value * (1 + i % 5);
    return taken;
}

static braid_node add_product(struct making *making, const double *from, int k, int n,
                              const braid_node *after, size_t num_after, double **out_to)
{
    double *to = take(making, ROWS * n, 0);
    const double *b = take(making, k * n, 1.0 / (3 * k));
    const int m = ROWS;
    const bool gpu = making->memory.is_gpu;
    struct tuned_product product = {
        .c = to, .a = from, .b = b, .m = ROWS, .n = n, .k = k, .scale = 1
    };
    braid_node node;
    products[num_products++] = product;
    tuned_check(braid_graph_add_kernel(
        making->graph,
        &(braid_kernel_node){
            .kernel = &kernel,
            .grid = { gpu ? (uint32_t)(n + SIDE - 1) / SIDE : 1, gpu ? ROWS / SIDE : 1, 1 },
            .block = { gpu ? SIDE : 1, gpu ? SIDE : 1, 1 },
            BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(b), BRAID_ARG(m), BRAID_ARG(n),
                       BRAID_ARG(k)),
            .node.after = after,
            .node.num_after = num_after },
        &node));
    *out_to = to;
    return node;
}

// The result of a block is that of its last branch, which is as wide as the others: the next block
// starts behind all of them.
static const double *add_block(struct making *making, const double *from, int width,
                               braid_node *ends, size_t num_ends)
{
    braid_node now[BRANCHES];
    double *result = NULL;
    for (int i = 0; i < BRANCHES; i++) {
        const double *at = from;
        int k = width;
        for (int link = 0; branches[i][link]; link++) {
            now[i] = add_product(making, at, k, branches[i][link], link ? &now[i] : ends,
                                 link ? 1 : num_ends, &result);
            at = result;
            k = branches[i][link];
        }
    }
    for (int i = 0; i < BRANCHES; i++)
        ends[i] = now[i];
    return result;
}

// All products again, one after the other: the last one's result is the same.
static bool is_right(const struct tuned_graph *graph)
{
    const struct tuned_memory *memory = &graph->memory;
    static double found[ROWS * WIDTH / BRANCHES];
    double worst = 0;
    tuned_download(memory);
    const double *result = tuned_mirror(memory, products[num_products - 1].c);
    memcpy(found, result, sizeof(found));
    for (int i = 0; i < num_products; i++) {
        struct tuned_product product = products[i];
        product.c = tuned_mirror(memory, product.c);
        product.a = tuned_mirror(memory, product.a);
        product.b = tuned_mirror(memory, product.b);
        tuned_multiply(&product);
    }
    for (int i = 0; i < ROWS * WIDTH / BRANCHES; i++)
        worst = fmax(worst, fabs(found[i] - result[i]) / result[i]);
    return found[0] > 0 && worst < 1e-12;
}

struct tuned_graph tuned_inception(braid_device *device)
{
    struct making making = { .memory = tuned_allocate(device, 16 * 1024 * 1024) };
    making.next = making.memory.at;
    tuned_check(braid_graph_create(&making.graph));
    const double *from = take(&making, ROWS * WIDTH, 0.01);
    braid_node ends[BRANCHES];
    for (int i = 0; i < BLOCKS; i++)
        from = add_block(&making, from, i ? WIDTH / BRANCHES : WIDTH, ends, i ? BRANCHES : 0);
    tuned_upload(&making.memory);
    return (struct tuned_graph){ .name = "4 blocks of 4 branches",
                                 .graph = making.graph,
                                 .memory = making.memory,
                                 .is_right = is_right };
}
