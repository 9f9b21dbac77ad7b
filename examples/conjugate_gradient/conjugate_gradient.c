// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients until the residual is small. The loop is in the graph: the host launches one
// frame, and learns afterwards how many iterations it took.
#include <math.h>
#include <string.h>

#include "../check.h"
#include "solver.h"

enum { MOST = 4 * SIDE };

static double x[NUM], residual[NUM], direction[NUM], image[NUM], right[NUM], plain[NUM];
static struct scalars scalars;
static uint32_t left; // 0: the residual is small enough

#define ADD(which, grid_x, ...)                                                                    \
    CHECK(braid_graph_add_kernel(                                                                  \
        graph,                                                                                     \
        &(braid_kernel_node){ .kernel = &which, .grid.x = (grid_x), BRAID_ARGS(__VA_ARGS__) },     \
        NULL))

static braid_node add_loop(braid_graph *graph)
{
    void *const memories[] = { x, residual, direction, image, &scalars, &left };
    static const char *const names[] = { "x", "residual", "direction", "image", "scalars", "left" };
    braid_resource b[6];
    braid_node loop;
    for (int i = 0; i < 6; i++)
        CHECK(braid_graph_add_buffer(graph, names[i], memories[i],
                                     i < 4    ? sizeof(x)
                                     : i == 4 ? sizeof(scalars)
                                              : sizeof(left),
                                     &b[i]));
    CHECK(braid_graph_begin_loop(
        graph, &(braid_loop){ .node.name = "until converged", .condition = b[5], .most = MOST },
        &loop));
    ADD(multiply, SIDE, BRAID_IN(b[2]), BRAID_OUT(b[3]));
    ADD(find_alpha, 1, BRAID_IN(b[2]), BRAID_IN(b[3]), BRAID_INOUT(b[4]));
    ADD(advance, SIDE, BRAID_INOUT(b[0]), BRAID_INOUT(b[1]), BRAID_IN(b[2]), BRAID_IN(b[3]),
        BRAID_IN(b[4]));
    ADD(test, 1, BRAID_IN(b[1]), BRAID_INOUT(b[4]), BRAID_OUT(b[5]));
    ADD(turn, SIDE, BRAID_INOUT(b[2]), BRAID_IN(b[1]), BRAID_IN(b[4]));
    CHECK(braid_graph_end(graph));
    return loop;
}

static void start(void)
{
    for (int i = 0; i < NUM; i++) {
        bool is_inside = i % STEP % (STEP - 1) && i >= STEP && i < NUM - STEP;
        right[i] = is_inside ? sin(i) : 0;
    }
    memcpy(residual, right, sizeof(right));
    memcpy(direction, right, sizeof(right));
    scalars.square = dot(right, right), scalars.least = 1e-12 * scalars.square;
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    uint64_t num;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    braid_node loop = add_loop(graph);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_schedule(exec), argc > 1 ? argv[1] : NULL);
    start();
    CHECK(braid_exec_launch(exec, NULL)); // one frame, however many iterations
    CHECK(braid_exec_wait(exec));
    CHECK(braid_exec_get_iterations(exec, loop, &num));

    uint64_t num_plain = solve_plainly(right, plain, MOST);
    double worst = 0;
    for (int i = 0; i < NUM; i++)
        worst = fmax(worst, fabs(x[i] - plain[i]));
    printf("%d unknowns: %llu iterations, %llu without a graph, which differs by %g at most\n",
           SIDE * SIDE, (unsigned long long)num, (unsigned long long)num_plain, worst);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return num == num_plain && num < MOST && worst < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
