// SPDX-License-Identifier: Apache-2.0
// Runners: ways to play a graph that take turns in the program's own frames. The fastest stays.
#include <braid/tune.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "base/own_threads.h"
#include "base/sized.h"
#include "exec/exec.h"
#include "exec/exec_islands.h"
#include "graph/placed.h"
#include "tasks/player.h"

enum {
    NUM_BLOCKS = 2, // a block has frames one behind the other, as after the choice
    BLOCK_FRAMES = 7,
    COLD_FRAMES = 2, // the first of a block find no code and data in the caches
    TIMED_FRAMES = NUM_BLOCKS * (BLOCK_FRAMES - COLD_FRAMES),
    MOST_WAYS = 8,
    REASON_BYTES = 768,
    WHY_BYTES = 96,
    PER_THREAD = 2, // the handle of each thread's own stream, in CUDA and HIP
};

enum way_kind { WAY_GUESSED, WAY_TIMED, WAY_PLANNED, WAY_ISLANDS, WAY_RELOADED, WAY_BEFORE };

struct way {
    enum way_kind kind; // WAY_TIMED gives its nodes costs, and is not chosen
    uint32_t max_lanes; // 0: as many as the planner likes
    char name[48];
    braid_exec *exec;    // NULL: none yet, or no longer
    bool is_dropped;     // an exec goes once its frames have ended
    uint64_t ns;         // a frame, the median; 0: not known
    char why[WHY_BYTES]; // it cannot be played; "": it can
};

// A way's exec, made on a thread of its own. Compiling an island takes seconds, and frames go on.
struct making {
    struct own_thread thread;
    bool is_running;      // nobody has joined the thread
    atomic_bool is_over;  // the thread has written the results
    braid_device *device; // the graph is a clone, since the program may change its own
    braid_graph *graph;
    braid_exec_options options;
    braid_exec *exec; // the results, as in struct way
    char why[WHY_BYTES];
};

// One way's frames of a turn.
struct times {
    braid_event *begins[TIMED_FRAMES], *ends[TIMED_FRAMES];
    uint32_t num; // frames, the cold ones included
};

// In each turn blocks of frames of one way alternate with blocks of the best way so far. So both
// meet the same clocks and neighbours. The faster one is the best from then on.
struct braid_runner {
    braid_device *device;
    braid_graph *graph;
    uint64_t digest;  // all ways play a graph that has it
    bool has_reloads; // functions of the program may be loaded from their text
    bool compiles;    // execs may have code that is compiled for seconds
    braid_runner_options options;
    struct way ways[MOST_WAYS];
    uint32_t num_ways;
    uint32_t best, way;    // the one whose turn it is
    struct making making;  // that one
    struct times times[2]; // the best way's, and that one's
    bool is_chosen;
    braid_event *last;       // the end of the last launch
    const void *last_handle; // the stream of that launch
    bool has_last;
    uint64_t num_chosen; // frames since the choice
    char reason[REASON_BYTES];
};

// ---- ways ----

static struct way *add_way(braid_runner *runner, enum way_kind kind, uint32_t max_lanes,
                           const char *name)
{
    struct way *way = &runner->ways[runner->num_ways++];
    *way = (struct way){ .kind = kind, .max_lanes = max_lanes };
    snprintf(way->name, sizeof(way->name), "%s", name);
    return way;
}

static void add_lanes(braid_runner *runner, uint32_t lanes)
{
    char name[48];
    const uint32_t most = runner->options.max_lanes;
    if (most && lanes > most)
        return;
    snprintf(name, sizeof(name), "%" PRIu32 " lane%s", lanes, lanes == 1 ? "" : "s");
    add_way(runner, WAY_PLANNED, lanes, name);
}

// A failure leaves the other ways. The way says why.
static void note_failure(char why[WHY_BYTES], braid_status status)
{
    if (status)
        snprintf(why, WHY_BYTES, "%s", braid_error_get_message());
}

static uint64_t digest_of(const braid_graph *graph)
{
    return braid_graph_get_digest(graph) + graph->outputs.num;
}

