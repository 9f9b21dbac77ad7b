// SPDX-License-Identifier: Apache-2.0
// What all contract tests share: the device under test, and objects that are freed after each test,
// however it ends. The same tests run on every backend and in every mode:
// BRAID_TEST_BACKEND=cpu|cuda|hip (default cpu), BRAID_TEST_MODE=streams|graph|island (default
// streams). BRAID_TEST_POOL=1: all execs are of one pool. BRAID_TEST_PLACES=N: execs are made on a
// group of N devices, or of BRAID_TEST_DEVICES of them taken in turn, and nodes that may run
// anywhere are dealt out to them.
#ifndef BRAID_TESTS_CONTRACT_H
#define BRAID_TESTS_CONTRACT_H

#include <braid/braid.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/wide_plan.h"

enum {
    contract_num_workers = 4,
    contract_max_objects = 256,
    contract_max_gates = 16,
    contract_max_places = 8
};

struct contract_memory {
    braid_memory_kind kind;
    void *memory;
};

// A place where a stream waits until the test lets it pass. Both words are in host memory.
struct gate {
    uint32_t *open;
    uint32_t *report; // 0: not reached; then GATE_ENTERED, GATE_PASSED or GATE_TIMED_OUT
};

struct contract {
    braid_device *device; // the first
    braid_exec_mode mode;
    const char *backend;

    // Made before any test, since on a GPU loading a kernel or freeing memory may wait for all work
    // on the device, which a test that holds up a stream could not bear.
    braid_exec *keepers[contract_max_places]; // all test kernels', on each device
    braid_stream *copies;
    void *staging;        // host memory for the test's own copies
    uint32_t *gate_words; // host memory, two a gate

    // NULL: there is no group.
    braid_device *group;
    braid_device *others[contract_max_places];
    braid_memory_pool *pool; // for execs that name none; NULL: there is none

    // Owned, freed by contract_tear_down in the order execs, streams, events, graphs, memory.
    braid_exec *execs[contract_max_objects];
    braid_stream *streams[contract_max_objects];
    braid_event *events[contract_max_objects];
    braid_graph *graphs[contract_max_objects];
    struct contract_memory memories[contract_max_objects];
    struct gate gates[contract_max_gates];
    size_t num_execs, num_streams, num_events, num_graphs, num_memories, num_gates;
};

// Opens the device that the environment asks for. contract_tear_down goes behind every test.
int contract_set_up_group(void **state);
int contract_tear_down_group(void **state);
int contract_tear_down(void **state);
#define contract_test(function) cmocka_unit_test_teardown(function, contract_tear_down)
#define contract_run(name, tests)                                                                  \
    cmocka_run_group_tests_name(name, tests, contract_set_up_group, contract_tear_down_group)

// Saves a schedule of the graph, and loads it for an equal one.
braid_status contract_load_saved(const braid_schedule *schedule, const braid_graph *graph,
                                 const braid_graph *equal, braid_schedule **out_loaded);

// The backend and mode under test.
braid_status contract_open_device(braid_device **out_device);
const char *contract_backend(void);
bool contract_is_on_host(void); // kernels are C functions, and streams are the backend's own
braid_exec_mode contract_mode(void);
uint32_t contract_frames(void);  // BRAID_TEST_FRAMES: how many may be in flight (1)
uint32_t contract_profile(void); // BRAID_TEST_PROFILE: of how many frames times are kept (0)
// So many on the host; drivers that stand in for a GPU take their time: as BRAID_TEST_MANY says, or
// a twentieth.
uint32_t contract_many(uint32_t num);
braid_islands contract_islands(void); // whether each graph is to be one island

// A part of many random cases: BRAID_TEST_PART=K/N runs those that are K modulo N.
struct contract_part {
    unsigned first, step;
};
struct contract_part contract_part(void);

uint32_t contract_places(void); // BRAID_TEST_PLACES: how many devices execs are made on (1)

// As braid_exec_create on the device under test, or on the group of devices.
braid_status contract_create_exec(struct contract *contract, const braid_graph *graph,
                                  const braid_exec_options *options, braid_exec **out_exec);
// A place for what a test deals out itself; 0 where there is one.
uint32_t contract_place(uint32_t index);
// Names a place for a node, the next in turn, where there are several and nothing keeps it at one,
// as the others in its loop or branch may.
void contract_choose_place(const braid_graph *graph, braid_node_options *options);

braid_graph *contract_graph(struct contract *contract);
braid_stream *contract_stream(struct contract *contract);
braid_event *contract_event(struct contract *contract);

// An exec in the mode under test, on as many lanes as the graph has use for. Where that mode cannot
// run the graph, the test is skipped with the reason.
braid_exec *contract_exec(struct contract *contract, const braid_graph *graph);
braid_exec *contract_exec_planned(struct contract *contract, const braid_graph *graph,
                                  const braid_schedule_options *plan);
// An exec in the mode under test with options of the test's own, which mode and islands are not of.
braid_exec *contract_exec_with(struct contract *contract, const braid_graph *graph,
                               braid_exec_options options);
// Hands an exec over, or takes it back to be destroyed by the test.
void contract_own_exec(struct contract *contract, braid_exec *exec);
void contract_destroy_exec(struct contract *contract, braid_exec *exec);

// Zeroed memory.
void *contract_memory(struct contract *contract, braid_memory_kind kind, size_t bytes);
uint32_t *contract_numbers(struct contract *contract, size_t num); // on the device
uint32_t *contract_host_numbers(struct contract *contract, size_t num);

// Copies device memory to and from ordinary host memory, at once. The caller has waited for the
// work that uses it.
void contract_read(struct contract *contract, void *to, const void *from, size_t bytes);
void contract_write(struct contract *contract, void *to, const void *from, size_t bytes);
uint32_t contract_number(struct contract *contract, const uint32_t *from);
// Lets what was queued and does not wait begin, before a test looks whether it has: returns when
// work that was queued later has ended again and again. The test's own copies wait for nothing.
void contract_let_begin(struct contract *contract);

// Gates. A closed gate on a stream holds up all later work there: by a kernel, or by a host call.
struct gate contract_gate(struct contract *contract);
struct gate contract_close(struct contract *contract, braid_stream *stream);
struct gate contract_close_by_host(struct contract *contract, braid_stream *stream);
// The host call that does so: it waits at the struct gate that `user` points to.
void gate_stand_at(void *user);
void gate_open(struct gate gate);
// As gate_open, for a gate that a host call stands at: what is behind it sees what the caller has
// written.
void gate_open_behind_writes(struct gate gate);
uint32_t gate_state(struct gate gate);
void gate_wait_until_entered(struct gate gate);
// Fails the test when the gate has given up waiting: something blocked until then.
void check_still_closed(struct gate gate);

#endif
