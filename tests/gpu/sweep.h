// SPDX-License-Identifier: Apache-2.0
// A sweep: life after life, and in each one call fails. Some call of the life returns the failure,
// or the log has it where calls return nothing, or a row of the sweep says why nobody is told. Of
// each path to a call, the first and the last fail.
// BRAID_SWEEP_ONLY=TEXT: functions whose names contain it, in any case, fail, and no others. For
// mutants: who knows which call is wrong need not wait for all others to fail.
// BRAID_SWEEP_STEP=N: of each Nth path, the first call or allocation fails. For sanitizers, under
// which a life takes many times as long.
#ifndef BRAID_TESTS_GPU_SWEEP_H
#define BRAID_TESTS_GPU_SWEEP_H

#include <stdbool.h>

#include "gpu/life.h"

// Who makes calls fail: the stand-in CUDA driver, the interposer before HIP, allocations.
struct interposer {
    void (*note)(bool on); // has call_paths_note told of each call, or of none any more
    // Fails the nth call of a function from now on, with a code; NULL: none.
    void (*let_fail)(const char *function, long nth, int code);
    long (*calls)(const char *function); // so far
    void (*begin)(void);                 // before a life; NULL: nothing to do
    // Asserts that a life has left nothing behind, but what a function left that failed; NULL for
    // the function: none did. NULL: asserts nothing.
    void (*check_left)(const char *function);
    // What fails, where it is not each function that was noted: the ith function, and the numbers
    // of its calls.
    const char *(*function)(size_t i);
    size_t (*choose)(const char *function, long *out_numbers, size_t most);
};

// What failures of functions look like, beside their names in a message.
struct sweep_words {
    const char *function; // that function; with a text, those whose names begin so
    const char *text;     // messages have it instead of the name; NULL: nobody need be told
    bool goes_on;         // if the log has both text and name, nobody else need be told
    bool destroying;      // holds while destroying only
    const char *reason;
};

struct sweep {
    const struct interposer *interposer;
    void (*live)(struct life *life);
    struct life life;                         // as each begins: backend, mode, what heals
    void (*set_up)(void), (*tear_down)(void); // around each life, where nothing fails; or NULL
    const struct sweep_words *words;          // up to one without a function
    int code;                                 // with which calls fail
    int frames;                               // how many callers make a path
    long step, phase;                         // as call_paths_choose has them
    int least;                                // more failures than this are told at step 1
};

// Lives through it all, and prints how many failures were told.
void sweep_run(const struct sweep *sweep, const char *name);

// A call that destroys and fails leaves its object with the driver: nobody can help that.
bool sweep_may_leave_its_object(const char *function);

// 1, or what BRAID_SWEEP_STEP says.
long sweep_step(void);
bool sweep_is_shortened(void);

// The stand-in CUDA driver (sweep_cuda.c), and what it tells nobody of.
extern const struct interposer cuda_calls;
#define CUDA_WORDS                                                                                 \
    { "cuCtx", .text = "when the device was made current" },                                       \
        { "cuCtxGetCurrent", .reason = "made a second time" },                                     \
        { "cuCtxSetCurrent", .reason = "made a second time" },                                     \
        { "cuThreadExchangeStreamCaptureMode", .reason = "made a second time" },                   \
        { "cuStreamSynchronize", .destroying = true, .reason = "made a second time" },             \
    {                                                                                              \
        "cuEventSynchronize", .destroying = true, .reason = "made a second time"                   \
    }

#endif