// The first way plays at once, so it has no islands. Nor has the one that times nodes alone.
static braid_exec_options options_of(const braid_runner *runner, const struct way *way)
{
    const bool keeps_functions = runner->has_reloads && way->kind != WAY_RELOADED;
    const bool is_first = way->kind == WAY_GUESSED || way->kind == WAY_TIMED;
    return (braid_exec_options){
        .max_lanes = way->max_lanes ? way->max_lanes : runner->options.max_lanes,
        .frames_kept = way->kind == WAY_TIMED ? TIMED_FRAMES : 0,
        .no_early_start = keeps_functions,
        .no_prefetch = keeps_functions,
        .islands = is_first ? BRAID_ISLANDS_NEVER : BRAID_ISLANDS_AUTO,
    };
}

static void make_exec(braid_device *device, const braid_graph *graph,
                      const braid_exec_options *options, braid_exec **out_exec,
                      char out_why[WHY_BYTES])
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    note_failure(out_why, braid_exec_create(device, graph, options, out_exec));
    braid_error_end_attempt(&attempt, BRAID_OK);
}

static void *make_behind(void *argument)
{
    struct making *making = argument;
    make_exec(making->device, making->graph, &making->options, &making->exec, making->why);
    atomic_store_explicit(&making->is_over, true, memory_order_release);
    return NULL;
}

// False: there is no thread, or no memory, for that. The launch makes the way itself.
static bool begin_making(braid_runner *runner, const struct way *way)
{
    struct making *making = &runner->making;
    struct error_attempt attempt;
    *making = (struct making){ .device = runner->device, .options = options_of(runner, way) };
    braid_error_begin_attempt(&attempt);
    making->is_running =
        runner->compiles && !braid_graph_clone(runner->graph, &making->graph) &&
        !braid_own_thread_start(&making->thread, "braid-runner", make_behind, making);
    braid_error_end_attempt(&attempt, BRAID_OK);
    if (!making->is_running)
        braid_graph_destroy(making->graph);
    return making->is_running;
}

// In a child of the process there is no such thread, and nobody waits for it.
static void join(braid_runner *runner)
{
    struct making *making = &runner->making;
    if (!making->is_running)
        return;
    if (device_is_here(runner->device))
        braid_own_thread_join(&making->thread);
    braid_graph_destroy(making->graph);
    making->is_running = false;
}

// Without islands it is the plan that plays already.
static void check_made(struct way *way)
{
    if (way->kind != WAY_ISLANDS || !way->exec || way->exec->info.num_islands)
        return;
    snprintf(way->why, sizeof(way->why), "the plan has none");
    braid_exec_destroy(way->exec);
    way->exec = NULL;
}

// False: a thread still makes the way whose turn it is.
static bool end_making(braid_runner *runner)
{
    struct way *way = &runner->ways[runner->way];
    if (!runner->making.is_running)
        return true;
    if (!atomic_load_explicit(&runner->making.is_over, memory_order_acquire))
        return false;
    join(runner);
    way->exec = runner->making.exec;
    runner->making.exec = NULL;
    memcpy(way->why, runner->making.why, sizeof(way->why));
    check_made(way);
    return true;
}

// A graph that has grown would be another one to play.
static void make_way(braid_runner *runner, struct way *way)
{
    if (way->kind == WAY_BEFORE)
        return;
    if (way->kind == WAY_RELOADED) // the best plan so far
        way->max_lanes = runner->ways[runner->best].max_lanes;
    if (digest_of(runner->graph) != runner->digest) {
        snprintf(way->why, sizeof(way->why), "the graph was changed");
        return;
    }
    if (begin_making(runner, way))
        return;
    const braid_exec_options options = options_of(runner, way);
    make_exec(runner->device, runner->graph, &options, &way->exec, way->why);
    check_made(way);
}

// With the traps of its frames. A frame that runs may wait for the program, so nobody waits for it.
static braid_status take_away(struct way *way)
{
    struct error_attempt attempt;
    if (!way->is_dropped || !way->exec)
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_wait_for(way->exec, BRAID_LAST_FRAME, 0);
    braid_error_end_attempt(&attempt, BRAID_OK);
    if (status == BRAID_NOT_READY)
        return BRAID_OK;
    status = braid_exec_wait(way->exec);
    if (status == BRAID_TRAPPED) // perhaps the first of several
        return status;
    braid_exec_destroy(way->exec);
    way->exec = NULL;
    return status;
}

static braid_status take_dropped_away(braid_runner *runner)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < runner->num_ways && !status; i++)
        status = take_away(&runner->ways[i]);
    return status;
}

