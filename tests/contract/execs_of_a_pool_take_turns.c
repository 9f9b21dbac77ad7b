// SPDX-License-Identifier: Apache-2.0
// Execs of one memory pool share their transient memory, so each frame starts when the frames of
// the exec launched before have ended, on whatever streams they are.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <braid/capture.h>
#include <braid/timings.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_stages = 3, num_most = 3 * 4096, num_small = 4096 };

// From `begin` through transient buffers to `end`: begin * 3^num_stages + something. A gate, if
// there is one, stands behind the first stage.
struct chain {
    braid_exec *exec;
    uint32_t *begin, *end;
    uint32_t num;
};

static braid_memory_pool *make_pool(struct contract *contract, uint64_t bytes)
{
    braid_memory_pool *pool;
    const braid_memory_pool_options options = { .bytes = bytes };
    check_ok(braid_memory_pool_create(contract->group ? contract->group : contract->device,
                                      &options, &pool));
    return pool;
}

static braid_memory_pool_info info_of(const braid_memory_pool *pool)
{
    braid_memory_pool_info info;
    braid_memory_pool_get_info(pool, &info);
    return info;
}

static braid_resource add_between(braid_graph *graph, uint64_t bytes)
{
    braid_resource resource;
    check_ok(braid_graph_add_transient(graph, "between", bytes, 0, &resource));
    return resource;
}

static struct chain make_chain(struct contract *contract, braid_memory_pool *pool, uint32_t num,
                               const struct gate *gate, uint32_t frames)
{
    struct chain chain = { NULL, contract_numbers(contract, num), contract_numbers(contract, num),
                           num };
    braid_graph *graph = contract_graph(contract);
    const uint64_t bytes = num * sizeof(uint32_t);
    braid_resource last, end;
    check_ok(braid_graph_add_buffer(graph, "begin", chain.begin, bytes, &last));
    check_ok(braid_graph_add_buffer(graph, "end", chain.end, bytes, &end));
    for (uint32_t i = 0; i < num_stages; i++) {
        braid_resource to = i == num_stages - 1 ? end : add_between(graph, bytes);
        add_axpy_of(graph, to, last, 3, i, num);
        if (gate && i == 0)
            add_gate(graph, (braid_node_options){ USES({ to, BRAID_READ_WRITE }) }, *gate);
        last = to;
    }
    chain.exec = contract_exec_with(
        contract, graph, (braid_exec_options){ .pool = pool, .frames_in_flight = frames });
    return chain;
}

static void write_begin(struct contract *contract, const struct chain *chain, uint32_t seed)
{
    static uint32_t numbers[num_most];
    for (uint32_t i = 0; i < chain->num; i++)
        numbers[i] = seed + i;
    contract_write(contract, chain->begin, numbers, chain->num * sizeof(uint32_t));
}

static uint32_t expect(uint32_t value)
{
    for (uint32_t i = 0; i < num_stages; i++)
        value = value * 3 + i;
    return value;
}

static void check_end(struct contract *contract, const struct chain *chain, uint32_t seed)
{
    static uint32_t seen[num_most];
    contract_read(contract, seen, chain->end, chain->num * sizeof(uint32_t));
    for (uint32_t i = 0; i < chain->num; i++)
        assert_int_equal(seen[i], expect(seed + i));
}

static uint64_t transient_bytes(const struct chain *chain)
{
    braid_exec_info info;
    braid_exec_get_info(chain->exec, &info);
    return info.transient_bytes;
}

