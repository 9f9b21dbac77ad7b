// SPDX-License-Identifier: Apache-2.0
// The device under test and the objects of a test.
#include "contract/contract.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract/nodes.h"
#include "graph/graph.h"
#include "skeleton/skeleton_backend.h"

const char *contract_backend(void)
{
    const char *backend = getenv("BRAID_TEST_BACKEND");
    return backend && *backend ? backend : "cpu";
}

bool contract_is_on_host(void)
{
    return strcmp(contract_backend(), "cpu") == 0 || strcmp(contract_backend(), "skeleton") == 0;
}

braid_exec_mode contract_mode(void)
{
    const char *mode = getenv("BRAID_TEST_MODE");
    return mode && strcmp(mode, "streams") != 0 ? BRAID_MODE_GRAPH : BRAID_MODE_STREAMS;
}

braid_islands contract_islands(void)
{
    const char *mode = getenv("BRAID_TEST_MODE");
    return mode && strcmp(mode, "island") == 0 ? BRAID_ISLANDS_WHOLE : BRAID_ISLANDS_AUTO;
}

struct contract_part contract_part(void)
{
    const char *text = getenv("BRAID_TEST_PART");
    struct contract_part part = { 0, 1 };
    if (text && (sscanf(text, "%u/%u", &part.first, &part.step) != 2 || part.step == 0))
        fail_msg("BRAID_TEST_PART is '%s', not K/N", text);
    return part;
}

braid_status contract_open_device(braid_device **out_device)
{
    braid_device_options options = { .backend = contract_backend(),
                                     .num_workers = contract_num_workers };
    if (strcmp(options.backend, "skeleton") == 0)
        return skeleton_open(out_device);
    return braid_device_open(&options, out_device);
}

static uint32_t read_number(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text ? (uint32_t)atoi(text) : otherwise;
}

uint32_t contract_places(void)
{
    return read_number("BRAID_TEST_PLACES", 1);
}

// The first device is open.
static void open_group(struct contract *contract)
{
    uint32_t num = contract_places();
    uint32_t num_devices = contract_is_on_host() ? 1 : read_number("BRAID_TEST_DEVICES", num);
    braid_device *devices[contract_max_places] = { contract->device };
    if (num < 2)
        return;
    assert_in_range(num, 2, contract_max_places);
    for (uint32_t i = 1; i < num_devices; i++) {
        const braid_device_options options = { .backend = contract_backend(), .ordinal = i };
        check_ok(braid_device_open(&options, &contract->others[i]));
        devices[i] = contract->others[i];
    }
    for (uint32_t i = num_devices; i < num; i++)
        devices[i] = devices[i % num_devices];
    check_ok(braid_device_open_group(devices, num, &contract->group));
}

// Edges and copies are told to be cheap, so that what nobody names a place for is dealt out too.
braid_status contract_create_exec(struct contract *contract, const braid_graph *graph,
                                  const braid_exec_options *options, braid_exec **out_exec)
{
    braid_exec_options own = *options;
    own.pool = own.pool ? own.pool : contract->pool;
    if (!contract->group)
        return braid_exec_create(contract->device, graph, &own, out_exec);
    const braid_place_model model = {
        .num_places = contract_places(),
        .link = { .latency_ns = 1, .bytes_per_us = 1000000, .wait_ns = 1 }
    };
    own.places = &model;
    own.islands = BRAID_ISLANDS_AUTO;
    return braid_exec_create(contract->group, graph, &own, out_exec);
}

uint32_t contract_place(uint32_t index)
{
    return contract_places() > 1 ? index % contract_places() + 1 : 0;
}

void contract_choose_place(const braid_graph *graph, braid_node_options *options)
{
    static uint32_t next;
    bool is_bound = options->place || options->lane_hint || options->num_accesses ||
                    options->prelude_of.graph || options->epilogue_of.graph || graph->open.num;
    if (contract_places() > 1 && !is_bound)
        options->place = next++ % contract_places() + 1;
}

enum { staging_bytes = 64 * 1024 };

