// SPDX-License-Identifier: Apache-2.0
// The scene: a block of jelly and a ball of snow fall into a pool of water.
#include "scene.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../check.h"
#include "grid.h"

const char *const mpm_material_names[MPM_NUM_MATERIALS] = { "water", "jelly", "snow" };

// Times and lengths in units of the square's side; a frame is FRAME_SECONDS long.
static const float FRAME_SECONDS = 2e-3f, GRAVITY = 40.0f;
static const uint32_t FRAMES_DOWN = 90, FRAMES_A_TURN = 150;
static const float PARTICLES_A_CELL = 4.0f;

// Sound travels at most this many cells in a substep, or the explicit step blows up.
static const float CELLS_A_SUBSTEP = 0.52f, SOUND_SPEED = 20.0f;

static const float POOL_HEIGHT = 0.17f, JELLY_SIDE = 0.25f, SNOW_RADIUS = 0.14f;

struct body {
    float left, bottom, width, height; // a box round it
    bool round;
    mpm_vector velocity;
};

static const struct body bodies[MPM_NUM_MATERIALS] = {
    [MPM_WATER] = { 0.03f, 0.03f, 0.94f, POOL_HEIGHT, false, { 0.0f, 0.0f } },
    [MPM_JELLY] = { 0.22f, 0.42f, JELLY_SIDE, JELLY_SIDE, false, { 0.4f, -5.0f } },
    [MPM_SNOW] = { 0.61f, 0.67f, 2 * SNOW_RADIUS, 2 * SNOW_RADIUS, true, { -0.4f, -5.0f } },
};

static float body_area(const struct body *body)
{
    return body->width * body->height * (body->round ? 0.785398f : 1.0f);
}

static bool body_contains(const struct body *body, float x, float y)
{
    float u = 2.0f * x / body->width - 1.0f, v = 2.0f * y / body->height - 1.0f;
    return !body->round || u * u + v * v <= 1.0f;
}

// A number in [0, 1) that depends on the index alone.
static float scatter(uint32_t index)
{
    uint32_t hash = index * 2654435769u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    hash ^= hash >> 13;
    return (float)(hash >> 8) * (1.0f / 16777216.0f);
}

static mpm_particle particle_at(float x, float y, mpm_vector velocity, float scale)
{
    return (mpm_particle){
        .position = mpm_scale(mpm_vector_of(x, y), scale),
        .velocity = mpm_scale(velocity, scale),
        .deformation = mpm_matrix_of(1.0f, 0.0f, 0.0f, 1.0f),
        .packing = 1.0f,
    };
}

// Fills a body with a jittered lattice.
static void fill_body(struct mpm_scene *scene, int material, float spacing)
{
    const struct body *body = &bodies[material];
    uint32_t columns = (uint32_t)(body->width / spacing), rows = (uint32_t)(body->height / spacing);
    mpm_particle *particles = check_memory(calloc((size_t)columns * rows, sizeof(*particles)));
    uint32_t count = 0;
    for (uint32_t i = 0; i < columns * rows; i++) {
        float x = ((float)(i % columns) + 0.25f + 0.5f * scatter(2 * i)) * spacing;
        float y = ((float)(i / columns) + 0.25f + 0.5f * scatter(2 * i + 1)) * spacing;
        if (body_contains(body, x, y))
            particles[count++] = particle_at(body->left + x, body->bottom + y, body->velocity,
                                             (float)scene->num_cells);
    }
    scene->num_particles[material] = count;
    scene->particles[material] = particles;
}

// Lame parameters over the density from a sound speed in sides a second.
static mpm_rules make_rules(const struct mpm_scene *scene, int material, float dt)
{
    static const float shear[MPM_NUM_MATERIALS] = { 0.0f, 0.22f, 0.09f };
    static const float bulk[MPM_NUM_MATERIALS] = { 0.9f, 0.2f, 0.06f };
    float stiffness = SOUND_SPEED * SOUND_SPEED * (float)(scene->num_cells * scene->num_cells);
    return (mpm_rules){ .material = material,
                        .num_cells = scene->num_cells,
                        .dt = dt,
                        .mu = shear[material] * stiffness,
                        .lambda = bulk[material] * stiffness };
}

void mpm_scene_init(struct mpm_scene *scene, uint32_t num_particles)
{
    float area = 0.0f;
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        area += body_area(&bodies[m]);
    float spacing = sqrtf(area / (float)num_particles);
    int blocks = (int)roundf(1.0f / (spacing * sqrtf(PARTICLES_A_CELL) * MPM_BLOCK_SIDE));
    *scene = (struct mpm_scene){ .num_cells = (blocks < 4 ? 4 : blocks) * MPM_BLOCK_SIDE };
    float dt = CELLS_A_SUBSTEP / (SOUND_SPEED * (float)scene->num_cells);
    scene->substeps = (uint32_t)ceilf(FRAME_SECONDS / dt);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        scene->rules[m] = make_rules(scene, m, FRAME_SECONDS / (float)scene->substeps);
        fill_body(scene, m, spacing);
    }
}

void mpm_scene_finish(struct mpm_scene *scene)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        free(scene->particles[m]);
}

mpm_vector mpm_scene_gravity(const struct mpm_scene *scene, uint32_t frame)
{
    float turned = frame < FRAMES_DOWN ? 0.0f : (float)(frame - FRAMES_DOWN) / (float)FRAMES_A_TURN;
    float angle = 6.2831853f * turned, strength = GRAVITY * (float)scene->num_cells;
    return mpm_vector_of(strength * sinf(angle), -strength * cosf(angle));
}
