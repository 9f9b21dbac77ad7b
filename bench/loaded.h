// SPDX-License-Identifier: Apache-2.0
// What the parts of the bench of loaded machines share: works, and ways to run them.
#ifndef BRAID_BENCH_LOADED_H
#define BRAID_BENCH_LOADED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOADED_WORKERS = 2, LOADED_MOST_STEPS = 256, LOADED_MOST_BEFORE = 3 };

// Blocks that may run at once. Steps of one block are whole nodes.
struct loaded_step {
    void (*run)(void *user, uint32_t begin, uint32_t end);
    void *user;
    uint32_t num_blocks;
    uint32_t before[LOADED_MOST_BEFORE]; // earlier steps, which end before this one begins
    uint32_t num_before;
    int32_t main; // it is a prelude (-1) or an epilogue (1) of the step `main_step`; 0: neither
    uint32_t main_step;
    uint64_t cost_ns;
};

// A frame: all steps, so many times.
struct loaded_work {
    const char *name;
    bool is_row; // each step is behind the one before
    uint32_t times, num_steps;
    struct loaded_step steps[LOADED_MOST_STEPS];
};

extern const char *const loaded_work_names[];
extern const uint32_t loaded_num_works;
// One body takes `steps` dependent steps for each 10 us.
struct loaded_work *loaded_work_create(uint32_t kind, uint64_t steps);
// What the frames so far have computed.
uint64_t loaded_work_result(const struct loaded_work *work);
uint64_t loaded_steps_of_10us(void);

// A way to run a work. play runs one frame and returns when it has ended.
struct loaded_way {
    const char *name;
    const char *wait_policy; // OpenMP's, in the environment; NULL: it has no effect
    void *(*create)(const struct loaded_work *work);
    void (*play)(void *state);
};

extern const struct loaded_way loaded_plain, loaded_braid, loaded_braid_streams;
extern const struct loaded_way loaded_openmp_passive, loaded_openmp_active;
extern const struct loaded_way loaded_tbb, loaded_taskflow;

// loaded_loads.c: other programs that use the machine.
extern const char *const loaded_load_names[];
extern const uint32_t loaded_num_loads;
void loaded_load_start(uint32_t kind);
void loaded_load_stop(void);

#ifdef __cplusplus
}
#endif

#endif
