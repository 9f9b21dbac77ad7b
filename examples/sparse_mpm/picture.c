// SPDX-License-Identifier: Apache-2.0
// Draws each material as a soft surface: particles are splatted into a layer, and the layer's
// density gives the outline and, through its slope, the light.
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#include "../check.h"

enum { SIDE = MPM_PICTURE_SIDE };

struct colour {
    float red, green, blue;
};

struct texel {
    float density;
    float tint; // density times what the particles there bring along: foam, or a pattern
};

struct look {
    struct colour plain, tinted;
    float gloss;
};

static const struct look looks[MPM_NUM_MATERIALS] = {
    [MPM_WATER] = { { 0.10f, 0.42f, 0.80f }, { 0.90f, 0.97f, 1.00f }, 0.5f },
    [MPM_JELLY] = { { 0.93f, 0.24f, 0.34f }, { 1.00f, 0.47f, 0.46f }, 0.6f },
    [MPM_SNOW] = { { 0.93f, 0.95f, 0.98f }, { 0.74f, 0.80f, 0.88f }, 0.25f },
};

static struct colour mix(struct colour a, struct colour b, float share)
{
    return (struct colour){ a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share,
                            a.blue + (b.blue - a.blue) * share };
}

static float smoothstep(float low, float high, float value)
{
    float t = mpm_clamp((value - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

// Splats one particle as a disc of `radius` pixels; x and y in pixels from the bottom left.
static void splat(struct texel *layer, float x, float y, float radius, float tint)
{
    int left = (int)fmaxf(x - radius, 0.0f), right = (int)fminf(x + radius, SIDE - 1.0f);
    int low = (int)fmaxf(y - radius, 0.0f), high = (int)fminf(y + radius, SIDE - 1.0f);
    for (int row = low; row <= high; row++) {
        for (int column = left; column <= right; column++) {
            float dx = ((float)column + 0.5f - x) / radius, dy = ((float)row + 0.5f - y) / radius;
            float weight = 1.0f - dx * dx - dy * dy;
            if (weight <= 0.0f)
                continue;
            struct texel *texel = &layer[(SIDE - 1 - row) * SIDE + column];
            texel->density += weight * weight;
            texel->tint += weight * weight * tint;
        }
    }
}

// Speckles that stay with the body.
static float speckle(uint32_t index)
{
    return (float)((index * 2654435769u) >> 28) / 16.0f;
}

// A chequered pattern that shows how a body is deformed.
static float chequer(const struct mpm_scene *scene, mpm_vector origin)
{
    float square = (float)scene->num_cells / 22.0f;
    return fmodf(floorf(origin.x / square) + floorf(origin.y / square), 2.0f);
}

static float water_tint(const struct mpm_scene *scene, const mpm_particle *particle,
                        const unsigned *foam)
{
    int x = (int)particle->position.x, y = (int)particle->position.y;
    float speed = sqrtf(mpm_dot(particle->velocity, particle->velocity)) / (float)scene->num_cells;
    return fmaxf(0.9f * smoothstep(0.0f, 2500.0f, (float)foam[y * scene->num_cells + x]),
                 0.35f * smoothstep(1.0f, 9.0f, speed));
}

static float tint_of(const struct mpm_scene *scene, int material, uint32_t index,
                     const mpm_particle *particle, const unsigned *foam)
{
    if (material == MPM_WATER)
        return water_tint(scene, particle, foam);
    if (material == MPM_SNOW)
        return speckle(index);
    return chequer(scene, scene->particles[material][index].position);
}

static void splat_material(struct texel *layer, const struct mpm_scene *scene, int material,
                           const mpm_particle *particles, const unsigned *foam)
{
    float scale = (float)SIDE / (float)scene->num_cells;
    for (uint32_t i = 0; i < scene->num_particles[material]; i++)
        splat(layer, particles[i].position.x * scale, particles[i].position.y * scale, 1.1f * scale,
              tint_of(scene, material, i, &particles[i], foam));
}

// How much of the light from the upper left a surface of this density reflects.
static float light_at(const struct texel *layer, int row, int column)
{
    int step = 3;
    if (row < step || column < step || row >= SIDE - step || column >= SIDE - step)
        return 0.0f;
    float right = smoothstep(0.1f, 2.5f, layer[row * SIDE + column + step].density);
    float left = smoothstep(0.1f, 2.5f, layer[row * SIDE + column - step].density);
    float below = smoothstep(0.1f, 2.5f, layer[(row + step) * SIDE + column].density);
    float above = smoothstep(0.1f, 2.5f, layer[(row - step) * SIDE + column].density);
    return 0.45f * (right - left) + 0.9f * (below - above);
}

static struct colour background(int row)
{
    return mix((struct colour){ 0.07f, 0.09f, 0.16f }, (struct colour){ 0.25f, 0.30f, 0.42f },
               (float)row / SIDE);
}

static struct colour shade(const struct look *look, const struct texel *layer, int row, int column)
{
    const struct texel *texel = &layer[row * SIDE + column];
    struct colour colour = mix(look->plain, look->tinted, texel->tint / (texel->density + 1e-6f));
    float light = look->gloss * light_at(layer, row, column);
    struct colour target = light > 0.0f ? (struct colour){ 1, 1, 1 } : (struct colour){ 0, 0, 0 };
    return mix(colour, target, mpm_clamp(fabsf(light), 0.0f, 0.8f));
}

static void compose(struct mpm_picture *picture, struct texel *const *layers, int row, int column)
{
    struct colour colour = background(row);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        float cover = smoothstep(0.3f, 0.9f, layers[m][row * SIDE + column].density);
        if (m == MPM_WATER)
            cover *= 0.93f;
        if (cover > 0.0f)
            colour = mix(colour, shade(&looks[m], layers[m], row, column), cover);
    }
    uint8_t *pixel = picture->pixels[row * SIDE + column];
    pixel[0] = (uint8_t)(255.0f * colour.red);
    pixel[1] = (uint8_t)(255.0f * colour.green);
    pixel[2] = (uint8_t)(255.0f * colour.blue);
}

void mpm_picture_draw(struct mpm_picture *picture, const struct mpm_scene *scene,
                      mpm_particle *const *particles, const unsigned *foam)
{
    struct texel *layers[MPM_NUM_MATERIALS];
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        layers[m] = check_memory(calloc((size_t)SIDE * SIDE, sizeof(**layers)));
        splat_material(layers[m], scene, m, particles[m], foam);
    }
    picture->pixels = check_memory(calloc((size_t)SIDE * SIDE, sizeof(*picture->pixels)));
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            compose(picture, layers, row, column);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        free(layers[m]);
}

void mpm_picture_finish(struct mpm_picture *picture)
{
    free(picture->pixels);
}
