// SPDX-License-Identifier: Apache-2.0
// A wait tells of each trap that a kernel wrote, with its node, code and payload, once.
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/sanitizers.h"

// The standard kernels write no trap. One that copies numbers can: code, nothing, and a payload.
static braid_node add_trapping(braid_graph *graph, const char *name, const uint32_t *from)
{
    const uint32_t factor = 1, addend = 0, num = sizeof(braid_trap) / sizeof(uint32_t);
    braid_node node;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_axpy,
                              .node.name = name,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(BRAID_TRAP(), BRAID_ARG(from), BRAID_ARG(factor),
                                         BRAID_ARG(addend), BRAID_ARG(num)) },
        &node));
    return node;
}

struct trapping {
    uint32_t *from;
    braid_exec *exec;
};

static struct trapping make_trapping(struct contract *contract)
{
    struct trapping trapping = { .from = contract_host_numbers(contract, 6) };
    braid_graph *graph = contract_graph(contract);
    memset(trapping.from, 0, sizeof(braid_trap));
    add_trapping(graph, "trapping", trapping.from);
    trapping.exec = contract_exec_with(contract, graph, (braid_exec_options){ .max_lanes = 1 });
    return trapping;
}

static void run(const struct trapping *trapping)
{
    check_ok(braid_exec_launch(trapping->exec, NULL));
}

static void a_trap_is_told_once(void **state)
{
    struct trapping trapping = make_trapping(*state);
    run(&trapping);
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 7;
    trapping.from[2] = 0x04030201;
    run(&trapping);
    check_fails(braid_exec_wait(trapping.exec), BRAID_TRAPPED,
                "trapped in frame 1: code 7, payload 01020304000000000000000000000000");
    assert_non_null(strstr(braid_error_get_message(), "node 0 'trapping'"));
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 0;
    run(&trapping);
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 8;
    run(&trapping);
    check_fails(braid_exec_wait_for(trapping.exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS),
                BRAID_TRAPPED, "in frame 3: code 8");
    check_ok(braid_exec_wait(trapping.exec));
}

// A kernel that traps, and one that stands at a gate before or behind it.
struct standing {
    braid_node trapping, stuck;
    braid_exec *exec;
};

static struct standing make_standing(struct contract *contract, bool traps_first, uint32_t frames,
                                     uint64_t deadline_ns)
{
    struct standing standing;
    braid_graph *graph = contract_graph(contract);
    const uint32_t *from = contract_host_numbers(contract, 6);
    struct gate gate = contract_gate(contract);
    if (!traps_first)
        standing.stuck = add_gate(graph, (braid_node_options){ 0 }, gate);
    standing.trapping = add_trapping(graph, "trapping", from);
    if (traps_first)
        standing.stuck = add_gate(graph, (braid_node_options){ 0 }, gate);
    check_ok(braid_graph_add_edge(graph, traps_first ? standing.trapping : standing.stuck,
                                  traps_first ? standing.stuck : standing.trapping));
    standing.exec = contract_exec_with(
        contract, graph,
        (braid_exec_options){ .frames_in_flight = frames, .deadline_ns = deadline_ns });
    return standing;
}

// A frame that writes this code, 0 for no trap, and stands at the gate.
static void stand(struct contract *contract, const struct standing *standing, uint32_t code,
                  struct gate gate)
{
    uint32_t *from = contract_host_numbers(contract, 6);
    memset(from, 0, sizeof(braid_trap));
    from[0] = code;
    from[2] = 0x04030201;
    check_ok(braid_exec_set_arg(standing->exec, standing->trapping, 1, BRAID_ARG(from)));
    check_ok(braid_exec_set_arg(standing->exec, standing->stuck, 0, BRAID_ARG(gate.open)));
    check_ok(braid_exec_set_arg(standing->exec, standing->stuck, 1, BRAID_ARG(gate.report)));
    check_ok(braid_exec_launch(standing->exec, contract_stream(contract)));
}