// ---- turns ----

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static braid_status read_time(const struct times *times, uint64_t *out_ns)
{
    uint64_t all[TIMED_FRAMES];
    braid_status status = BRAID_OK;
    for (int i = 0; i < TIMED_FRAMES && !status; i++)
        status = braid_event_get_elapsed(times->begins[i], times->ends[i], &all[i]);
    if (status)
        return status;
    qsort(all, TIMED_FRAMES, sizeof(*all), compare);
    *out_ns = all[TIMED_FRAMES / 2] ? all[TIMED_FRAMES / 2] : 1;
    return BRAID_OK;
}

static void write_reason(braid_runner *runner)
{
    size_t at = 0;
    for (uint32_t i = 0; i < runner->num_ways && at < REASON_BYTES; i++) {
        const struct way *way = &runner->ways[i];
        char *to = runner->reason + at;
        const char *comma = at ? "; " : "";
        if (way->why[0])
            at += (size_t)snprintf(to, REASON_BYTES - at, "%s%s: %s", comma, way->name, way->why);
        else if (way->ns)
            at += (size_t)snprintf(to, REASON_BYTES - at, "%s%s: %.1f us", comma, way->name,
                                   (double)way->ns / 1e3);
    }
}

// The program's way stays unless another one is faster by a hundredth: a new plan must be worth it.
static bool is_faster(const struct way *way, const struct way *best)
{
    if (way->kind == WAY_BEFORE)
        return way->ns <= best->ns + best->ns / 100;
    return way->ns < best->ns;
}

static void judge(braid_runner *runner)
{
    struct way *way = &runner->ways[runner->way], *best = &runner->ways[runner->best];
    const bool is_better = !way->why[0] && way->kind != WAY_TIMED && is_faster(way, best);
    (is_better ? best : way)->is_dropped = true;
    if (is_better)
        runner->best = runner->way;
}

// The frames of both ways have ended.
static braid_status end_turn(braid_runner *runner)
{
    struct way *way = &runner->ways[runner->way];
    braid_status status = read_time(&runner->times[0], &runner->ways[runner->best].ns);
    if (status || way->kind != WAY_TIMED)
        return status ? status : read_time(&runner->times[1], &way->ns);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    note_failure(way->why, braid_exec_measure(way->exec, runner->graph, BRAID_KEPT_FRAMES));
    braid_error_end_attempt(&attempt, BRAID_OK);
    return BRAID_OK;
}

static void destroy_times(struct times *times)
{
    for (int i = 0; i < TIMED_FRAMES; i++) {
        braid_event_destroy(times->begins[i]);
        braid_event_destroy(times->ends[i]);
    }
    memset(times, 0, sizeof(*times));
}

// To the next way that can be played or is being made, or to the choice.
static void go_on(braid_runner *runner)
{
    runner->times[0].num = runner->times[1].num = 0;
    while (++runner->way < runner->num_ways) {
        make_way(runner, &runner->ways[runner->way]);
        if (!runner->ways[runner->way].why[0])
            return;
    }
    runner->way = runner->best;
    runner->is_chosen = true;
    destroy_times(&runner->times[0]);
    destroy_times(&runner->times[1]);
}

static bool is_over(const braid_runner *runner)
{
    return runner->times[0].num >= NUM_BLOCKS * BLOCK_FRAMES &&
           runner->times[1].num >= NUM_BLOCKS * BLOCK_FRAMES;
}

// The last frame of the second block of each way. Programs may queue many frames ahead.
static braid_status ask_for_end(const braid_runner *runner)
{
    braid_status status = BRAID_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = braid_event_query(runner->times[i].ends[TIMED_FRAMES - 1]);
    return status;
}

// Nothing waits: while the last frame of a turn runs, the best way has further frames. A way that
// failed has no more of them.
static braid_status turn(braid_runner *runner)
{
    braid_status status = take_dropped_away(runner);
    if (status || runner->is_chosen || !end_making(runner))
        return status;
    const bool has_failed = runner->ways[runner->way].why[0];
    if (!has_failed && !is_over(runner))
        return BRAID_OK;
    if (!has_failed)
        status = ask_for_end(runner);
    if (status)
        return status == BRAID_NOT_READY ? BRAID_OK : status;
    if (!has_failed)
        status = end_turn(runner);
    if (status)
        return status;
    judge(runner);
    go_on(runner);
    write_reason(runner);
    return BRAID_OK;
}

// ---- launches ----

