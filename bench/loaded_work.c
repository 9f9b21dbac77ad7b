// SPDX-License-Identifier: Apache-2.0
// Works of the bench of loaded machines: a particle simulation by a loop, a frame of many nodes,
// bundles of preludes and epilogues, and one grid.
#include <math.h>
#include <string.h>

#include "loaded.h"
#include "replay.h"

// ---- the simulation ----

// A row of particles between springs. Each block has a range of them, and reads its neighbours'.
enum { NUM_PARTICLES = 1 << 15, NUM_BLOCKS = 64, PER_BLOCK = NUM_PARTICLES / NUM_BLOCKS };

static struct {
    float place[NUM_PARTICLES], speed[NUM_PARTICLES], force[NUM_PARTICLES];
    float density[NUM_PARTICLES], pressure[NUM_PARTICLES];
} rows;

static void find_density(void *user, uint32_t begin, uint32_t end)
{
    (void)user;
    for (uint32_t i = begin * PER_BLOCK; i < end * PER_BLOCK; i++) {
        float left = rows.place[i ? i - 1 : i],
              right = rows.place[i + 1 < NUM_PARTICLES ? i + 1 : i];
        rows.density[i] = 2 / (sqrtf((right - left) * (right - left) + 0.01f) + 0.1f);
    }
}

static void find_pressure(void *user, uint32_t begin, uint32_t end)
{
    (void)user;
    for (uint32_t i = begin * PER_BLOCK; i < end * PER_BLOCK; i++)
        rows.pressure[i] = sqrtf(rows.density[i] * rows.density[i] * rows.density[i] + 1) / 3;
}

static void find_force(void *user, uint32_t begin, uint32_t end)
{
    (void)user;
    for (uint32_t i = begin * PER_BLOCK; i < end * PER_BLOCK; i++) {
        float left = rows.pressure[i ? i - 1 : i];
        float right = rows.pressure[i + 1 < NUM_PARTICLES ? i + 1 : i];
        rows.force[i] = (left - right) / (rows.density[i] + sqrtf(rows.density[i] + 0.5f));
    }
}

static void change_speed(void *user, uint32_t begin, uint32_t end)
{
    (void)user;
    for (uint32_t i = begin * PER_BLOCK; i < end * PER_BLOCK; i++) {
        float speed = rows.speed[i] + 0.001f * rows.force[i];
        rows.speed[i] = speed / sqrtf(1 + 0.1f * speed * speed);
    }
}

static void change_place(void *user, uint32_t begin, uint32_t end)
{
    (void)user;
    for (uint32_t i = begin * PER_BLOCK; i < end * PER_BLOCK; i++) {
        float place = rows.place[i] + 0.001f * rows.speed[i];
        rows.place[i] = place / sqrtf(1 + 1e-7f * place * place);
    }
}

// Several passes over the same range stand for a heavier kernel: about 0.5 ms.
static void (*const kernels[])(void *user, uint32_t begin,
                               uint32_t end) = { find_density, find_pressure, find_force,
                                                 change_speed, change_place };
static uint32_t num_passes = 1;

static void pass(void *user, uint32_t begin, uint32_t end)
{
    void (*kernel)(void *, uint32_t, uint32_t) = kernels[*(const uint32_t *)user];
    for (uint32_t i = 0; i < num_passes; i++)
        kernel(NULL, begin, end);
}

// ---- bodies ----

static uint64_t sums[LOADED_MOST_STEPS][NUM_BLOCKS];
static uint64_t steps_of_10us;