static void their_memory_is_that_of_the_largest(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 0);
    assert_int_equal(info_of(pool).bytes, 0);
    struct chain large = make_chain(contract, pool, num_most, NULL, 1);
    struct chain small = make_chain(contract, pool, num_small, NULL, 1);
    struct chain other = make_chain(contract, pool, num_most, NULL, 1);
    braid_memory_pool_info info = info_of(pool);
    braid_exec_info exec_info;
    braid_exec_get_info(small.exec, &exec_info);
    assert_int_equal(info.num_execs, 3);
    assert_int_equal(exec_info.memory_bytes, 0);
    if (contract_places() == 1) {
        assert_int_equal(info.num_blocks, 1);
        assert_int_equal(info.bytes, transient_bytes(&large));
        assert_int_equal(info.unshared_bytes,
                         2 * transient_bytes(&large) + transient_bytes(&small));
    }
    write_begin(contract, &large, 1);
    write_begin(contract, &small, 1000);
    write_begin(contract, &other, 2000);
    for (uint32_t i = 0; i < 3; i++) {
        check_ok(braid_exec_launch(large.exec, NULL));
        check_ok(braid_exec_launch(small.exec, NULL));
        check_ok(braid_exec_launch(other.exec, NULL));
    }
    check_ok(braid_exec_wait(other.exec));
    check_end(contract, &large, 1);
    check_end(contract, &small, 1000);
    check_end(contract, &other, 2000);
    contract_destroy_exec(contract, large.exec);
    contract_destroy_exec(contract, other.exec);
    assert_int_equal(info_of(pool).num_execs, 1);
    contract_destroy_exec(contract, small.exec);
    assert_int_equal(info_of(pool).bytes, 0);
    assert_int_equal(info_of(pool).unshared_bytes, 0);
    braid_memory_pool_destroy(pool);
}

static void a_later_exec_that_needs_more_has_a_block_of_its_own(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 2 * num_small * sizeof(uint32_t));
    const uint64_t reserved = info_of(pool).bytes;
    assert_int_equal(reserved, contract_places() * 2 * num_small * sizeof(uint32_t));
    struct chain small = make_chain(contract, pool, num_small, NULL, 1);
    assert_int_equal(info_of(pool).bytes, reserved);
    struct chain large = make_chain(contract, pool, num_most, NULL, 1);
    assert_true(info_of(pool).bytes > reserved);
    write_begin(contract, &small, 1);
    write_begin(contract, &large, 1000);
    check_ok(braid_exec_launch(small.exec, contract_stream(contract)));
    check_ok(braid_exec_launch(large.exec, contract_stream(contract)));
    check_ok(braid_exec_wait(large.exec));
    check_end(contract, &small, 1);
    check_end(contract, &large, 1000);
    contract_destroy_exec(contract, large.exec);
    assert_int_equal(info_of(pool).bytes, reserved);
    contract_destroy_exec(contract, small.exec);
    assert_int_equal(info_of(pool).bytes, reserved);
    braid_memory_pool_destroy(pool);
}

static void a_pool_lives_as_long_as_its_execs(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 0);
    struct chain chain = make_chain(contract, pool, num_small, NULL, 1);
    braid_memory_pool_destroy(pool);
    write_begin(contract, &chain, 5);
    check_ok(braid_exec_launch(chain.exec, NULL));
    check_ok(braid_exec_wait(chain.exec));
    check_end(contract, &chain, 5);
}

// The first frame stands at the gate, and its transient buffer is full. Neither launch blocks.
static void a_frame_waits_for_that_of_another_exec(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 0);
    const struct gate gate = contract_gate(contract);
    struct chain held = make_chain(contract, pool, num_small, &gate, 1);
    struct chain other = make_chain(contract, pool, num_small, NULL, 1);
    braid_memory_pool_destroy(pool);
    write_begin(contract, &held, 1);
    write_begin(contract, &other, 1000);
    check_ok(braid_exec_launch(held.exec, contract_stream(contract)));
    gate_wait_until_entered(gate);
    check_ok(braid_exec_launch(other.exec, contract_stream(contract)));
    contract_let_begin(contract);
    assert_int_equal(braid_exec_wait_for(other.exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(other.exec));
    check_ok(braid_exec_wait_for(held.exec, BRAID_LAST_FRAME, 0));
    check_end(contract, &held, 1);
    check_end(contract, &other, 1000);
}