// 1: the way whose turn it is; 0: the best.
static int next_side(const braid_runner *runner)
{
    const uint32_t best = runner->times[0].num, other = runner->times[1].num;
    if (runner->is_chosen || runner->making.is_running || is_over(runner))
        return 0;
    return other % BLOCK_FRAMES || (best % BLOCK_FRAMES == 0 && other <= best);
}

// Nobody else comes to queue work by it.
static const void *handle_of(const braid_runner *runner, braid_stream *stream)
{
    struct backend *backend = runner->device->backend;
    return backend->ops->stream_handle ? backend->ops->stream_handle(backend, stream->backend)
                                       : stream;
}

// Ways know nothing of each other's frames. An exec orders its own. A wait that is not needed would
// still cost the program's own way time.
static braid_status follow_last(braid_runner *runner, const struct way *way, braid_stream *stream)
{
    const void *handle = handle_of(runner, stream);
    const bool is_same = handle == runner->last_handle && handle != (const void *)PER_THREAD;
    const bool orders = way->exec && !runner->options.before_plan;
    if (!runner->has_last || (runner->num_chosen && (orders || is_same)))
        return BRAID_OK;
    return braid_stream_follow(stream, runner->last);
}

struct program_call {
    braid_queue_function *function;
    void *user;
    braid_device *device;
    braid_stream *stream;
};

static braid_status call_suspended(void *argument)
{
    const struct program_call *call = argument;
    struct host_allocator *allocator = host_allocator_suspend();
    braid_status status = call->function(call->device, call->stream, call->user);
    host_allocator_resume(allocator);
    return status;
}

// With the device current, as for a queue call.
static braid_status call_program(const braid_runner *runner, braid_queue_function *function,
                                 void *user, braid_stream *stream)
{
    struct backend *backend = runner->device->backend;
    struct program_call call = { function, user, runner->device, stream };
    return backend->ops->call_program ? backend->ops->call_program(backend, call_suspended, &call)
                                      : call_suspended(&call);
}

static braid_status play_plan(const braid_runner *runner, const struct way *way,
                              braid_stream *stream)
{
    const braid_runner_options *options = &runner->options;
    braid_status status = BRAID_OK;
    if (options->before_plan)
        status = call_program(runner, options->before_plan, options->before_plan_user, stream);
    return status ? status : braid_exec_launch(way->exec, stream);
}

// A way that fails is not tried again. The best one stays.
static braid_status play(braid_runner *runner, struct way *way, braid_stream *stream)
{
    const braid_runner_options *options = &runner->options;
    braid_status status = way->kind == WAY_BEFORE
                              ? call_program(runner, options->as_before, options->user, stream)
                              : play_plan(runner, way, stream);
    if (status && !runner->is_chosen && way != &runner->ways[runner->best])
        snprintf(way->why, sizeof(way->why), "it failed: %s", braid_status_get_name(status));
    return status;
}

static braid_status play_timed(braid_runner *runner, struct way *way, struct times *times,
                               braid_stream *stream)
{
    const uint32_t block = times->num / BLOCK_FRAMES, frame = times->num % BLOCK_FRAMES;
    const uint32_t place = block * (BLOCK_FRAMES - COLD_FRAMES) + frame - COLD_FRAMES;
    const bool is_timed = block < NUM_BLOCKS && frame >= COLD_FRAMES;
    braid_status status = BRAID_OK;
    if (is_timed)
        status = braid_event_record(times->begins[place], stream);
    if (!status)
        status = play(runner, way, stream);
    if (!status && is_timed)
        status = braid_event_record(times->ends[place], stream);
    times->num += !status;
    return status;
}

// If the end of a frame cannot be recorded, nothing could wait for it later.
static braid_status record_last(braid_runner *runner, braid_stream *stream)
{
    struct error_attempt attempt;
    runner->last_handle = handle_of(runner, stream);
    braid_status status = braid_event_record(runner->last, stream);
    runner->has_last = runner->has_last || !status;
    if (!status)
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_stream_wait(stream));
    return status;
}

// A frame that failed may have queued a part. Of two failures the first is told.
static braid_status end_frame(braid_runner *runner, braid_stream *stream, braid_status failure)
{
    struct error_attempt attempt;
    if (!failure)
        return record_last(runner, stream);
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, record_last(runner, stream));
    return failure;
}

