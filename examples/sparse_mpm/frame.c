// SPDX-License-Identifier: Apache-2.0
// Builds the graph of one frame. Edges follow from what the nodes say they touch.
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cost.h"
#include "kernels.h"

// Adds a kernel of one material. The caller fills arguments and accesses; where and how wide it
// runs and what it costs follow from the kernel.
static braid_node add_kernel(struct mpm_frame *frame, enum mpm_kernel kernel, int material,
                             braid_kernel_node launch)
{
    char name[64];
    struct mpm_shape shape = mpm_shape_of(frame, kernel, material);
    snprintf(name, sizeof(name), "%s.%s", mpm_material_names[material], mpm_kernels[kernel].name);
    launch.node.name = name;
    launch.node.cost_ns = shape.cost_ns;
    launch.kernel = &mpm_kernels[kernel];
    launch.grid.x = shape.num_blocks;
    launch.block.x = shape.block_size;
    braid_node node;
    CHECK(braid_graph_add_kernel(frame->graph, &launch, &node));
    frame->num_nodes++;
    return node;
}

// The preludes of a sparse loop: for each level below the root, clear its list, then generate it
// from the level above. `leaf` is the list of the loop's leaf, which lies under the pointers.
static void add_list_preludes(struct mpm_frame *frame, int material, braid_node loop, mpm_list leaf,
                              braid_resource leaf_list)
{
    const struct mpm_resources *of = &frame->resources[material];
    const mpm_grid *grid = &frame->world->grids.of[material];
    add_kernel(frame, MPM_CLEAR_LIST, material,
               (braid_kernel_node){ .node.prelude_of = loop,
                                    BRAID_ARGS(BRAID_ARG(grid->pointers)),
                                    BRAID_ACCESSES({ of->pointer_list, BRAID_WRITE }) });
    add_kernel(frame, MPM_LIST_POINTERS, material,
               (braid_kernel_node){ .node.prelude_of = loop,
                                    BRAID_ARGS(BRAID_ARG(*grid)),
                                    BRAID_ACCESSES({ of->mask, BRAID_READ },
                                                   { of->pointer_list, BRAID_READ_WRITE }) });
    if (!leaf.length)
        return;
    add_kernel(frame, MPM_CLEAR_LIST, material,
               (braid_kernel_node){ .node.prelude_of = loop,
                                    BRAID_ARGS(BRAID_ARG(leaf)),
                                    BRAID_ACCESSES({ leaf_list, BRAID_WRITE }) });
    add_kernel(frame, MPM_LIST_PARTS, material,
               (braid_kernel_node){ .node.prelude_of = loop,
                                    BRAID_ARGS(BRAID_ARG(*grid), BRAID_ARG(leaf)),
                                    BRAID_ACCESSES({ of->pointer_list, BRAID_READ },
                                                   { leaf_list, BRAID_READ_WRITE }) });
}

static void add_clear_cells(struct mpm_frame *frame, int material)
{
    const struct mpm_resources *of = &frame->resources[material];
    const mpm_grid *grid = &frame->world->grids.of[material];
    braid_node loop = add_kernel(frame, MPM_CLEAR_CELLS, material,
                                 (braid_kernel_node){ BRAID_ARGS(BRAID_ARG(*grid)),
                                                      BRAID_ACCESSES({ of->part_list, BRAID_READ },
                                                                     { of->blocks, BRAID_READ },
                                                                     { of->cells, BRAID_WRITE }) });
    add_list_preludes(frame, material, loop, grid->parts, of->part_list);
}

// Particles activate the blocks they touch, then add to their cells.
static void add_particles_to_grid(struct mpm_frame *frame, int material)
{
    const struct mpm_resources *of = &frame->resources[material];
    const struct mpm_world *world = frame->world;
    const mpm_grid *grid = &world->grids.of[material];
    const mpm_rules *rules = &world->scene->rules[material];
    mpm_particle *particles = world->particles[material];
    unsigned num_particles = world->scene->num_particles[material];
    braid_node loop =
        add_kernel(frame, MPM_PARTICLES_TO_GRID, material,
                   (braid_kernel_node){ BRAID_ARGS(BRAID_ARG(*grid), BRAID_ARG(*rules),
                                                   BRAID_ARG(particles), BRAID_ARG(num_particles)),
                                        BRAID_ACCESSES({ of->particles, BRAID_READ },
                                                       { of->blocks, BRAID_READ },
                                                       { of->cells, BRAID_READ_WRITE }) });
    add_kernel(frame, MPM_MARK_SLOTS, material,
               (braid_kernel_node){
                   .node.prelude_of = loop,
                   BRAID_ARGS(BRAID_ARG(*grid), BRAID_ARG(particles), BRAID_ARG(num_particles)),
                   BRAID_ACCESSES({ of->particles, BRAID_READ }, { of->mask, BRAID_READ_WRITE }) });
    add_kernel(frame, MPM_ACTIVATE, material,
               (braid_kernel_node){
                   .node.prelude_of = loop,
                   BRAID_ARGS(BRAID_ARG(*grid)),
                   BRAID_ACCESSES({ of->mask, BRAID_READ }, { of->blocks, BRAID_READ_WRITE }) });
}

