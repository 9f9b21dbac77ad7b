// SPDX-License-Identifier: Apache-2.0
// What an island's kernel does, done by a host function: calls of other kernels, lane by lane.
//
// The stand-in compiler cannot translate the walker that Braid writes, but Braid says in a comment
// where it puts a kernel which one it is, and how large its arguments are. Here the words that the
// walker would read are walked: each lane by a thread of its own, so that kernels that wait for
// each other go on.
#include "island.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../standin_control.h"
#include "context.h"
#include "memory.h"
#include "settings.h"
#include "stamps.h"
#include "threads.h"
#include "work.h"
#include "world.h"

static const char mark[] = "// braid_island_run ";

// NAME 8 4 4: as the kernel is called, and its arguments' bytes.
static void read_callee(const char *text, struct island_callee *callee)
{
    char name[MAX_ENTRY_NAME];
    int length = (int)strcspn(text, " \n");
    snprintf(name, sizeof(name), "%.*s", length, text);
    *callee = (struct island_callee){ .body = module_find_body(name) };
    char *at = (char *)(uintptr_t)text + length;
    while (*at == ' ' && callee->num_arguments < MAX_PARAMETERS)
        callee->argument_bytes[callee->num_arguments++] = strtoul(at, &at, 10);
}

// Markers of one number stand for one kernel, and may be several.
bool island_read_calls(CUmodule module, const char *text)
{
    while ((text = strstr(text, mark)) != NULL) {
        text += strlen(mark);
        size_t number = strtoul(text, (char **)&text, 10);
        if (number >= module->num_island_calls) {
            size_t bytes = (number + 1) * sizeof(*module->island_calls);
            struct island_callee *calls = realloc(module->island_calls, bytes);
            if (calls == NULL)
                return false;
            memset(calls + module->num_island_calls, 0,
                   (number + 1 - module->num_island_calls) * sizeof(*calls));
            module->island_calls = calls;
            module->num_island_calls = number + 1;
        }
        read_callee(text + 1, &module->island_calls[number]);
    }
    return true;
}

bool island_has_bodies(const struct CUmod_st *module)
{
    bool has = module->num_island_calls > 0;
    for (size_t i = 0; i < module->num_island_calls; i++)
        has &= module->island_calls[i].body != NULL;
    return has;
}

bool island_is(const struct CUfunc_st *function)
{
    return function->body == NULL && strcmp(function->name, "braid_island") == 0;
}

// A loop or branch, behind the arguments of a frame.
struct scope {
    const uint32_t *condition;
    uint64_t most, *total, *counter;
    uint32_t kind, unused[3];
    uint64_t left, sum;
};

// A call's runs in one frame, which counts from 1.
struct tally {
    uint64_t frame, num, sum, begun;
};

struct walk {
    CUcontext context;
    CUmodule module;
    const unsigned char *arguments; // this frame's
    size_t away;                    // by how many 16 bytes those of blocks are apart
    uint32_t *told;                 // per lane
    uint64_t *stamps;               // this frame's; NULL: it has none
    struct tally *tallies;          // the same; an island with scopes has these instead
    struct tally *scope_tallies;    // behind them
    uint64_t frame;                 // which frame has them
    uint32_t num_in_lane;           // stamps, two numbers each, or tallies
    _Atomic uint32_t *notes;        // per lane; NULL: none are taken
    const uint32_t *cancelled;      // a word of the host; NULL: there is none
    struct scope *scopes;           // the launch's; NULL: it has none
    uint32_t step;                  // at hand
    bool failed;
    CUresult trap; // some lane's kernel met it: the others go no further
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct lane {
    struct walk *walk;
    const uint32_t *units, *waits;  // its block's
    const unsigned char *arguments; // the same
    uint32_t index, next, end, first;
};

static void note(const struct lane *lane, uint32_t number)
{
    if (lane->walk->notes != NULL)
        atomic_store_explicit(&lane->walk->notes[lane->index], number, memory_order_relaxed);
}

static const uint32_t *shape_of(const struct lane *lane, const uint32_t *call)
{
    return lane->units + (size_t)12 * (call[0] & 0xffff);
}

static uint32_t wait_of(const struct lane *lane, const uint32_t *call, uint32_t i)
{
    return (call[0] >> 16 & 0x7fff) <= 2 ? call[2 + i] : lane->waits[call[2] + i];
}

// False: there is nothing to wait for any more.
static bool await(struct lane *lane, const uint32_t *call)
{
    struct walk *walk = lane->walk;
    uint32_t num = call[0] >> 16 & 0x7fff;
    pthread_mutex_lock(&walk->lock);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t wait = wait_of(lane, call, i);
        while (walk->told[wait >> 20] < (wait & 0xfffff) && walk->trap == CUDA_SUCCESS)
            pthread_cond_wait(&walk->changed, &walk->lock);
    }
    bool goes_on = walk->trap == CUDA_SUCCESS;
    pthread_mutex_unlock(&walk->lock);
    return goes_on;
}

