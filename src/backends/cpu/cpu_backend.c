// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: opening, closing, its description, and the table of its operations.
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

// ---- memory: host memory for both kinds, and memory that is freed in stream order ----

enum { ALIGNMENT = 256 };

// The machine's; 0: not known.
static uint64_t cpu_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

// More than the machine has is refused here: malloc may promise it, and sanitizers end the program.
static void *allocate(uint64_t bytes)
{
    uint64_t most = cpu_memory_bytes();
    if (bytes > (most ? most : SIZE_MAX - ALIGNMENT))
        return NULL;
    return braid_allocate_aligned(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

braid_status braid_cpu_allocate(struct backend *base, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory)
{
    (void)base;
    (void)kind;
    void *memory = allocate(bytes);
    if (!memory)
        return braid_error(BRAID_NO_MEMORY, "cpu: cannot allocate %llu bytes",
                           (unsigned long long)bytes);
    *out_memory = memory;
    return BRAID_OK;
}

void braid_cpu_release(struct backend *base, braid_memory_kind kind, void *memory)
{
    (void)base;
    (void)kind;
    braid_free(memory);
}

// ---- the device ----

enum { MAX_WORKERS = 1024 };

static uint32_t num_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 0)
        return (uint32_t)CPU_COUNT(&cores);
    long online = sysconf(_SC_NPROCESSORS_ONLN); // more cores than a cpu_set_t holds
    return online > 0 ? (uint32_t)online : 1;
}