// Contact needs the cells of all materials: the only place where they meet.
static void add_update_grid(struct mpm_frame *frame, int material)
{
    const struct mpm_resources *of = &frame->resources[material], *all = frame->resources;
    const struct mpm_world *world = frame->world;
    const mpm_rules *rules = &world->scene->rules[material];
    mpm_vector gravity = { 0.0f, 0.0f };
    // The last six arguments are only for where copies are read.
    bool copies = world->num_places > 1 && !world->shared;
    braid_node loop = add_kernel(
        frame, copies ? MPM_UPDATE_FROM : MPM_UPDATE_GRID, material,
        (braid_kernel_node){
            .args =
                (const braid_arg[]){
                    BRAID_ARG(world->grids), BRAID_ARG(*rules), BRAID_ARG(gravity),
                    braid_resource_address(&all[0].blocks), braid_resource_address(&all[1].blocks),
                    braid_resource_address(&all[2].blocks), braid_resource_address(&all[0].cells),
                    braid_resource_address(&all[1].cells), braid_resource_address(&all[2].cells) },
            .num_args = copies ? 9 : 3,
            // Its code changes the grids in local memory, where all addresses look alike.
            .code_use = copies ? BRAID_CODE_UNREAD : BRAID_CODE_CHECKS,
            BRAID_ACCESSES(
                { of->part_list, BRAID_READ }, { all[MPM_WATER].blocks, BRAID_READ },
                { all[MPM_JELLY].blocks, BRAID_READ }, { all[MPM_SNOW].blocks, BRAID_READ },
                { all[MPM_WATER].cells, BRAID_READ }, { all[MPM_JELLY].cells, BRAID_READ },
                { all[MPM_SNOW].cells, BRAID_READ }, { of->velocity, BRAID_WRITE }) });
    add_list_preludes(frame, material, loop, world->grids.of[material].parts, of->part_list);
    frame->updates[frame->num_updates++] = loop;
}

// Foam is last in the accesses, and left out where there is none.
static void add_grid_to_particles(struct mpm_frame *frame, int material)
{
    const struct mpm_resources *of = &frame->resources[material];
    const struct mpm_world *world = frame->world;
    const mpm_rules *rules = &world->scene->rules[material];
    mpm_particle *particles = world->particles[material];
    unsigned num_particles = world->scene->num_particles[material];
    braid_kernel_node launch = {
        BRAID_ARGS(BRAID_ARG(world->grids.of[material]), BRAID_ARG(*rules), BRAID_ARG(particles),
                   BRAID_ARG(num_particles)),
        BRAID_ACCESSES({ of->blocks, BRAID_READ }, { of->velocity, BRAID_READ },
                       { of->particles, BRAID_READ_WRITE }, { of->foam, BRAID_READ_WRITE })
    };
    if (material != MPM_WATER)
        launch.node.num_accesses--;
    add_kernel(frame, MPM_GRID_TO_PARTICLES, material, launch);
}

// A loop over the second leaf under water's pointers. It shares no data with update_grid, yet both
// generate the list of pointers, so the plan runs one after the other and says so.
static void add_fade_foam(struct mpm_frame *frame)
{
    const struct mpm_resources *of = &frame->resources[MPM_WATER];
    const mpm_grid *grid = &frame->world->grids.of[MPM_WATER];
    frame->fade_foam =
        add_kernel(frame, MPM_FADE_FOAM, MPM_WATER,
                   (braid_kernel_node){ BRAID_ARGS(BRAID_ARG(*grid)),
                                        BRAID_ACCESSES({ of->foam_list, BRAID_READ },
                                                       { of->blocks, BRAID_READ },
                                                       { of->foam, BRAID_READ_WRITE }) });
    add_list_preludes(frame, MPM_WATER, frame->fade_foam, grid->foam_parts, of->foam_list);
}