static void tell(struct lane *lane)
{
    struct walk *walk = lane->walk;
    pthread_mutex_lock(&walk->lock);
    walk->told[lane->index]++;
    pthread_cond_broadcast(&walk->changed);
    pthread_mutex_unlock(&walk->lock);
}

static size_t place(size_t at, size_t bytes)
{
    size_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    return (at + align - 1) / align * align;
}

static bool usable(struct walk *walk, const struct island_callee *callee, void **arguments)
{
    bool result = true;
    world_lock();
    for (size_t i = 0; result && i < callee->num_arguments; i++) {
        const void *value;
        if (callee->argument_bytes[i] != sizeof(value))
            continue;
        memcpy(&value, arguments[i], sizeof(value));
        result = memory_touch_argument(walk->context, value);
    }
    walk->failed |= !result;
    world_unlock();
    return result;
}

// Where it varies, this frame's stands in front of the arguments.
static const unsigned *grid_of(const struct lane *lane, const uint32_t *call)
{
    const uint32_t *shape = shape_of(lane, call);
    return shape[3] != 0 ? (const unsigned *)(lane->arguments + call[1]) - 4 : shape + 4;
}

// False: it runs nothing, or it does not run now.
static bool runs(const struct lane *lane, const uint32_t *call)
{
    const unsigned *grid = grid_of(lane, call);
    return shape_of(lane, call)[1] != 0 && grid[0] * grid[1] * grid[2] != 0;
}

static void do_call(struct lane *lane, const uint32_t *call)
{
    struct walk *walk = lane->walk;
    const uint32_t *shape = shape_of(lane, call);
    const struct island_callee *callee = &walk->module->island_calls[shape[0]];
    void *arguments[MAX_PARAMETERS];
    size_t at = 0;
    for (size_t i = 0; i < callee->num_arguments; i++) {
        at = place(at, callee->argument_bytes[i]);
        arguments[i] = (void *)(uintptr_t)(lane->arguments + call[1] + at);
        at += callee->argument_bytes[i];
    }
    const unsigned *grid = grid_of(lane, call);
    const unsigned block[3] = { shape[7], shape[8], shape[9] };
    if (usable(walk, callee, arguments))
        callee->body(grid, block, 0, arguments);
    CUresult trap = work_take_trap();
    if (trap == CUDA_SUCCESS)
        return;
    pthread_mutex_lock(&walk->lock);
    walk->trap = trap;
    pthread_cond_broadcast(&walk->changed);
    pthread_mutex_unlock(&walk->lock);
}

static bool has_trapped(struct walk *walk)
{
    pthread_mutex_lock(&walk->lock);
    bool trapped = walk->trap != CUDA_SUCCESS;
    pthread_mutex_unlock(&walk->lock);
    return trapped;
}

static bool is_set(struct walk *walk, const uint32_t *word)
{
    world_lock();
    bool result = memory_touch_argument(walk->context, word);
    walk->failed |= !result;
    world_unlock();
    return result &&
           atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed) != 0;
}

static bool is_cancelled(struct walk *walk)
{
    return walk->cancelled != NULL && is_set(walk, walk->cancelled);
}

static void add_up(struct tally *tally, uint64_t frame, uint64_t ns)
{
    if (tally->frame != frame)
        *tally = (struct tally){ .frame = frame, .begun = tally->begun };
    tally->num++;
    tally->sum += ns;
}

static void write_time(const struct lane *lane, const uint32_t *call, uint64_t begun)
{
    const struct walk *walk = lane->walk;
    size_t place = (size_t)lane->index * walk->num_in_lane + lane->next - lane->first;
    uint64_t ended = stamps_now();
    if (walk->stamps != NULL) {
        walk->stamps[2 * place] = ~begun;
        walk->stamps[2 * place + 1] = ended;
    }
    if (walk->tallies != NULL && runs(lane, call))
        add_up(&walk->tallies[place], walk->frame, ended - begun);
}

static void *walk_lane(void *user)
{
    struct lane *lane = user;
    uint64_t state = random_start(lane->index + 1);
    for (; lane->next < lane->end; lane->next++) {
        const uint32_t *call = lane->units + (size_t)4 * lane->next;
        note(lane, 2 * (lane->next - lane->first) + 1);
        if (!await(lane, call))
            return NULL;
        bool is_off = is_cancelled(lane->walk);
        if (!is_off)
            note(lane, 2 * (lane->next - lane->first) + 2);
        if (random_next(&state) % 4 == 0)
            sched_yield();
        uint64_t begun = stamps_now();
        if (!is_off && runs(lane, call))
            do_call(lane, call);
        if (has_trapped(lane->walk))
            return NULL;
        write_time(lane, call, begun);
        if (call[0] >> 31)
            tell(lane);
    }
    note(lane, 0);
    return NULL;
}

