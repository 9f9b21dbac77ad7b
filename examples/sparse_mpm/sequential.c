// SPDX-License-Identifier: Apache-2.0
// The reference: every cell of the square, one after the other, on one thread.
#include "sequential.h"

#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "measure.h"

static size_t num_cells(const struct mpm_sequential *state)
{
    return (size_t)state->scene->num_cells * (size_t)state->scene->num_cells;
}

void mpm_sequential_init(struct mpm_sequential *state, const struct mpm_scene *scene,
                         uint32_t max_frames)
{
    *state = (struct mpm_sequential){ .scene = scene };
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        size_t count = scene->num_particles[m];
        state->particles[m] = check_memory(calloc(count, sizeof(mpm_particle)));
        memcpy(state->particles[m], scene->particles[m], count * sizeof(mpm_particle));
        state->cells[m] = check_memory(calloc(num_cells(state), sizeof(mpm_cell)));
        state->velocity[m] = check_memory(calloc(num_cells(state), sizeof(mpm_vector)));
    }
    state->foam = check_memory(calloc(num_cells(state), sizeof(unsigned)));
    state->total_ns = check_memory(calloc(max_frames, sizeof(*state->total_ns)));
}

void mpm_sequential_finish(struct mpm_sequential *state)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        free(state->particles[m]);
        free(state->cells[m]);
        free(state->velocity[m]);
    }
    free(state->foam);
    free(state->total_ns);
}

static size_t cell_at(const struct mpm_sequential *state, int x, int y)
{
    return (size_t)y * (size_t)state->scene->num_cells + (size_t)x;
}

static void add_cell(mpm_cell *cell, mpm_cell share)
{
    cell->mass += share.mass;
    cell->momentum_x += share.momentum_x;
    cell->momentum_y += share.momentum_y;
}

static void particles_to_grid(struct mpm_sequential *state, int m)
{
    memset(state->cells[m], 0, num_cells(state) * sizeof(mpm_cell));
    for (uint32_t p = 0; p < state->scene->num_particles[m]; p++) {
        const mpm_particle *particle = &state->particles[m][p];
        mpm_matrix transfer = mpm_transfer(&state->scene->rules[m], particle);
        mpm_stencil stencil = mpm_stencil_at(particle->position);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                add_cell(&state->cells[m][cell_at(state, stencil.x + i, stencil.y + j)],
                         mpm_share(particle, &transfer, &stencil, i, j));
    }
}

static mpm_fixed mass_at(const struct mpm_sequential *state, int m, int x, int y)
{
    int side = state->scene->num_cells;
    if (x < 0 || y < 0 || x >= side || y >= side)
        return 0;
    return state->cells[m][cell_at(state, x, y)].mass;
}

static void update_cell(struct mpm_sequential *state, int m, int x, int y, mpm_vector gravity)
{
    size_t index = cell_at(state, x, y);
    mpm_cell all = { 0 };
    for (int other = 0; other < MPM_NUM_MATERIALS; other++)
        add_cell(&all, state->cells[other][index]);
    const mpm_fixed neighbours[4] = { mass_at(state, m, x - 1, y), mass_at(state, m, x + 1, y),
                                      mass_at(state, m, x, y - 1), mass_at(state, m, x, y + 1) };
    state->velocity[m][index] = mpm_cell_velocity(&state->scene->rules[m], x, y,
                                                  state->cells[m][index], all, neighbours, gravity);
}

static void update_grid(struct mpm_sequential *state, int m, mpm_vector gravity)
{
    for (int y = 0; y < state->scene->num_cells; y++)
        for (int x = 0; x < state->scene->num_cells; x++)
            update_cell(state, m, x, y, gravity);
}

static void move_particle(struct mpm_sequential *state, int m, mpm_particle *particle)
{
    const mpm_rules *rules = &state->scene->rules[m];
    mpm_stencil stencil = mpm_stencil_at(particle->position);
    size_t home = cell_at(state, (int)particle->position.x, (int)particle->position.y);
    mpm_forget_velocity(particle);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            mpm_gather(particle, &stencil, i, j,
                       state->velocity[m][cell_at(state, stencil.x + i, stencil.y + j)]);
    mpm_advance(rules, particle);
    state->foam[home] += mpm_foam_made(rules, particle);
}

static void grid_to_particles(struct mpm_sequential *state, int m)
{
    for (uint32_t p = 0; p < state->scene->num_particles[m]; p++)
        move_particle(state, m, &state->particles[m][p]);
}

static void fade_foam(struct mpm_sequential *state)
{
    for (size_t i = 0; i < num_cells(state); i++)
        state->foam[i] = mpm_foam_left(state->foam[i]);
}

void mpm_sequential_step(struct mpm_sequential *state)
{
    uint32_t frame = state->num_frames++;
    mpm_vector gravity = mpm_scene_gravity(state->scene, frame);
    uint64_t start = mpm_now_ns();
    fade_foam(state);
    for (uint32_t step = 0; step < state->scene->substeps; step++) {
        for (int m = 0; m < MPM_NUM_MATERIALS; m++)
            particles_to_grid(state, m);
        for (int m = 0; m < MPM_NUM_MATERIALS; m++)
            update_grid(state, m, gravity);
        for (int m = 0; m < MPM_NUM_MATERIALS; m++)
            grid_to_particles(state, m);
    }
    state->total_ns[frame] = mpm_now_ns() - start;
}
