// SPDX-License-Identifier: Apache-2.0
// The physics of MLS-MPM (Hu et al. 2018) in 2D, for one particle and for one cell.
//
// C for the CPU and the sequential reference, and part of the device source for CUDA and HIP.
// Lengths are in cells, times in seconds, and every particle has mass 1 and volume 1/density, so
// stresses are divided by the density: (cells/s)^2.
//
// All devices compute the same bits: products go through mpm_times(), which no compiler may fuse
// with a following sum; there are no library functions but sqrtf, which IEEE 754 fixes; and what
// many particles add to one cell is summed as integers, whose sum does not depend on the order.
#ifndef MPM_PHYSICS_H
#define MPM_PHYSICS_H

#ifndef MPM_ON_DEVICE
#include <math.h>
#define MPM_SHARED static inline
#endif

// Sums of masses and momenta, in units of 2^-32.
typedef long long mpm_fixed;

typedef struct mpm_vector {
    float x, y;
} mpm_vector;

typedef struct mpm_matrix {
    float xx, xy, yx, yy;
} mpm_matrix;

enum mpm_material { MPM_WATER = 0, MPM_JELLY = 1, MPM_SNOW = 2, MPM_NUM_MATERIALS = 3 };

typedef struct mpm_particle {
    mpm_vector position, velocity;
    mpm_matrix affine;      // C: how the velocity changes around the particle
    mpm_matrix deformation; // F: from the shape at rest to the shape now; water: J in .xx
    float packing;          // snow: volume lost for good, 1 when fresh
} mpm_particle;

// What a particle of one material needs to know about the world.
typedef struct mpm_rules {
    int material;
    int num_cells; // the grid's, along each side
    float dt;      // a substep's
    float mu, lambda;
} mpm_rules;

// Mass and momentum of a cell.
typedef struct mpm_cell {
    mpm_fixed mass, momentum_x, momentum_y;
} mpm_cell;

// The 3 x 3 cells round a particle, with quadratic B-spline weights.
typedef struct mpm_stencil {
    int x, y;                       // the first cell
    float weight_x[3], weight_y[3]; //
    float offset_x, offset_y;       // from the first cell to the particle
} mpm_stencil;

// Walls are this many cells thick; particles keep the same distance from the grid's border.
#define MPM_WALL 3

