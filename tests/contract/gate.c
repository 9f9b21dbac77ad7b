// SPDX-License-Identifier: Apache-2.0
// Gates: places where a stream waits until the test lets it pass.
#include <stdatomic.h>

#include "contract/contract.h"
#include "contract/nodes.h"
#include "support/clock.h"

// Relaxed loads and stores: a gate holds work up, it is not what orders data.
static uint32_t load(const uint32_t *word)
{
    return atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

static void store(uint32_t *word, uint32_t value)
{
    atomic_store_explicit((_Atomic uint32_t *)word, value, memory_order_relaxed);
}

struct gate contract_gate(struct contract *contract)
{
    assert_true(contract->num_gates < contract_max_gates);
    uint32_t *words = contract->gate_words + 2 * contract->num_gates;
    struct gate gate = { .open = words, .report = words + 1 };
    store(gate.open, 0);
    store(gate.report, 0);
    return contract->gates[contract->num_gates++] = gate;
}

// In streams mode whatever is under test: the gate is part of the surroundings.
struct gate contract_close(struct contract *contract, braid_stream *stream)
{
    struct gate gate = contract_gate(contract);
    braid_graph *graph = contract_graph(contract);
    add_gate(graph, (braid_node_options){ 0 }, gate);
    braid_exec *exec;
    check_ok(braid_exec_create(contract->device, graph,
                               &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &exec));
    contract_own_exec(contract, exec);
    check_ok(braid_exec_launch(exec, stream));
    return gate;
}

void gate_stand_at(void *user)
{
    struct gate *gate = user;
    store(gate->report, GATE_ENTERED);
    uint64_t start = clock_now_ns();
    // Acquires what gate_open_behind_writes releases, and of gate_open nothing.
    while (!atomic_load_explicit((_Atomic uint32_t *)gate->open, memory_order_acquire)) {
        if (clock_now_ns() - start > TEST_TIMEOUT_NS) {
            store(gate->report, GATE_TIMED_OUT);
            return;
        }
        clock_nap();
    }
    store(gate->report, GATE_PASSED);
}

struct gate contract_close_by_host(struct contract *contract, braid_stream *stream)
{
    contract_gate(contract);
    struct gate *gate = &contract->gates[contract->num_gates - 1];
    check_ok(braid_stream_host_call(stream, gate_stand_at, gate));
    return *gate;
}

void gate_open(struct gate gate)
{
    store(gate.open, 1);
}

void gate_open_behind_writes(struct gate gate)
{
    atomic_store_explicit((_Atomic uint32_t *)gate.open, 1, memory_order_release);
}

uint32_t gate_state(struct gate gate)
{
    return load(gate.report);
}

void gate_wait_until_entered(struct gate gate)
{
    uint64_t start = clock_now_ns();
    while (!gate_state(gate)) {
        assert_true(clock_now_ns() - start < TEST_TIMEOUT_NS);
        clock_nap();
    }
}

void check_still_closed(struct gate gate)
{
    assert_int_not_equal(gate_state(gate), GATE_TIMED_OUT);
    assert_int_not_equal(gate_state(gate), GATE_PASSED);
}