static braid_status launch(braid_runner *runner, braid_stream *stream)
{
    braid_status status = turn(runner);
    if (status)
        return status;
    const int side = next_side(runner);
    struct way *way = &runner->ways[side ? runner->way : runner->best];
    status = follow_last(runner, way, stream);
    if (status)
        return status;
    status = runner->is_chosen || runner->making.is_running
                 ? play(runner, way, stream)
                 : play_timed(runner, way, &runner->times[side], stream);
    runner->num_chosen += runner->is_chosen && !status;
    const bool is_kept = runner->is_chosen && way->exec && !runner->options.before_plan;
    return is_kept ? status : end_frame(runner, stream, status);
}

static braid_status check_stream(const braid_runner *runner, braid_stream *stream)
{
    static const char function[] = "braid_runner_launch";
    struct backend *backend = runner->device->backend;
    braid_status status = braid_inside_check(function, runner);
    if (!status)
        status = braid_device_check(function, runner->device);
    if (!status)
        status = braid_device_check_stream(function, runner->device, stream);
    if (status || !backend->ops->stream_check_launch)
        return status;
    return backend->ops->stream_check_launch(backend, stream->backend, NULL);
}

braid_status braid_runner_launch(braid_runner *runner, braid_stream *stream)
{
    if (!runner)
        return braid_error_null("braid_runner_launch", "runner");
    DEVICE_MEMORY(runner->device);
    stream = device_stream(runner->device, stream);
    braid_status status = check_stream(runner, stream);
    if (status)
        return status;
    struct inside inside; // so that the program's calls cannot come here again
    braid_inside_begin(&inside, "a queue call", runner);
    status = launch(runner, stream);
    braid_inside_end(&inside);
    return status;
}

// While ways are tried, an exec may have traps and failures of its own to tell.
braid_status braid_runner_wait(braid_runner *runner)
{
    if (!runner)
        return braid_error_null("braid_runner_wait", "runner");
    braid_status status = braid_inside_check("braid_runner_wait", runner);
    if (!status && runner->has_last)
        status = braid_event_wait(runner->last);
    for (uint32_t i = 0; i < runner->num_ways && !status; i++) {
        if (runner->ways[i].exec)
            status = braid_exec_wait(runner->ways[i].exec);
    }
    return status;
}

braid_status braid_runner_query(braid_runner *runner)
{
    if (!runner)
        return braid_error_null("braid_runner_query", "runner");
    braid_status status = braid_inside_check("braid_runner_query", runner);
    if (!status && runner->has_last)
        status = braid_event_query(runner->last);
    for (uint32_t i = 0; i < runner->num_ways && !status; i++) {
        if (runner->ways[i].exec)
            status = braid_exec_wait_for(runner->ways[i].exec, BRAID_LAST_FRAME, 0);
    }
    return status;
}

// ---- making ----

static braid_status make_times(braid_runner *runner, struct times *times)
{
    const braid_event_options timing = { .timing = true };
    braid_status status = BRAID_OK;
    for (int i = 0; i < TIMED_FRAMES && !status; i++) {
        status = braid_event_create(runner->device, &timing, &times->begins[i]);
        if (!status)
            status = braid_event_create(runner->device, &timing, &times->ends[i]);
    }
    return status;
}

static bool has_reloads(const braid_graph *graph)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    for (uint32_t i = 0; i < graph->kernels.num; i++) {
        if (kernels[i].kernel->cuda.function && kernels[i].kernel->cuda.data)
            return true;
    }
    return false;
}

static bool compiles(const braid_device *device)
{
    const struct player *const *player = device->backend->ops->players;
    while (*player && !(*player)->makes_islands)
        player++;
    return *player;
}

// Where the graph has its costs already, the first way is planned by them.
static void add_ways(braid_runner *runner, const braid_schedule *first)
{
    const uint32_t most = first->info.num_nodes;
    if (first->info.num_guessed) {
        add_way(runner, WAY_TIMED, 0, "times of nodes");
        add_way(runner, WAY_PLANNED, 0, "measured costs");
    } else if (runner->compiles && braid_exec_islands) {
        add_way(runner, WAY_ISLANDS, 0, "islands");
    }
    for (uint32_t lanes = 8; lanes > 2 && most > lanes; lanes /= 2)
        add_lanes(runner, lanes);
    if (runner->has_reloads)
        add_way(runner, WAY_RELOADED, 0, "functions from their text");
    if (runner->options.as_before)
        add_way(runner, WAY_BEFORE, 0, "as before");
    else if (most > 1)
        add_lanes(runner, 1);
}