// The lanes of all blocks, or only their number where there is no room for them yet.
static uint32_t find_lanes(struct walk *walk, const uint32_t *words, unsigned num_blocks,
                           struct lane *lanes)
{
    uint32_t num = 0;
    for (unsigned b = 0; b < num_blocks; b++) {
        const uint32_t *head = words + (size_t)4 * b, *units = words + (size_t)4 * head[0];
        const uint32_t *steps = units + (size_t)4 * head[2];
        bool has_scopes = walk->scopes != NULL;
        const uint32_t *firsts = steps + (has_scopes ? 4 : 0);
        // Without steps, ranges stand before the calls.
        uint32_t num_ranges = has_scopes ? steps[3] : 2 * (firsts[0] - head[2]);
        const uint32_t *ranges = firsts + (size_t)4 * walk->step * (1 + (num_ranges + 1) / 2);
        for (uint32_t i = 0; i < num_ranges; i++) {
            if (ranges[2 * i] == 0 || ranges[2 * i + 1] < ranges[2 * i])
                continue;
            if (lanes != NULL)
                lanes[num] = (struct lane){ .walk = walk,
                                            .arguments = walk->arguments + 16 * walk->away * b,
                                            .units = units,
                                            .waits = units + (size_t)4 * head[3],
                                            .index = num,
                                            .next = ranges[2 * i],
                                            .end = ranges[2 * i + 1],
                                            .first = firsts[2 * i] };
            num++;
        }
    }
    return num;
}

static bool run_lanes(struct walk *walk, const uint32_t *words, unsigned num_blocks)
{
    uint32_t num = find_lanes(walk, words, num_blocks, NULL), num_started = 0;
    struct lane *lanes = calloc(num + 1, sizeof(*lanes));
    struct task *threads = calloc(num + 1, sizeof(*threads));
    walk->told = calloc(num + 1, sizeof(*walk->told));
    find_lanes(walk, words, num_blocks, lanes);
    bool done = lanes != NULL && threads != NULL && walk->told != NULL;
    if (done) {
        for (; num_started + 1 < num; num_started++)
            if (!threads_start(&threads[num_started], walk_lane, &lanes[num_started + 1]))
                abort(); // the lanes that run may wait for this one
        if (num > 0)
            walk_lane(&lanes[0]);
        for (uint32_t i = 0; i < num_started; i++)
            threads_join(&threads[i]);
    }
    free(lanes);
    free(threads);
    free(walk->told);
    return done;
}

// Parameters. Without times, scopes or tallies those of them are NULL or 0. Where AWAY is not 0,
// the rows are so many units of arguments for each block, for all frames. COUNTER counts frames,
// and NUM_TALLIES is before those of scopes.
// clang-format off
enum { TIMES = 8, FIRST, ROOM, NUM_IN_LANE, SCOPES_AT, NUM_SCOPES, AWAY, COUNTER, COUNTS_OF_FRAME,
       NUM_TALLIES };
// clang-format on

static uint32_t number_of(void **arguments, int parameter)
{
    return *(const uint32_t *)arguments[parameter];
}

static const uint64_t *counter_of(void **arguments)
{
    return *(const uint64_t **)arguments[COUNTER];
}

// The stamps of a frame of the launch, those of frames before it being for all lanes of all blocks.
static void find_stamps(struct walk *walk, uint32_t frame, uint32_t num_lanes, void **arguments)
{
    uint64_t *stamps = *(uint64_t **)arguments[TIMES];
    if (stamps == NULL || counter_of(arguments) != NULL)
        return;
    walk->num_in_lane = number_of(arguments, NUM_IN_LANE);
    uint32_t row = (number_of(arguments, FIRST) + frame) % number_of(arguments, ROOM);
    walk->stamps = stamps + (size_t)2 * row * num_lanes * walk->num_in_lane;
}

static void find_tallies(struct walk *walk, void **arguments)
{
    uint64_t before = *counter_of(arguments) / number_of(arguments, COUNTS_OF_FRAME);
    walk->num_in_lane = number_of(arguments, NUM_IN_LANE);
    walk->frame = before + 1;
    size_t num = number_of(arguments, NUM_TALLIES);
    walk->tallies =
        *(struct tally **)arguments[TIMES] +
        (size_t)(before % number_of(arguments, ROOM)) * (num + number_of(arguments, NUM_SCOPES));
    walk->scope_tallies = walk->tallies + num;
}