// Gives empty blocks back; the epilogues are the garbage collector.
static void add_deactivate(struct mpm_frame *frame, int material)
{
    const struct mpm_resources *of = &frame->resources[material];
    const mpm_grid *grid = &frame->world->grids.of[material];
    braid_kernel_node launch = { BRAID_ARGS(BRAID_ARG(*grid)),
                                 BRAID_ACCESSES(
                                     { of->pointer_list, BRAID_READ }, { of->cells, BRAID_READ },
                                     { of->mask, BRAID_READ_WRITE },
                                     { of->blocks, BRAID_READ_WRITE }, { of->foam, BRAID_READ }) };
    if (material != MPM_WATER)
        launch.node.num_accesses--;
    braid_node loop = add_kernel(frame, MPM_DEACTIVATE, material, launch);
    add_list_preludes(frame, material, loop, (mpm_list){ NULL, NULL }, (braid_resource){ 0 });
    add_kernel(frame, MPM_FREE_RECYCLED, material,
               (braid_kernel_node){ .node.epilogue_of = loop,
                                    BRAID_ARGS(BRAID_ARG(*grid)),
                                    BRAID_ACCESSES({ of->blocks, BRAID_READ_WRITE }) });
    add_kernel(frame, MPM_CLEAR_LIST, material,
               (braid_kernel_node){ .node.epilogue_of = loop,
                                    BRAID_ARGS(BRAID_ARG(grid->recycled)),
                                    BRAID_ACCESSES({ of->blocks, BRAID_READ_WRITE }) });
}

static braid_resource add_resource(const struct mpm_frame *frame, int material, const char *format)
{
    char name[64];
    snprintf(name, sizeof(name), format, mpm_material_names[material]);
    braid_resource resource;
    CHECK(braid_graph_add_resource(frame->graph, name, &resource));
    CHECK(
        braid_graph_set_home(frame->graph, resource, mpm_world_place(frame->world, material) + 1));
    return resource;
}

// What other materials' loops read: of several devices, memory that has a home. What else a node
// touches goes by plain names, whose users are where their home is.
static braid_resource add_read_by_all(const struct mpm_frame *frame, int material,
                                      const char *format, void *memory, uint64_t bytes)
{
    const struct mpm_world *world = frame->world;
    if (world->num_places == 1)
        return add_resource(frame, material, format);
    char name[64];
    snprintf(name, sizeof(name), format, mpm_material_names[material]);
    braid_resource resource;
    CHECK(braid_graph_add_buffer(frame->graph, name, memory, bytes, &resource));
    CHECK(braid_graph_set_home(frame->graph, resource,
                               world->shared ? BRAID_EVERYWHERE
                                             : mpm_world_place(world, material) + 1));
    return resource;
}

static void add_resources(struct mpm_frame *frame, int material)
{
    struct mpm_resources *of = &frame->resources[material];
    const mpm_grid *grid = &frame->world->grids.of[material];
    uint64_t slots = grid->num_slots;
    of->particles = add_resource(frame, material, "%s.particles");
    of->mask = add_resource(frame, material, "%s.mask");
    of->blocks = add_read_by_all(frame, material, "%s.blocks", grid->block_of,
                                 slots * sizeof(*grid->block_of));
    of->cells = add_read_by_all(frame, material, "%s.cells", grid->cells,
                                slots * MPM_BLOCK_CELLS * sizeof(*grid->cells));
    of->velocity = add_resource(frame, material, "%s.velocity");
    of->pointer_list = add_resource(frame, material, "list:%s.pointers");
    of->part_list = add_resource(frame, material, "list:%s.parts");
    if (material != MPM_WATER)
        return;
    of->foam = add_resource(frame, material, "%s.foam");
    of->foam_list = add_resource(frame, material, "list:%s.foam");
}

static void add_substep(struct mpm_frame *frame, uint32_t step)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_clear_cells(frame, m);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_particles_to_grid(frame, m);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_update_grid(frame, m);
    if (step == 0)
        add_fade_foam(frame);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_grid_to_particles(frame, m);
}

void mpm_frame_init(struct mpm_frame *frame, const struct mpm_world *world)
{
    braid_device_info info;
    braid_device_get_info(world->device, &info);
    *frame = (struct mpm_frame){ .world = world, .on_cpu = strcmp(info.backend, "cpu") == 0 };
    frame->updates = check_memory(
        calloc((size_t)world->scene->substeps * MPM_NUM_MATERIALS, sizeof(*frame->updates)));
    CHECK(braid_graph_create(&frame->graph));
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_resources(frame, m);
    for (uint32_t step = 0; step < world->scene->substeps; step++)
        add_substep(frame, step);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        add_deactivate(frame, m);
}

void mpm_frame_finish(struct mpm_frame *frame)
{
    braid_graph_destroy(frame->graph);
    free(frame->updates);
}

void mpm_frame_set_costs(const struct mpm_frame *frame, const uint64_t *costs_ns)
{
    for (uint32_t i = 0; i < frame->num_nodes; i++)
        CHECK(
            braid_graph_set_cost(frame->graph, braid_graph_get_node(frame->graph, i), costs_ns[i]));
}

void mpm_frame_set_gravity(const struct mpm_frame *frame, braid_exec *exec, mpm_vector gravity)
{
    for (uint32_t i = 0; i < frame->num_updates; i++)
        CHECK(braid_exec_set_arg(exec, frame->updates[i], MPM_GRAVITY_ARG, BRAID_ARG(gravity)));
}