static void keep_every_kernel(struct contract *contract, braid_device *device,
                              braid_exec **out_keeper, braid_stream *stream)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    add_every_kernel(graph, contract->staging);
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .max_lanes = 1 };
    check_ok(braid_exec_create(device, graph, &options, out_keeper));
    braid_graph_destroy(graph);
    memset(contract->staging, 0, staging_bytes);
    check_ok(braid_exec_launch(*out_keeper, stream));
    check_ok(braid_exec_wait(*out_keeper));
}

int contract_set_up_group(void **state)
{
    struct contract *contract = calloc(1, sizeof(*contract));
    assert_non_null(contract);
    *state = contract;
    contract->mode = contract_mode();
    contract->backend = contract_backend();
    check_ok(contract_open_device(&contract->device));
    open_group(contract);
    if (read_number("BRAID_TEST_POOL", 0))
        check_ok(braid_memory_pool_create(contract->group ? contract->group : contract->device,
                                          NULL, &contract->pool));
    braid_device *device = contract->device;
    void *words;
    check_ok(braid_stream_create(device, NULL, &contract->copies));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, staging_bytes, &contract->staging));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST,
                                   2 * contract_max_gates * sizeof(uint32_t), &words));
    contract->gate_words = words;
    keep_every_kernel(contract, device, &contract->keepers[0], contract->copies);
    for (uint32_t i = 1; i < contract_max_places; i++)
        if (contract->others[i])
            keep_every_kernel(contract, contract->others[i], &contract->keepers[i], NULL);
    return 0;
}

int contract_tear_down_group(void **state)
{
    struct contract *contract = *state;
    for (uint32_t i = 0; i < contract_max_places; i++)
        braid_exec_destroy(contract->keepers[i]);
    braid_stream_destroy(contract->copies);
    braid_memory_free(contract->device, contract->staging);
    braid_memory_free(contract->device, contract->gate_words);
    braid_memory_pool_destroy(contract->pool);
    braid_device_close(contract->group);
    for (uint32_t i = 0; i < contract_max_places; i++)
        braid_device_close(contract->others[i]);
    braid_device_close(contract->device);
    free(contract);
    return 0;
}

int contract_tear_down(void **state)
{
    struct contract *contract = *state;
    for (size_t i = 0; i < contract->num_gates; i++)
        gate_open(contract->gates[i]);
    for (size_t i = contract->num_execs; i-- > 0;)
        braid_exec_destroy(contract->execs[i]);
    for (size_t i = 0; i < contract->num_streams; i++)
        braid_stream_destroy(contract->streams[i]);
    // A test may have left work on the default stream; its errors were the test's business.
    (void)!braid_stream_wait(braid_device_get_default_stream(contract->device));
    for (size_t i = 0; i < contract->num_events; i++)
        braid_event_destroy(contract->events[i]);
    for (size_t i = 0; i < contract->num_graphs; i++)
        braid_graph_destroy(contract->graphs[i]);
    for (size_t i = 0; i < contract->num_memories; i++)
        braid_memory_free(contract->device, contract->memories[i].memory);
    contract->num_gates = contract->num_execs = contract->num_streams = 0;
    contract->num_events = contract->num_graphs = contract->num_memories = 0;
    return 0;
}

// The next free place in one of the contract's arrays.
static size_t take_place(size_t *num)
{
    assert_true(*num < contract_max_objects);
    return (*num)++;
}

braid_graph *contract_graph(struct contract *contract)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    return contract->graphs[take_place(&contract->num_graphs)] = graph;
}

braid_stream *contract_stream(struct contract *contract)
{
    braid_stream *stream;
    check_ok(braid_stream_create(contract->device, NULL, &stream));
    return contract->streams[take_place(&contract->num_streams)] = stream;
}

braid_event *contract_event(struct contract *contract)
{
    braid_event *event;
    check_ok(braid_event_create(contract->device, NULL, &event));
    return contract->events[take_place(&contract->num_events)] = event;
}

void contract_own_exec(struct contract *contract, braid_exec *exec)
{
    contract->execs[take_place(&contract->num_execs)] = exec;
}

uint32_t contract_frames(void)
{
    return read_number("BRAID_TEST_FRAMES", 1);
}

uint32_t contract_profile(void)
{
    return read_number("BRAID_TEST_PROFILE", 0);
}

