// SPDX-License-Identifier: Apache-2.0
// Blocks of unlike branches, as image networks have them (Szegedy and others 2015), for the tuning
// bench: each branch is a chain of matrix products, and the next block takes all their results.
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
    tuned_multiply(args[0]);
}

static const braid_kernel kernel = { .name = "product", .cpu = multiply };

static struct tuned_product products[BLOCKS * BRANCHES * MOST_LINKS]; // in their order
static int num_products;

struct making {
    braid_graph *graph;
    double *next; // free memory
    double *start;
};

static double *take(struct making *making, int num, double value)
{
    double *taken = making->next;
    making->next += num;
    for (int i = 0; i < num; i++)
        taken[i] = value * (1 + i % 5);
    return taken;
}

static braid_node add_product(struct making *making, const double *from, int k, int n,
                              const braid_node *after, size_t num_after, double **out_to)
{
    double *to = take(making, ROWS * n, 0);
    struct tuned_product product = { .c = to,
                                     .a = from,
                                     .b = take(making, k * n, 1.0 / (3 * k)),
                                     .m = ROWS,
                                     .n = n,
                                     .k = k,
                                     .scale = 1 };
    braid_node node;
    products[num_products++] = product;
    tuned_check(braid_graph_add_kernel(making->graph,
                                       &(braid_launch){ .kernel = &kernel,
                                                        BRAID_ARGS(BRAID_ARG(product)),
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

// All products again, one after the other: the last one's result is the same to the bit.
static bool is_right(const struct tuned_graph *graph)
{
    (void)graph;
    static double found[ROWS * WIDTH / BRANCHES];
    const double *result = products[num_products - 1].c;
    memcpy(found, result, sizeof(found));
    for (int i = 0; i < num_products; i++)
        tuned_multiply(&products[i]);
    return found[0] > 0 && memcmp(found, result, sizeof(found)) == 0;
}

struct tuned_graph tuned_inception(void)
{
    struct making making = { .start = tuned_allocate(16 * 1024 * 1024) };
    making.next = making.start;
    tuned_check(braid_graph_create(&making.graph));
    const double *from = take(&making, ROWS * WIDTH, 0.01);
    braid_node ends[BRANCHES];
    for (int i = 0; i < BLOCKS; i++)
        from = add_block(&making, from, i ? WIDTH / BRANCHES : WIDTH, ends, i ? BRANCHES : 0);
    return (struct tuned_graph){ "4 blocks of 4 branches", making.graph, making.start, is_right };
}