MPM_SHARED float mpm_times(float a, float b)
{
#ifdef __CUDACC_RTC__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

MPM_SHARED mpm_vector mpm_vector_of(float x, float y)
{
    mpm_vector v = { x, y };
    return v;
}

MPM_SHARED mpm_vector mpm_add(mpm_vector a, mpm_vector b)
{
    return mpm_vector_of(a.x + b.x, a.y + b.y);
}

MPM_SHARED mpm_vector mpm_subtract(mpm_vector a, mpm_vector b)
{
    return mpm_vector_of(a.x - b.x, a.y - b.y);
}

MPM_SHARED mpm_vector mpm_scale(mpm_vector a, float s)
{
    return mpm_vector_of(mpm_times(a.x, s), mpm_times(a.y, s));
}

MPM_SHARED float mpm_dot(mpm_vector a, mpm_vector b)
{
    return mpm_times(a.x, b.x) + mpm_times(a.y, b.y);
}

MPM_SHARED mpm_vector mpm_apply(mpm_matrix m, mpm_vector v)
{
    return mpm_vector_of(mpm_times(m.xx, v.x) + mpm_times(m.xy, v.y),
                         mpm_times(m.yx, v.x) + mpm_times(m.yy, v.y));
}

MPM_SHARED mpm_matrix mpm_matrix_of(float xx, float xy, float yx, float yy)
{
    mpm_matrix m = { xx, xy, yx, yy };
    return m;
}

MPM_SHARED mpm_matrix mpm_matrix_add(mpm_matrix a, mpm_matrix b)
{
    return mpm_matrix_of(a.xx + b.xx, a.xy + b.xy, a.yx + b.yx, a.yy + b.yy);
}

MPM_SHARED mpm_matrix mpm_matrix_scale(mpm_matrix m, float s)
{
    return mpm_matrix_of(mpm_times(m.xx, s), mpm_times(m.xy, s), mpm_times(m.yx, s),
                         mpm_times(m.yy, s));
}

MPM_SHARED mpm_matrix mpm_multiply(mpm_matrix a, mpm_matrix b)
{
    return mpm_matrix_of(mpm_times(a.xx, b.xx) + mpm_times(a.xy, b.yx),
                         mpm_times(a.xx, b.xy) + mpm_times(a.xy, b.yy),
                         mpm_times(a.yx, b.xx) + mpm_times(a.yy, b.yx),
                         mpm_times(a.yx, b.xy) + mpm_times(a.yy, b.yy));
}

MPM_SHARED mpm_matrix mpm_transpose(mpm_matrix m)
{
    return mpm_matrix_of(m.xx, m.yx, m.xy, m.yy);
}

MPM_SHARED float mpm_determinant(mpm_matrix m)
{
    return mpm_times(m.xx, m.yy) - mpm_times(m.xy, m.yx);
}

MPM_SHARED float mpm_clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

// The rotation R of the polar decomposition F = R S.
MPM_SHARED mpm_matrix mpm_rotation(mpm_matrix f)
{
    float cosine = f.xx + f.yy, sine = f.yx - f.xy;
    float length = sqrtf(mpm_times(cosine, cosine) + mpm_times(sine, sine));
    if (length < 1e-12f)
        return mpm_matrix_of(1.0f, 0.0f, 0.0f, 1.0f);
    cosine = cosine / length;
    sine = sine / length;
    return mpm_matrix_of(cosine, -sine, sine, cosine);
}

MPM_SHARED mpm_fixed mpm_to_fixed(float value)
{
    return (mpm_fixed)mpm_times(value, 4294967296.0f);
}

MPM_SHARED float mpm_from_fixed(mpm_fixed value)
{
    return mpm_times((float)value, 1.0f / 4294967296.0f);
}

MPM_SHARED float mpm_square(float a)
{
    return mpm_times(a, a);
}

MPM_SHARED void mpm_weights(float offset, float *weight)
{
    weight[0] = mpm_times(0.5f, mpm_square(1.5f - offset));
    weight[1] = 0.75f - mpm_square(offset - 1.0f);
    weight[2] = mpm_times(0.5f, mpm_square(offset - 0.5f));
}

MPM_SHARED mpm_stencil mpm_stencil_at(mpm_vector position)
{
    mpm_stencil stencil;
    stencil.x = (int)(position.x - 0.5f);
    stencil.y = (int)(position.y - 0.5f);
    stencil.offset_x = position.x - (float)stencil.x;
    stencil.offset_y = position.y - (float)stencil.y;
    mpm_weights(stencil.offset_x, stencil.weight_x);
    mpm_weights(stencil.offset_y, stencil.weight_y);
    return stencil;
}

MPM_SHARED float mpm_weight(const mpm_stencil *stencil, int i, int j)
{
    return mpm_times(stencil->weight_x[i], stencil->weight_y[j]);
}

// From the particle to cell (i, j) of its stencil.
MPM_SHARED mpm_vector mpm_to_cell(const mpm_stencil *stencil, int i, int j)
{
    return mpm_vector_of((float)i - stencil->offset_x, (float)j - stencil->offset_y);
}

// Packed snow is stiffer: e^(10 (1 - packing)), as (1 + x/16)^16 to have the same bits everywhere.
MPM_SHARED float mpm_hardening(float packing)
{
    float factor = 1.0f + mpm_times(10.0f / 16.0f, 1.0f - packing);
    factor = mpm_square(mpm_square(mpm_square(mpm_square(factor))));
    return mpm_clamp(factor, 0.1f, 4.0f);
}

// Kirchhoff stress: fixed-corotated for solids, pressure alone for water.
MPM_SHARED mpm_matrix mpm_stress(const mpm_rules *rules, const mpm_particle *particle)
{
    if (rules->material == MPM_WATER) {
        float volume = particle->deformation.xx;
        float pressure = mpm_times(mpm_times(rules->lambda, volume), volume - 1.0f);
        return mpm_matrix_of(pressure, 0.0f, 0.0f, pressure);
    }
    float hardening = rules->material == MPM_SNOW ? mpm_hardening(particle->packing) : 1.0f;
    float mu = mpm_times(rules->mu, hardening), lambda = mpm_times(rules->lambda, hardening);
    mpm_matrix f = particle->deformation;
    float volume = mpm_determinant(f);
    mpm_matrix strain = mpm_matrix_add(f, mpm_matrix_scale(mpm_rotation(f), -1.0f));
    mpm_matrix shear = mpm_matrix_scale(mpm_multiply(strain, mpm_transpose(f)), mu + mu);
    float pressure = mpm_times(mpm_times(lambda, volume), volume - 1.0f);
    return mpm_matrix_add(shear, mpm_matrix_of(pressure, 0.0f, 0.0f, pressure));
}

// How the momentum that a particle gives to the cells round it depends on their place: its affine
// velocity, less the impulse of its stress.
MPM_SHARED mpm_matrix mpm_transfer(const mpm_rules *rules, const mpm_particle *particle)
{
    mpm_matrix stress = mpm_stress(rules, particle);
    return mpm_matrix_add(particle->affine, mpm_matrix_scale(stress, mpm_times(-4.0f, rules->dt)));
}

// What a particle adds to cell (i, j) of its stencil.
MPM_SHARED mpm_cell mpm_share(const mpm_particle *particle, const mpm_matrix *transfer,
                              const mpm_stencil *stencil, int i, int j)
{
    float weight = mpm_weight(stencil, i, j);
    mpm_vector momentum =
        mpm_add(particle->velocity, mpm_apply(*transfer, mpm_to_cell(stencil, i, j)));
    mpm_cell share;
    share.mass = mpm_to_fixed(weight);
    share.momentum_x = mpm_to_fixed(mpm_times(weight, momentum.x));
    share.momentum_y = mpm_to_fixed(mpm_times(weight, momentum.y));
    return share;
}

MPM_SHARED mpm_vector mpm_mean_velocity(mpm_cell cell)
{
    float mass = mpm_from_fixed(cell.mass);
    return mpm_vector_of(mpm_from_fixed(cell.momentum_x) / mass,
                         mpm_from_fixed(cell.momentum_y) / mass);
}

// Two materials in one cell may slide along each other but not move into each other: `all` is the
// cell of all materials together, `outward` points out of this material.
MPM_SHARED mpm_vector mpm_contact(mpm_vector velocity, mpm_cell all, mpm_vector outward)
{
    mpm_vector common = mpm_mean_velocity(all);
    float length = sqrtf(mpm_dot(outward, outward));
    if (length < 1e-6f)
        return common;
    mpm_vector normal = mpm_scale(outward, 1.0f / length);
    float approach = mpm_dot(mpm_subtract(velocity, common), normal);
    return approach > 0.0f ? mpm_subtract(velocity, mpm_scale(normal, approach)) : velocity;
}

MPM_SHARED float mpm_wall(float velocity, int cell, int num_cells)
{
    if (cell < MPM_WALL && velocity < 0.0f)
        return 0.0f;
    return cell >= num_cells - MPM_WALL && velocity > 0.0f ? 0.0f : velocity;
}

// The velocity of cell (x, y) of one material after a substep of gravity, contact and walls.
// `neighbours` are the masses of this material left, right, below and above.
MPM_SHARED mpm_vector mpm_cell_velocity(const mpm_rules *rules, int x, int y, mpm_cell own,
                                        mpm_cell all, const mpm_fixed *neighbours,
                                        mpm_vector gravity)
{
    if (own.mass <= 0)
        return mpm_vector_of(0.0f, 0.0f);
    mpm_vector velocity = mpm_mean_velocity(own);
    if (all.mass > own.mass) {
        mpm_vector outward = mpm_vector_of(mpm_from_fixed(neighbours[0] - neighbours[1]),
                                           mpm_from_fixed(neighbours[2] - neighbours[3]));
        velocity = mpm_contact(velocity, all, outward);
    }
    velocity = mpm_add(velocity, mpm_scale(gravity, rules->dt));
    return mpm_vector_of(mpm_wall(velocity.x, x, rules->num_cells),
                         mpm_wall(velocity.y, y, rules->num_cells));
}

// Snow gives way beyond a small strain: the principal stretches are clamped, and the volume that
// this takes away is remembered as packing.
MPM_SHARED void mpm_pack_snow(mpm_particle *particle)
{
    mpm_matrix rotation = mpm_rotation(particle->deformation);
    mpm_matrix stretch = mpm_multiply(mpm_transpose(rotation), particle->deformation);
    float mean = mpm_times(0.5f, stretch.xx + stretch.yy);
    float half = mpm_times(0.5f, stretch.xx - stretch.yy);
    float radius = sqrtf(mpm_square(half) + mpm_square(stretch.xy));
    float large = mpm_clamp(mean + radius, 1.0f - 0.025f, 1.0f + 0.0045f);
    float small = mpm_clamp(mean - radius, 1.0f - 0.025f, 1.0f + 0.0045f);
    float new_mean = mpm_times(0.5f, large + small);
    float ratio = radius > 1e-9f ? mpm_times(0.5f, large - small) / radius : 0.0f;
    float new_half = mpm_times(half, ratio), shear = mpm_times(stretch.xy, ratio);
    float lost = mpm_times(mean + radius, mean - radius) / mpm_times(large, small);
    particle->packing = mpm_clamp(mpm_times(particle->packing, lost), 0.6f, 2.0f);
    particle->deformation = mpm_multiply(
        rotation, mpm_matrix_of(new_mean + new_half, shear, shear, new_mean - new_half));
}

// The new shape of a particle after dt in the velocity field round it.
MPM_SHARED void mpm_deform(const mpm_rules *rules, mpm_particle *particle)
{
    mpm_matrix step = mpm_matrix_scale(particle->affine, rules->dt);
    if (rules->material == MPM_WATER) {
        // Water resists being pressed, hardly being pulled apart: spray does not stick together.
        float volume = mpm_times(particle->deformation.xx, 1.0f + step.xx + step.yy);
        particle->deformation.xx = mpm_clamp(volume, 0.6f, 1.001f);
        return;
    }
    step = mpm_matrix_add(step, mpm_matrix_of(1.0f, 0.0f, 0.0f, 1.0f));
    particle->deformation = mpm_multiply(step, particle->deformation);
    if (rules->material == MPM_SNOW)
        mpm_pack_snow(particle);
}

MPM_SHARED float mpm_stay_inside(float position, int num_cells)
{
    return mpm_clamp(position, (float)MPM_WALL - 0.5f, (float)(num_cells - MPM_WALL) + 0.5f);
}

// Before a particle gathers its new velocity from the grid.
MPM_SHARED void mpm_forget_velocity(mpm_particle *particle)
{
    particle->velocity = mpm_vector_of(0.0f, 0.0f);
    particle->affine = mpm_matrix_of(0.0f, 0.0f, 0.0f, 0.0f);
}

// Adds what one cell of the stencil tells the particle about its velocity.
MPM_SHARED void mpm_gather(mpm_particle *particle, const mpm_stencil *stencil, int i, int j,
                           mpm_vector cell_velocity)
{
    mpm_vector weighted = mpm_scale(cell_velocity, mpm_weight(stencil, i, j));
    mpm_vector far = mpm_scale(mpm_to_cell(stencil, i, j), 4.0f);
    particle->velocity = mpm_add(particle->velocity, weighted);
    particle->affine =
        mpm_matrix_add(particle->affine,
                       mpm_matrix_of(mpm_times(weighted.x, far.x), mpm_times(weighted.x, far.y),
                                     mpm_times(weighted.y, far.x), mpm_times(weighted.y, far.y)));
}

// Moves a particle that has gathered its velocity.
MPM_SHARED void mpm_advance(const mpm_rules *rules, mpm_particle *particle)
{
    mpm_vector moved = mpm_add(particle->position, mpm_scale(particle->velocity, rules->dt));
    particle->position.x = mpm_stay_inside(moved.x, rules->num_cells);
    particle->position.y = mpm_stay_inside(moved.y, rules->num_cells);
    mpm_deform(rules, particle);
}

// How much foam a particle of water makes in a substep: fast, loose water foams.
MPM_SHARED unsigned mpm_foam_made(const mpm_rules *rules, const mpm_particle *particle)
{
    float tearing = particle->affine.xx + particle->affine.yy;
    float speed = sqrtf(mpm_dot(particle->velocity, particle->velocity));
    float limit = mpm_times((float)rules->num_cells, 4.0f);
    if (rules->material != MPM_WATER || particle->deformation.xx < 1.0f || speed < limit)
        return 0;
    return (unsigned)mpm_clamp(tearing, 0.0f, 200.0f);
}

// What is left of a cell's foam after a frame.
MPM_SHARED unsigned mpm_foam_left(unsigned foam)
{
    unsigned lost = (foam >> 4) + 1;
    return foam > lost ? foam - lost : 0;
}

#endif
