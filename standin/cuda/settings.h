// SPDX-License-Identifier: Apache-2.0
// The numbers a test sets through the environment or standin_configure().
#ifndef BRAID_STANDIN_SETTINGS_H
#define BRAID_STANDIN_SETTINGS_H

#include <stdint.h>

enum setting {
    SETTING_DEVICES,         // how many devices there are
    SETTING_MEMORY,          // bytes of memory a device has
    SETTING_SEED,            // starts every random choice
    SETTING_SLOW_US,         // mean delay before a work item, in microseconds
    SETTING_GRAPH_THREADS,   // how many nodes of one graph may run at once
    SETTING_MULTIPROCESSORS, // each device has so many
    SETTING_CLOCK_NS,        // a step of the clock of events; 0: it is the host's
    SETTING_PEERS,           // whether devices can be given access to each other's memory
    SETTING_PTX,             // whether entries without a host function run as PTX
    SETTING_VERSION,         // the driver's
    SETTING_PIECES,          // memory counts as mapped in pieces of so many bytes; 0: as a whole
    SETTING_ONE_QUEUE,       // whether all streams share one queue of the hardware
    SETTING_REUSE,           // whether a new object gets the handle of the last that went
    SETTING_HOST_OFFSET,     // bytes by which devices have memory of the host elsewhere
    SETTING_AREA,            // bytes of the host around a reserved wish; 0: none
    NUM_SETTINGS,
};

enum { MAX_DEVICES = 8, MAX_GRAPH_THREADS = 16 };

void settings_load(void); // reads the environment, once
uint64_t setting(enum setting which);

// A small, fast generator with a good spread: the same seed and stream give the same numbers.
uint64_t random_next(uint64_t *state);
uint64_t random_start(uint64_t stream);

#endif