static void a_trap_of_a_frame_that_runs_is_told_once_it_has_ended(void **state)
{
#if defined(UNDER_TSAN)
    skip_because("a kernel writes its trap without an atomic store while a wait looks at it");
#endif
    struct contract *contract = *state;
    struct standing standing = make_standing(contract, true, 2, 0);
    struct gate open = contract_gate(contract), closed = contract_gate(contract);
    gate_open(open);
    stand(contract, &standing, 0, open);
    stand(contract, &standing, 7, closed);
    gate_wait_until_entered(closed);
    check_ok(braid_exec_wait_for(standing.exec, 0, UINT64_MAX));
    check_still_closed(closed);
    gate_open(closed);
    check_fails(braid_exec_wait(standing.exec), BRAID_TRAPPED,
                "trapped in frame 1: code 7, payload 01020304");
    assert_null(strstr(braid_error_get_message(), "later frame"));
    check_ok(braid_exec_wait(standing.exec));
}

// Both frames have one trap. The wait ends with the first one.
static void a_payload_that_a_later_frame_may_write_is_told_as_such(void **state)
{
#if defined(UNDER_TSAN)
    skip_because("a kernel writes its trap without an atomic store while a wait looks at it");
#endif
    struct contract *contract = *state;
    struct standing standing = make_standing(contract, false, 1, 4 * TEST_TIMEOUT_NS);
    struct gate open = contract_gate(contract), closed = contract_gate(contract);
    gate_open(open);
    stand(contract, &standing, 7, open);
    stand(contract, &standing, 0, closed);
    gate_wait_until_entered(closed);
    check_fails(
        braid_exec_wait_for(standing.exec, 0, UINT64_MAX), BRAID_TRAPPED,
        "trapped in frame 0 or a later one: code 7, payload 01020304000000000000000000000000, into "
        "which a later frame may be writing");
    check_still_closed(closed);
    gate_open(closed);
    check_ok(braid_exec_wait(standing.exec));
}

static void do_nothing(void *user)
{
    (void)user;
}

// A second node gives the code to the first one, so it traps from the second iteration on.
static void a_trap_in_a_loop_has_its_iteration(void **state)
{
    struct contract *contract = *state;
    uint32_t *from = contract_host_numbers(contract, 6);
    braid_graph *graph = contract_graph(contract);
    const bool is_driven = contract->mode == BRAID_MODE_STREAMS;
    braid_exec_info info;
    memset(from, 0, sizeof(braid_trap));
    begin_loop(graph, (braid_loop){ .node.name = "loop", .times = 4 });
    braid_node trapping = add_trapping(graph, "trapping", from);
    braid_node last = add_fill(graph, (braid_node_options){ AFTER(trapping) }, from, 7, 1);
    if (is_driven) // the host drives a loop with a host call
        add_host(graph, (braid_node_options){ AFTER(last) }, do_nothing, NULL);
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    braid_exec_get_info(exec, &info);
    const bool is_known = contract_is_on_host() || strstr(info.reason, "the host drives");
    assert_true(is_known || !is_driven);
    for (uint32_t frame = 0; frame < 2; frame++) {
        char wanted[160];
        from[0] = 0;
        check_ok(braid_exec_launch(exec, NULL));
        snprintf(wanted, sizeof(wanted),
                 "trapped in frame %u of loop 0 'loop', iteration %s: code 7", frame,
                 is_known ? "1" : "unknown");
        check_fails(braid_exec_wait(exec), BRAID_TRAPPED, wanted);
        check_ok(braid_exec_wait(exec));
    }
}

static void a_trap_is_no_value_of_a_setter(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_node node = add_trapping(graph, "trapping", contract_host_numbers(contract, 6));
    braid_exec *exec = contract_exec(contract, graph);
    check_fails(braid_exec_set_arg(exec, node, 0, BRAID_TRAP()), BRAID_INVALID_ARGUMENT,
                "BRAID_TRAP");
}

int run_traps(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_trap_is_told_once),
        contract_test(a_trap_of_a_frame_that_runs_is_told_once_it_has_ended),
        contract_test(a_payload_that_a_later_frame_may_write_is_told_as_such),
        contract_test(a_trap_in_a_loop_has_its_iteration),
        contract_test(a_trap_is_no_value_of_a_setter),
    };
    return contract_run("traps are told once", tests);
}