static void read_cpu_name(char *out_name, size_t size)
{
    snprintf(out_name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(out_name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    fclose(file);
}

// Two at least, so that two streams run at once on any machine.
static uint32_t choose_num_workers(const braid_device_options *options)
{
    if (options && options->num_workers)
        return options->num_workers;
    uint32_t cores = num_cores(), quota = braid_cpu_quota("");
    cores = cores < quota ? cores : quota;
    return cores < 2 ? 2 : cores;
}

static braid_status query(const struct backend_driver *driver, uint32_t *out_num_devices,
                          char *out_reason, size_t reason_size)
{
    (void)driver;
    *out_num_devices = 1;
    if (reason_size)
        out_reason[0] = '\0';
    return BRAID_OK;
}

// For a backend whose streams are all idle, half-open ones included. A thread that made a blocking
// call may still be waking a worker for the next job. That thread ends before the worker is freed.
static void finish(struct cpu_backend *backend)
{
    braid_cpu_blockers_stop(backend);
    braid_cpu_workers_stop(backend);
    braid_cpu_slabs_finish(&backend->slabs);
    pthread_mutex_destroy(&backend->lock);
    pthread_mutex_destroy(&backend->issue_lock);
    braid_free(backend);
}

static void close_backend(struct backend *base)
{
    while (braid_cpu_stream_query(base, NULL) ==
           BRAID_NOT_READY) // work that ran may have queued more
        (void)braid_cpu_stream_synchronize(base, NULL);
    finish(cpu_backend_of(base));
}

static void get_info(struct backend *base, braid_device_info *out_info)
{
    *out_info = (braid_device_info){
        .name = cpu_backend_of(base)->name,
        .backend = "cpu",
        .memory_bytes = cpu_memory_bytes(),
        .num_units = cpu_backend_of(base)->num_workers,
    };
}

// Costs of a kernel, a wait and a second lane, by bench_cpu_costs. The first two are of streams;
// the walker has its own. Machine: two cores of a virtual Xeon at 2.5 GHz (Cascade Lake) with other
// programs beside, when queues still had a lock. Medians of 2,000 frames of 1,000 empty kernels
// (300 on streams): 120 ns a kernel, at best 450 to 510 ns a wait. With both workers awake and no
// waits, a walked frame in halves on two lanes took 0.3 us longer than on one lane. So a second
// lane costs some 2.5 us; more where a worker must be woken.
enum { NODE_NS = 120, WAIT_NS = 600, ROOT_NS = 3000 };

// A wait for a node that ended long ago still takes its lane 50 to 100 ns, a cache miss. Lanes wait
// at the same time, so a frame takes at least half of that for every wait.
//
// default_cost_ns is no measurement: who makes a node of something expects it to be worth one.
static void get_cost_model(struct backend *base, braid_cost_model *out_model)
{
    *out_model = (braid_cost_model){
        .default_cost_ns = 10000,
        .node_ns = NODE_NS,
        .wait_ns = WAIT_NS,
        .root_ns = ROOT_NS,
        .max_concurrent = cpu_backend_of(base)->num_workers,
        .issue_wait_ns = 50,
    };
}

// Places of the CPU are lanes of one, and their memory is one: a copy is a copy of memory.
static void get_link(struct backend *base, struct backend *peer, bool reaches,
                     braid_place_link *out_link)
{
    (void)base, (void)peer, (void)reaches;
    *out_link = (braid_place_link){ .latency_ns = 200, .bytes_per_us = 5000, .wait_ns = 400 };
}

static const struct backend_ops cpu_ops = {
    .name = "cpu",
    .notes = BACKEND_NOTES_NODES,
    .players = braid_cpu_players,
    .close = close_backend,
    .get_info = get_info,
    .get_cost_model = get_cost_model,
    .get_link = get_link,
    .rank_engine = RANK_ENGINE_HOST,
    CPU_OPERATIONS(BACKEND_FILLS) // defined in other files
};

// Workers and host threads hold the locks for tens of nanoseconds: spinning a little before
// sleeping is right for them.
static void init_locks(struct cpu_backend *backend)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&backend->lock, &attributes);
    pthread_mutex_init(&backend->issue_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

// Counts the cores of the machine, whether this process may use them or not.
static int count_cores(void)
{
    long num = sysconf(_SC_NPROCESSORS_CONF);
    return num < CPU_MAX_CORES ? (int)num : CPU_MAX_CORES;
}

static braid_status check_ordinal(uint32_t ordinal)
{
    if (ordinal)
        return braid_error(BRAID_UNAVAILABLE, "cpu: no device %u, there is only device 0", ordinal);
    return BRAID_OK;
}

static braid_status find(const struct backend_driver *driver, uint32_t ordinal,
                         braid_found_device *out_device)
{
    (void)driver;
    braid_status status = check_ordinal(ordinal);
    if (status)
        return status;
    read_cpu_name(out_device->name, sizeof(out_device->name));
    out_device->memory_bytes = cpu_memory_bytes();
    out_device->num_units = choose_num_workers(NULL);
    return BRAID_OK;
}

static braid_status open_backend(const struct backend_driver *driver,
                                 const braid_device_options *options, struct backend **out_backend)
{
    (void)driver;
    if (options && check_ordinal(options->ordinal))
        return BRAID_UNAVAILABLE;
    uint32_t num_workers = choose_num_workers(options);
    if (num_workers > MAX_WORKERS)
        return braid_error_invalid("cpu: %u workers, more than the %d allowed", num_workers,
                                   MAX_WORKERS);
    struct cpu_backend *backend = braid_allocate_pages(sizeof(*backend));
    if (!backend)
        return braid_error_no_memory("the cpu backend");
    backend->base.ops = &cpu_ops;
    backend->num_workers = num_workers;
    read_cpu_name(backend->name, sizeof(backend->name));
    backend->num_cores = count_cores();
    init_locks(backend);
    braid_cpu_blockers_start(backend);
    braid_cpu_stream_init(&backend->default_stream, 0);
    braid_status status = braid_cpu_workers_start(backend);
    if (status != BRAID_OK) {
        finish(backend);
        return status;
    }
    *out_backend = &backend->base;
    return BRAID_OK;
}

const struct backend_driver braid_cpu_driver = {
    .name = "cpu",
    .query = query,
    .find = find,
    .open = open_backend,
};