// The memory of the second frame in flight is in the middle of what the held frame has.
static void each_frame_in_flight_waits_for_that_of_another_exec(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 0);
    const struct gate gate = contract_gate(contract);
    struct chain held = make_chain(contract, pool, num_most, &gate, 1);
    struct chain other = make_chain(contract, pool, num_small, NULL, 3);
    braid_memory_pool_destroy(pool);
    braid_stream *stream = contract_stream(contract);
    write_begin(contract, &held, 1);
    write_begin(contract, &other, 1000);
    check_ok(braid_exec_launch(held.exec, contract_stream(contract)));
    gate_wait_until_entered(gate);
    for (uint32_t i = 0; i < 5; i++)
        check_ok(braid_exec_launch(other.exec, stream));
    contract_let_begin(contract);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(other.exec));
    check_end(contract, &held, 1);
    check_end(contract, &other, 1000);
}

static void each_exec_waits_for_the_one_launched_before(void **state)
{
    struct contract *contract = *state;
    braid_memory_pool *pool = make_pool(contract, 0);
    const struct gate gate = contract_gate(contract);
    struct chain first = make_chain(contract, pool, num_small, NULL, 1);
    struct chain held = make_chain(contract, pool, num_most, &gate, 1);
    struct chain third = make_chain(contract, pool, num_most, NULL, 1);
    braid_memory_pool_destroy(pool);
    write_begin(contract, &first, 1);
    write_begin(contract, &held, 1000);
    write_begin(contract, &third, 2000);
    check_ok(braid_exec_launch(first.exec, contract_stream(contract)));
    check_ok(braid_exec_launch(held.exec, contract_stream(contract)));
    check_ok(braid_exec_launch(first.exec, contract_stream(contract)));
    check_ok(braid_exec_launch(third.exec, contract_stream(contract)));
    contract_let_begin(contract);
    assert_int_equal(braid_exec_wait_for(first.exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    assert_int_equal(braid_exec_wait_for(third.exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    gate_open(gate);
    check_ok(braid_exec_wait(third.exec));
    check_end(contract, &first, 1);
    check_end(contract, &held, 1000);
    check_end(contract, &third, 2000);
}

// ---- threads ----

struct worker {
    pthread_t thread;
    braid_stream *stream;
    const struct chain *chain;
    uint32_t num_frames;
    braid_status status;
};

static void *launch_and_wait(void *user)
{
    struct worker *worker = user;
    for (uint32_t i = 0; i < worker->num_frames && !worker->status; i++) {
        worker->status = braid_exec_launch(worker->chain->exec, worker->stream);
        if (!worker->status && i % 4 == 3)
            worker->status = braid_exec_wait(worker->chain->exec);
    }
    if (!worker->status)
        worker->status = braid_exec_wait(worker->chain->exec);
    return NULL;
}

static void threads_launch_execs_of_one_pool(void **state)
{
    struct contract *contract = *state;
    enum { num_threads = 3, num_rounds = 5 };
    const uint32_t sizes[num_threads] = { num_most, num_small, num_most - 512 };
    struct chain chains[num_threads];
    struct worker workers[num_threads];
    braid_memory_pool *pool = make_pool(contract, 0);
    for (uint32_t i = 0; i < num_threads; i++) {
        chains[i] = make_chain(contract, pool, sizes[i], NULL, i + 1);
        workers[i] = (struct worker){ .stream = contract_stream(contract),
                                      .chain = &chains[i],
                                      .num_frames = contract_many(200) };
    }
    braid_memory_pool_destroy(pool);
    for (uint32_t round = 0; round < num_rounds; round++) {
        for (uint32_t i = 0; i < num_threads; i++)
            write_begin(contract, &chains[i], 1000 * round + 77 * i);
        for (uint32_t i = 0; i < num_threads; i++)
            assert_int_equal(pthread_create(&workers[i].thread, NULL, launch_and_wait, &workers[i]),
                             0);
        for (uint32_t i = 0; i < num_threads; i++)
            pthread_join(workers[i].thread, NULL);
        for (uint32_t i = 0; i < num_threads; i++) {
            check_ok(workers[i].status);
            check_end(contract, &chains[i], 1000 * round + 77 * i);
        }
    }
}

// ---- refusals ----

struct inner {
    braid_exec *exec;
    braid_status status, status_of_times, status_of_file;
    char message[300];
};

static braid_status launch_inside(braid_device *device, braid_stream *stream, void *user)
{
    struct inner *inner = user;
    (void)device;
    (void)stream;
    inner->status = braid_exec_launch(inner->exec, NULL);
    snprintf(inner->message, sizeof(inner->message), "%s", braid_error_get_message());
    // Both keep launches away, and another thread's launch of that exec may wait for this one.
    braid_timings timings;
    uint64_t bytes;
    inner->status_of_times = braid_exec_get_timings(inner->exec, &timings);
    inner->status_of_file = braid_exec_save_capture(inner->exec, NULL, &bytes);
    return BRAID_OK;
}

static void a_queue_call_cannot_launch_another_exec_of_the_pool(void **state)
{
    struct contract *contract = *state;
    if (contract->mode != BRAID_MODE_STREAMS || contract_places() > 1)
        skip(); // in a driver graph the call is made once, under capture
    braid_memory_pool *pool = make_pool(contract, 0);
    struct chain chain = make_chain(contract, pool, num_small, NULL, 1);
    struct inner inner = { .exec = chain.exec };
    braid_graph *graph = contract_graph(contract);
    braid_resource between = add_between(graph, 4), begin;
    check_ok(braid_graph_add_buffer(graph, "begin", chain.begin, 4, &begin));
    add_axpy_of(graph, between, begin, 1, 1, 1);
    add_queue_call(graph, (braid_node_options){ USES({ between, BRAID_READ }) }, launch_inside,
                   &inner);
    braid_exec *outer = contract_exec_with(contract, graph, (braid_exec_options){ .pool = pool });
    braid_memory_pool_destroy(pool);
    check_ok(braid_exec_launch(outer, NULL));
    check_ok(braid_exec_wait(outer));
    assert_int_equal(inner.status, BRAID_WRONG_STATE);
    if (braid_exec_get_timings(NULL, NULL) != BRAID_UNSUPPORTED) // an add-on may be left out
        assert_int_equal(inner.status_of_times, BRAID_WRONG_STATE);
    if (braid_exec_save_capture(NULL, NULL, NULL) != BRAID_UNSUPPORTED)
        assert_int_equal(inner.status_of_file, BRAID_WRONG_STATE);
    assert_non_null(
        strstr(inner.message, "inside a queue call of an exec of the same memory pool"));
    check_ok(braid_exec_launch(chain.exec, NULL));
    check_ok(braid_exec_wait(chain.exec));
}

static void a_pool_is_of_one_device(void **state)
{
    struct contract *contract = *state;
    braid_device *other;
    check_ok(contract_open_device(&other));
    braid_memory_pool *pool;
    check_ok(braid_memory_pool_create(other, NULL, &pool));
    assert_int_equal(braid_device_close(other), BRAID_IN_USE);
    braid_graph *graph = contract_graph(contract);
    add_empty(graph, (braid_node_options){ 0 });
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .pool = pool };
    braid_exec *exec;
    assert_int_equal(contract_create_exec(contract, graph, &options, &exec),
                     BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_error_get_message(), "the memory pool is of"));
    braid_memory_pool_destroy(pool);
    check_ok(braid_device_close(other));
}

int run_pools(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(their_memory_is_that_of_the_largest),
        contract_test(a_later_exec_that_needs_more_has_a_block_of_its_own),
        contract_test(a_pool_lives_as_long_as_its_execs),
        contract_test(a_frame_waits_for_that_of_another_exec),
        contract_test(each_frame_in_flight_waits_for_that_of_another_exec),
        contract_test(each_exec_waits_for_the_one_launched_before),
        contract_test(threads_launch_execs_of_one_pool),
        contract_test(a_queue_call_cannot_launch_another_exec_of_the_pool),
        contract_test(a_pool_is_of_one_device),
    };
    return contract_run("execs of a pool take turns", tests);
}