static uint64_t mix(uint64_t value, uint64_t num_steps)
{
    for (uint64_t i = 0; i < num_steps; i++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

struct body {
    uint32_t step;
    uint64_t of_10us; // how many
};

static void run_body(void *user, uint32_t begin, uint32_t end)
{
    const struct body *body = user;
    for (uint32_t i = begin; i < end; i++)
        sums[body->step][i] = mix(sums[body->step][i] + i, body->of_10us * steps_of_10us);
}

uint64_t loaded_steps_of_10us(void)
{
    enum { NUM_TRIES = 50, NUM_STEPS = 20000 };
    uint64_t least = UINT64_MAX;
    volatile uint64_t kept = 1;
    for (int i = 0; i < NUM_TRIES; i++) {
        uint64_t begin = replay_now_ns();
        kept = mix(kept, NUM_STEPS);
        uint64_t ns = replay_now_ns() - begin;
        least = ns < least ? ns : least;
    }
    return NUM_STEPS * UINT64_C(10000) / (least ? least : 1);
}

// ---- works ----

const char *const loaded_work_names[] = { "loop", "frame", "bundles", "grid" };
const uint32_t loaded_num_works = sizeof(loaded_work_names) / sizeof(loaded_work_names[0]);

static struct loaded_step *add_body(struct loaded_work *work, uint64_t of_10us, uint32_t num_blocks)
{
    static struct body bodies[LOADED_MOST_STEPS];
    uint32_t i = work->num_steps++;
    bodies[i] = (struct body){ i, of_10us };
    work->steps[i] = (struct loaded_step){ .run = run_body,
                                           .user = &bodies[i],
                                           .num_blocks = num_blocks,
                                           .cost_ns = of_10us * 10000 * num_blocks };
    return &work->steps[i];
}

static void put_behind(struct loaded_step *step, uint32_t before)
{
    step->before[step->num_before++] = before;
}

// Ten times five kernels.
static void make_loop(struct loaded_work *work)
{
    static uint32_t numbers[] = { 0, 1, 2, 3, 4 };
    for (uint32_t i = 0; i < NUM_PARTICLES; i++)
        rows.place[i] = (float)i + 0.3f * (float)(i % 7);
    work->times = 10;
    work->is_row = true;
    for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        work->steps[work->num_steps++] = (struct loaded_step){
            .run = pass, .user = &numbers[i], .num_blocks = NUM_BLOCKS, .cost_ns = 500000
        };
        if (i)
            put_behind(&work->steps[i], i - 1);
    }
}

// Rows of eight nodes of 50 us, each behind two of the row before.
static void make_frame(struct loaded_work *work)
{
    for (uint32_t i = 0; i < 200; i++) {
        struct loaded_step *step = add_body(work, 5, 1);
        if (i >= 8) {
            put_behind(step, i - 8);
            put_behind(step, i / 8 * 8 - 8 + (i * 5 + 3) % 8);
        }
    }
}

// Three rows of twelve bundles: 20 us, 200 us, 20 us.
static void make_bundles(struct loaded_work *work)
{
    enum { WIDTH = 12 };
    for (uint32_t i = 0; i < 3 * WIDTH; i++) {
        struct loaded_step *step = add_body(work, 2, 1);
        step->main = -1;
        step->main_step = 3 * i + 1;
        if (i >= WIDTH) {
            put_behind(step, 3 * (i - WIDTH) + 2);
            put_behind(step, 3 * (i / WIDTH * WIDTH - WIDTH + (i + 5) % WIDTH) + 2);
        }
        put_behind(add_body(work, 20, 1), 3 * i);
        step = add_body(work, 2, 1);
        step->main = 1;
        step->main_step = 3 * i + 1;
        put_behind(step, 3 * i + 1);
    }
}

static void make_grid(struct loaded_work *work)
{
    work->is_row = true;
    add_body(work, 16, NUM_BLOCKS);
}

struct loaded_work *loaded_work_create(uint32_t kind, uint64_t steps)
{
    static void (*const make[])(struct loaded_work * work) = { make_loop, make_frame, make_bundles,
                                                               make_grid };
    struct loaded_work *work = replay_allocate(1, sizeof(*work));
    work->name = loaded_work_names[kind];
    work->times = 1;
    steps_of_10us = steps;
    num_passes = 8;
    make[kind](work);
    return work;
}

uint64_t loaded_work_result(const struct loaded_work *work)
{
    uint64_t result = 1;
    (void)work;
    for (uint32_t i = 0; i < LOADED_MOST_STEPS; i++) {
        for (uint32_t k = 0; k < NUM_BLOCKS; k++)
            result = mix(result + sums[i][k], 1);
    }
    for (uint32_t i = 0; i < NUM_PARTICLES; i++) {
        uint32_t bits;
        memcpy(&bits, &rows.place[i], sizeof(bits));
        result = mix(result + bits, 1);
    }
    return result;
}
