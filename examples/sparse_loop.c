// SPDX-License-Identifier: Apache-2.0
// Sparse loops: each visits the active cells only, and takes the making of its list along as
// preludes. The last prelude also writes how many blocks the loop needs, which is read when the
// loop's turn comes. Both share one list, so what clears and fills it is ordered, without an edge
// written down; the loops' own data is not, and Braid says what the shared list costs.
#include "check.h"

enum { NUM = 4096, A_BLOCK = 64 };

// A list as sparse compilers keep them: its length, the elements, and here the loop's grid.
struct list {
    uint32_t grid[3];
    uint32_t num;
    int elements[NUM];
};

static void clear_list(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (*(struct list *const *)args[0])->num = 0;
}

static void make_list(const braid_blocks *blocks, void *const *args)
{
    struct list *list = *(struct list *const *)args[0];
    const char *active = *(const char *const *)args[1];
    (void)blocks; // one block
    for (int i = 0; i < NUM; i++)
        if (active[i])
            list->elements[list->num++] = i;
    list->grid[0] = (list->num + A_BLOCK - 1) / A_BLOCK;
    list->grid[1] = list->grid[2] = 1;
}

// Length and grid are read when the loop runs: one graph is right for every frame.
static void loop_over(const braid_blocks *blocks, void *const *args)
{
    const struct list *list = *(const struct list *const *)args[0];
    float *values = *(float *const *)args[1], by = *(const float *)args[2];
    for (uint64_t i = blocks->begin * A_BLOCK; i < blocks->end * A_BLOCK && i < list->num; i++)
        values[list->elements[i]] += by;
}

static const braid_kernel clear = { .name = "clear list", .cpu = clear_list };
static const braid_kernel make = { .name = "make list", .cpu = make_list };
static const braid_kernel loop = { .name = "loop", .cpu = loop_over };

static struct list list;
static char active[NUM];
static float heat[NUM], speed[NUM];

static braid_node add_loop(braid_graph *graph, const char *name, braid_resource the_list,
                           braid_resource mask, float *values, braid_resource buffer, float by)
{
    struct list *elements = &list;
    char *cells = active;
    braid_node main;
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node.name = name,
            .kernel = &loop,
            .grid.x = NUM / A_BLOCK, // at most
            .grid_from = list.grid,
            BRAID_ARGS(BRAID_ARG(elements), BRAID_ARG(values), BRAID_ARG(by)),
            BRAID_ACCESSES({ the_list, BRAID_READ }, { buffer, BRAID_READ_WRITE }) },
        &main));
    CHECK(braid_graph_add_kernel(graph,
                                 &(braid_kernel_node){ .node.prelude_of = main,
                                                       .kernel = &clear,
                                                       BRAID_ARGS(BRAID_ARG(elements)),
                                                       BRAID_ACCESSES({ the_list, BRAID_WRITE }) },
                                 NULL));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node.prelude_of = main,
            .kernel = &make,
            BRAID_ARGS(BRAID_ARG(elements), BRAID_ARG(cells)),
            BRAID_ACCESSES({ mask, BRAID_READ }, { the_list, BRAID_READ_WRITE }) },
        NULL));
    return main;
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_resource the_list, mask, heats, speeds;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_buffer(graph, "list", &list, sizeof(list), &the_list));
    CHECK(braid_graph_add_buffer(graph, "active", active, sizeof(active), &mask));
    CHECK(braid_graph_add_buffer(graph, "heat", heat, sizeof(heat), &heats));
    CHECK(braid_graph_add_buffer(graph, "speed", speed, sizeof(speed), &speeds));
    braid_node loops[2];
    loops[0] = add_loop(graph, "heat loop", the_list, mask, heat, heats, 1.0f);
    loops[1] = add_loop(graph, "speed loop", the_list, mask, speed, speeds, 2.0f);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    char text[300];
    CHECK(braid_schedule_explain(braid_exec_get_schedule(exec), loops, 2, text, sizeof(text)));
    printf("%s\n", text);
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    float expected = 0;
    for (int frame = 0; frame < 10; frame++) {
        for (int i = 0; i < NUM; i++)
            active[i] = i % (frame + 1) == 0; // other cells in every frame
        expected += 6 % (frame + 1) == 0 ? 1.0f : 0.0f;
        CHECK(braid_exec_launch(exec, NULL));
        CHECK(braid_exec_wait(exec));
    }
    printf("cell 6: heat %g, speed %g\n", (double)heat[6], (double)speed[6]);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return heat[6] == expected && speed[6] == 2 * expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
