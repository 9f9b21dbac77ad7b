// SPDX-License-Identifier: Apache-2.0
// A whole life on a device with every kind of call, in which driver calls may fail at any place.
#ifndef BRAID_TESTS_GPU_LIFE_H
#define BRAID_TESTS_GPU_LIFE_H

#include "gpu/frame.h"

struct life {
    const char *backend;
    braid_exec_mode mode;
    void (*before_destroying)(struct life *life); // called before the first destroy call
    long calls_before_destroying;                 // for that function's use
    void (*heal)(void); // called before what failed is tried again; NULL: nothing to do

    // What became of it.
    int num_failed;         // calls that returned a failure
    char returned[8 << 10]; // their messages, a line each
    char logged[8 << 10];   // what the log was told
};

// Opens a device, works on streams with events and fills of every width, makes execs with every
// kind of node, runs them, and destroys it all with work in flight. Goes on behind failures as far
// as it can. Asserts that frames behind a failed one run, and that results are right where nothing
// failed.
void life_live(struct life *life);

// For lives of other kinds. Between begin and end, the log goes to the life.
void life_begin(struct life *life);
void life_end(void);
// Notes the message of a status that is a failure; whether it is none.
bool life_note(struct life *life, braid_status status);
// Calls what the life has for it, if anything.
void life_before_destroying(struct life *life);

#endif