static braid_status make(braid_runner *runner)
{
    struct way *first = add_way(runner, WAY_GUESSED, 0, "guessed costs");
    const braid_exec_options options = options_of(runner, first);
    braid_status status = braid_exec_create(runner->device, runner->graph, &options, &first->exec);
    if (status)
        return status;
    if (!first->exec->schedule->info.num_guessed)
        snprintf(first->name, sizeof(first->name), "the graph's costs");
    add_ways(runner, first->exec->schedule);
    status = braid_event_create(runner->device, NULL, &runner->last);
    if (!status)
        status = make_times(runner, &runner->times[0]);
    if (!status)
        status = make_times(runner, &runner->times[1]);
    if (!status)
        go_on(runner);
    return status;
}

// An exec that is changed for another one would lose data that a frame leaves for the next.
static braid_status check_graph(const braid_graph *graph)
{
    if (graph->ranks)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_runner_create: each rank would choose for itself, and all must "
                           "launch alike: graphs with communicators have no runners");
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        char name[160];
        if (graph_resource_at(graph, i)->num_versions)
            return braid_error(BRAID_UNSUPPORTED,
                               "braid_runner_create: each exec counts its own frames, and so each "
                               "way would find other versions of '%s'",
                               braid_graph_resource_name(graph, i, name, sizeof(name)));
    }
    return BRAID_OK;
}

static braid_status create(braid_device *device, braid_graph *graph,
                           const braid_runner_options *options, braid_runner **out_runner)
{
    if (!device || !graph || !out_runner)
        return braid_error_null("braid_runner_create", !device  ? "device"
                                                       : !graph ? "graph"
                                                                : "out_runner");
    DEVICE_MEMORY(device);
    braid_status status = braid_device_check("braid_runner_create", device);
    if (status)
        return status;
    if (device->group)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_runner_create: device '%s' is a group, and a runner has one",
                           device->label);
    status = check_graph(graph);
    if (status)
        return status;
    braid_runner *runner = braid_allocate_zeroed(1, sizeof(*runner));
    if (!runner)
        return braid_error_no_memory("a runner");
    runner->device = device;
    runner->graph = graph;
    runner->digest = digest_of(graph);
    runner->has_reloads = has_reloads(graph);
    runner->compiles = compiles(device);
    runner->options = *options;
    status = make(runner);
    if (status)
        braid_runner_destroy(runner);
    else
        *out_runner = runner;
    return status;
}

braid_status braid_runner_create_sized(braid_device *device, braid_graph *graph,
                                       const braid_runner_options *options,
                                       braid_runner **out_runner, size_t size)
{
    braid_runner_options own;
    braid_status status =
        braid_sized_take("braid_runner_create: options", options, size, &own, sizeof(own));
    return status ? status : create(device, graph, &own, out_runner);
}

// For frames that the program queued. A failure cannot be returned.
static void wait_for_last(const braid_runner *runner)
{
    struct error_attempt attempt;
    if (!runner->has_last || !device_is_here(runner->device))
        return;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_event_wait(runner->last));
}

void braid_runner_destroy(braid_runner *runner)
{
    if (!runner || braid_inside_check("braid_runner_destroy", runner))
        return;
    join(runner);
    braid_exec_destroy(runner->making.exec);
    for (uint32_t i = 0; i < runner->num_ways; i++)
        braid_exec_destroy(runner->ways[i].exec);
    wait_for_last(runner);
    destroy_times(&runner->times[0]);
    destroy_times(&runner->times[1]);
    braid_event_destroy(runner->last);
    braid_free(runner);
}

braid_exec *braid_runner_get_exec(braid_runner *runner)
{
    return runner && runner->is_chosen ? runner->ways[runner->best].exec : NULL;
}

void braid_runner_get_info_sized(braid_runner *runner, braid_runner_info *out_info, size_t size)
{
    braid_runner_info info = { .way = "", .reason = "" };
    if (runner)
        info = (braid_runner_info){ .way = runner->ways[runner->best].name,
                                    .reason = runner->reason,
                                    .frame_ns = runner->ways[runner->best].ns,
                                    .is_chosen = runner->is_chosen,
                                    .is_making = runner->making.is_running &&
                                                 !atomic_load(&runner->making.is_over) };
    braid_sized_give(&info, sizeof(info), out_info, size);
}
