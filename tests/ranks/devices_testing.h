// SPDX-License-Identifier: Apache-2.0
// What tests of ranks on devices share: every rank makes every test, each with a job of its own.
#ifndef BRAID_TESTS_DEVICES_TESTING_H
#define BRAID_TESTS_DEVICES_TESTING_H

#include <braid/braid.h>

#include "support/check.h"

enum { COUNT = 5000, NUM_FRAMES = 3 };

extern braid_communicator *world, *other, *hosts; // `hosts` is on no device
extern uint32_t rank, num;
extern braid_device *device;
extern braid_exec_mode mode;

struct memory {
    int64_t *device, *host;
};

struct job {
    braid_graph *graph;
    braid_resource world, other;
    braid_exec *exec;
    struct memory memories[16];
    size_t num_memories;
};

int begin_job(void **state);
int end_job(void **state);
// Numbers on the device, which a first node brings there, and their buffer.
struct memory add_memory(struct job *job, const char *name, uint64_t count, int64_t first,
                         braid_resource *out_buffer);
// Brings them back, behind all that writes them.
void add_return(struct job *job, struct memory memory, uint64_t count, braid_resource buffer);
braid_node add(struct job *job, const char *name, braid_rank_operation operation,
               braid_communication given, braid_resource from, braid_resource to);
// The sum over all ranks, in place.
void add_sum(struct job *job, const char *name, int64_t *cells, braid_resource buffer,
             braid_resource communicator);
void create(struct job *job);
void run(struct job *job);
// All ranks make it on the host, so that it says nothing of the device's communicators.
void meet(void);

// communicators_are_in_flight_once.c
void test_a_communicator_is_in_one_graph_in_flight(void **state);
void test_an_exec_that_goes_ends_no_frame_of_another(void **state);

#endif