uint32_t contract_many(uint32_t num)
{
    return contract_is_on_host() ? num : read_number("BRAID_TEST_MANY", num / 20);
}

braid_exec *contract_exec_with(struct contract *contract, const braid_graph *graph,
                               braid_exec_options options)
{
    options.mode = contract->mode;
    options.islands = contract_islands();
    options.frames_kept = contract_profile();
    if (!options.frames_in_flight)
        options.frames_in_flight = contract_frames();
    braid_exec *exec;
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED &&
        (contract->mode == BRAID_MODE_GRAPH || options.frames_in_flight > 1))
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

braid_exec *contract_exec_planned(struct contract *contract, const braid_graph *graph,
                                  const braid_schedule_options *plan)
{
    return contract_exec_with(contract, graph,
                              (braid_exec_options){ .max_lanes = plan->max_lanes,
                                                    .fixed_lanes = plan->fixed_lanes,
                                                    .ignore_costs = plan->ignore_costs,
                                                    .places = plan->places });
}

braid_exec *contract_exec(struct contract *contract, const braid_graph *graph)
{
    const braid_schedule_options plan = wide_plan();
    return contract_exec_planned(contract, graph, &plan);
}

void contract_destroy_exec(struct contract *contract, braid_exec *exec)
{
    for (size_t i = 0; i < contract->num_execs; i++)
        if (contract->execs[i] == exec)
            contract->execs[i] = NULL;
    braid_exec_destroy(exec);
}

void *contract_memory(struct contract *contract, braid_memory_kind kind, size_t bytes)
{
    void *memory;
    check_ok(braid_memory_allocate(contract->device, kind, bytes, &memory));
    contract->memories[take_place(&contract->num_memories)] =
        (struct contract_memory){ kind, memory };
    if (kind == BRAID_MEMORY_HOST) {
        memset(memory, 0, bytes);
        return memory;
    }
    check_ok(braid_stream_fill(contract->copies, memory, 0, 1, bytes));
    check_ok(braid_stream_wait(contract->copies));
    return memory;
}

uint32_t *contract_numbers(struct contract *contract, size_t num)
{
    return contract_memory(contract, BRAID_MEMORY_DEVICE, num * sizeof(uint32_t));
}

uint32_t *contract_host_numbers(struct contract *contract, size_t num)
{
    return contract_memory(contract, BRAID_MEMORY_HOST, num * sizeof(uint32_t));
}

static void copy_now(struct contract *contract, void *to, const void *from, size_t bytes)
{
    check_ok(braid_stream_copy(contract->copies, to, from, bytes));
    check_ok(braid_stream_wait(contract->copies));
}

void contract_read(struct contract *contract, void *to, const void *from, size_t bytes)
{
    assert_true(bytes <= staging_bytes);
    copy_now(contract, contract->staging, from, bytes);
    memcpy(to, contract->staging, bytes);
}

void contract_write(struct contract *contract, void *to, const void *from, size_t bytes)
{
    assert_true(bytes <= staging_bytes);
    memcpy(contract->staging, from, bytes);
    copy_now(contract, to, contract->staging, bytes);
}

uint32_t contract_number(struct contract *contract, const uint32_t *from)
{
    uint32_t number;
    contract_read(contract, &number, from, sizeof(number));
    return number;
}

void contract_let_begin(struct contract *contract)
{
    enum { num_rounds = 64, num_yields = 1000 };
    for (int i = 0; i < num_rounds; i++) {
        check_ok(braid_stream_fill(contract->copies, contract->staging, 0, 4, 1));
        while (braid_stream_query(contract->copies) == BRAID_NOT_READY)
            sched_yield();
    }
    for (int i = 0; i < num_yields; i++)
        sched_yield();
}

braid_status contract_load_saved(const braid_schedule *schedule, const braid_graph *graph,
                                 const braid_graph *equal, braid_schedule **out_loaded)
{
    char path[] = "/tmp/braid-saved-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    braid_status status = braid_schedule_save(schedule, graph, path);
    if (!status)
        status = braid_schedule_load(equal, path, out_loaded);
    unlink(path);
    return status;
}