// False: it touched memory that it may not, or there was none for the lanes.
static bool run_frames(struct walk *walk, const struct CUfunc_st *function, unsigned num_blocks,
                       void **arguments)
{
    const uint32_t *words = *(const uint32_t **)arguments[0];
    uint32_t num_frames = *(const uint32_t *)arguments[3];
    const unsigned char *rows = *(const unsigned char **)arguments[4]; // NULL: all frames have [5]
    for (uint32_t frame = 0; frame < num_frames && !walk->failed && walk->trap == CUDA_SUCCESS;
         frame++) {
        if (rows != NULL)
            walk->arguments = rows + (walk->away ? 0 : frame * function->parameters[5].bytes);
        find_stamps(walk, frame, find_lanes(walk, words, num_blocks, NULL), arguments);
        if (!run_lanes(walk, words, num_blocks))
            return false;
    }
    return !walk->failed;
}

// Behind a step, whose lanes have ended.
static bool test(struct walk *walk, uint32_t kind, struct scope *scope)
{
    enum { ENTER = 1, AGAIN, CHOOSE };
    bool goes_on = true;
    if (kind == ENTER)
        scope->left = scope->most;
    if (kind == AGAIN) {
        scope->left--;
        scope->sum++;
    }
    if (kind == ENTER || kind == AGAIN)
        goes_on = scope->left > 0 && !is_cancelled(walk);
    if (goes_on && scope->condition != NULL && (kind > ENTER || (kind == ENTER && scope->kind & 1)))
        goes_on = is_set(walk, scope->condition);
    if (kind == CHOOSE)
        scope->sum += goes_on;
    if (kind != 0) {
        _Atomic uint64_t *counters = (_Atomic uint64_t *)scope->counter;
        atomic_store_explicit(&counters[0], scope->sum + (scope->kind & 2 ? *scope->total : 0),
                              memory_order_relaxed);
        atomic_store_explicit(&counters[1], scope->most - scope->left, memory_order_relaxed);
    }
    return goes_on;
}

// The test said whether it goes on.
static void time_scope(const struct walk *walk, uint32_t kind, struct tally *tally, bool goes_on)
{
    enum { NONE, ENTER, AGAIN, CHOOSE };
    uint64_t now = stamps_now();
    if (kind == ENTER || kind == CHOOSE)
        tally->begun = now;
    if (kind == NONE || (kind != CHOOSE && !goes_on))
        add_up(tally, walk->frame, now - tally->begun);
}

static bool run_steps(struct walk *walk, const struct CUfunc_st *function, unsigned num_blocks,
                      void **arguments)
{
    const uint32_t *words = *(const uint32_t **)arguments[0];
    do {
        const uint32_t *head = words, *first = words + (size_t)4 * (head[0] + head[2]);
        const uint32_t *step = first + (size_t)4 * walk->step * (1 + (first[3] + 1) / 2);
        if (!run_frames(walk, function, num_blocks, arguments))
            return false;
        if (walk->trap != CUDA_SUCCESS)
            return true;
        bool goes_on = test(walk, step[0] & 3, &walk->scopes[step[0] >> 2]);
        if (walk->tallies != NULL)
            time_scope(walk, step[0] & 3, &walk->scope_tallies[step[0] >> 2], goes_on);
        walk->step = step[goes_on ? 1 : 2];
    } while (walk->step != 0 && !walk->failed);
    return !walk->failed;
}

static bool run_scopes(struct walk *walk, const struct CUfunc_st *function, unsigned num_blocks,
                       void **arguments)
{
    uint32_t at = number_of(arguments, SCOPES_AT), num = number_of(arguments, NUM_SCOPES);
    struct scope *scopes = malloc(num * sizeof(*scopes));
    if (scopes == NULL)
        return false;
    memcpy(scopes, walk->arguments + at, num * sizeof(*scopes));
    walk->scopes = scopes;
    if (counter_of(arguments) != NULL)
        find_tallies(walk, arguments);
    bool done = run_steps(walk, function, num_blocks, arguments);
    for (uint32_t i = 0; i < num && done; i++) {
        uint64_t total = scopes[i].sum + (scopes[i].kind & 2 ? *scopes[i].total : 0);
        *scopes[i].total = total;
        atomic_store_explicit((_Atomic uint64_t *)scopes[i].counter, total, memory_order_relaxed);
    }
    free(scopes);
    return done;
}

bool island_run(CUcontext context, const struct CUfunc_st *function, const unsigned grid[3],
                void **arguments)
{
    struct walk walk = { .context = context,
                         .module = function->module,
                         .arguments = arguments[5],
                         .away = number_of(arguments, AWAY),
                         .notes = *(_Atomic uint32_t **)arguments[6],
                         .cancelled = *(const uint32_t **)arguments[7],
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER };
    bool done = number_of(arguments, NUM_SCOPES) > 0
                    ? run_scopes(&walk, function, grid[0], arguments)
                    : run_frames(&walk, function, grid[0], arguments);
    if (walk.trap != CUDA_SUCCESS)
        standin_trap((int)walk.trap);
    return done;
}
