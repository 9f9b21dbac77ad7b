// SPDX-License-Identifier: Apache-2.0
// Splitting the grid of one kernel over idle workers.
#include "backends/cpu/cpu.h"

enum {
    SPLIT_MIN_NS = 5000, // less than this left to do is done faster than help can be called
    CHUNK_MIN_NS = 2000, // chunks no shorter than this, so that claiming them costs little
    CHUNKS_A_WORKER = 4, // so that all end at about the same time
};

void braid_cpu_work_call(const struct cpu_work *work, const braid_blocks *blocks)
{
    struct note *note = work->note;
    if (note && note_is_cancelled(work->cancelled))
        return;
    if (note)
        atomic_fetch_add_explicit(&note->begun, 1, memory_order_relaxed);
    work->call(blocks, work->args);
    if (note)
        atomic_fetch_add_explicit(&note->ended, 1, memory_order_relaxed);
}

static void run_blocks(const struct cpu_work *work, uint64_t begin, uint64_t end)
{
    braid_blocks blocks = work->blocks;
    blocks.begin = begin;
    blocks.end = end;
    braid_cpu_work_call(work, &blocks);
}

// Runs blocks and learns from them.
static uint64_t time_blocks(const struct cpu_work *work, uint64_t begin, uint64_t end)
{
    uint64_t start_ns = clock_now_ns();
    run_blocks(work, begin, end);
    uint64_t block_ns = (clock_now_ns() - start_ns) / (end - begin);
    if (work->block_ns)
        atomic_store_explicit(work->block_ns, block_ns, memory_order_relaxed);
    return block_ns;
}

void braid_cpu_split_participate(struct cpu_split *split)
{
    uint64_t end = split->work->blocks.end;
    for (;;) {
        uint64_t begin =
            atomic_fetch_add_explicit(&split->next_block, split->chunk, memory_order_relaxed);
        if (begin >= end)
            return;
        time_blocks(split->work, begin, end - begin < split->chunk ? end : begin + split->chunk);
    }
}

struct cpu_split *braid_cpu_split_join(struct cpu_backend *backend)
{
    for (struct cpu_split *split = backend->open_splits; split; split = split->next_open) {
        uint64_t next = atomic_load_explicit(&split->next_block, memory_order_relaxed);
        if (next >= split->work->blocks.end)
            continue;
        split->num_participants++;
        return split;
    }
    return NULL;
}

static void close_split(struct cpu_backend *backend, struct cpu_split *split)
{
    struct cpu_split **link = &backend->open_splits;
    while (*link != split)
        link = &(*link)->next_open;
    *link = split->next_open;
    split->open = false;
}

// Leaving happens under the lock, so the last to leave sees all that the others wrote.
bool braid_cpu_split_leave(struct cpu_backend *backend, struct cpu_split *split)
{
    if (split->open)
        close_split(backend, split);
    return --split->num_participants == 0;
}

static bool run_shared(struct cpu_backend *backend, struct cpu_job *job,
                       const struct cpu_work *work, uint64_t next_block, uint64_t chunk)
{
    struct cpu_split *split = &job->split;
    split->job = job;
    split->work = work;
    split->chunk = chunk;
    atomic_store_explicit(&split->next_block, next_block, memory_order_relaxed);
    split->num_participants = 1;
    split->open = true;
    uint64_t num_chunks = (work->blocks.end - next_block - 1) / chunk + 1;
    cpu_lock(backend);
    split->next_open = backend->open_splits;
    backend->open_splits = split;
    uint32_t num_active = backend->num_heads + backend->num_helpers;
    uint64_t num_idle = num_active < backend->num_workers ? backend->num_workers - num_active : 0;
    braid_cpu_workers_wake(backend,
                           (uint32_t)(num_idle < num_chunks - 1 ? num_idle : num_chunks - 1));
    cpu_unlock(backend);

    braid_cpu_split_participate(split);
    cpu_lock(backend);
    bool last = braid_cpu_split_leave(backend, split);
    cpu_unlock(backend);
    return last;
}

static uint64_t choose_chunk(const struct cpu_backend *backend, uint64_t num_blocks,
                             uint64_t block_ns)
{
    uint64_t chunk = num_blocks / ((uint64_t)backend->num_workers * CHUNKS_A_WORKER);
    uint64_t least = CHUNK_MIN_NS / (block_ns + 1) + 1;
    return chunk > least ? chunk : least;
}

static bool is_worth_help(uint64_t num_blocks, uint64_t block_ns)
{
    return num_blocks > SPLIT_MIN_NS / (block_ns + 1);
}

// Blocks from `next` on. A worker may become idle at any time, so each chunk is done alone only
// while all are busy.
static bool run_rest(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_work *work,
                     uint64_t next, uint64_t block_ns)
{
    uint64_t num_blocks = work->blocks.end;
    uint64_t chunk = choose_chunk(backend, num_blocks - next, block_ns);
    while (num_blocks - next > chunk) {
        if (braid_cpu_worker_is_idle(backend))
            return run_shared(backend, job, work, next, chunk);
        time_blocks(work, next, next + chunk);
        next += chunk;
    }
    time_blocks(work, next, num_blocks);
    return true;
}

// Whether help pays is known from the kernel's last run; else the first blocks are timed.
bool braid_cpu_work_run(struct cpu_backend *backend, struct cpu_job *job, struct cpu_work *work)
{
    job->split.work = NULL;
    if (work->grid_from)
        braid_cpu_work_read_grid(work);
    uint64_t num_blocks = work->blocks.end;
    if (num_blocks == 0)
        return true;
    if (work->is_blocking)
        return braid_cpu_blocker_run(backend, job, work);
    if (num_blocks == 1 || backend->num_workers == 1) {
        braid_cpu_work_call(work, &work->blocks);
        return true;
    }
    uint64_t known_ns =
        work->block_ns ? atomic_load_explicit(work->block_ns, memory_order_relaxed) : 0;
    if (known_ns && is_worth_help(num_blocks - 1, known_ns))
        return run_rest(backend, job, work, 0, known_ns);
    uint64_t next = num_blocks / 64 + 1;
    uint64_t block_ns = time_blocks(work, 0, next);
    if (next == num_blocks)
        return true;
    if (is_worth_help(num_blocks - next, block_ns))
        return run_rest(backend, job, work, next, block_ns);
    run_blocks(work, next, num_blocks);
    return true;
}
