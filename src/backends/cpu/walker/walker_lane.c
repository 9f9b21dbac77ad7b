// SPDX-License-Identifier: Apache-2.0
// The lane walker: replays a program's frame, each lane walked by one thread at a time.
#include <sched.h>

#include "backends/cpu/walker/walker.h"
#include "backends/cpu/walker/walker_walk.h"
#include "backends/players.h"

// ---- polling ----

// Polling: how a walker waits for another lane, and how it takes over one whose walker has stopped.

// A walker that polls for more than a moment leaves its lane open: open_at names the frame and the
// step. The thread that takes that name back walks on from there. Most often it is the walker
// itself, as soon as its wait is over or it has polled long enough. If the system has taken the
// core from it, the lane stays open beyond that. Then a walker that waits for the lane, or ends its
// own, takes it over.
//
// A walker that comes back finds the name gone, frames later even: no frame has the name of
// another. It has read the words of other lanes meanwhile, so lanes count such walkers, and a
// program is freed only when there are none.

enum {
    POLLS_A_LOOK = 8,       // for reasons to leave
    POLLS_CLOSED = 32,      // before others may take the lane over
    POLLS_WITH_OTHERS = 64, // while other jobs are ready
    ALONE_NS = 2000,        // before the walker offers its core to other threads
    LONG_YIELD_NS = 50000,
    SLEEPS_AFTER_A_LONG_YIELD = 64,
    YIELDS_A_SLEEP = 32,
    FOLLOW_AT_MOST = 8, // lanes that wait for each other
};

// A lane and where it was seen open.
struct open_lane {
    struct cpu_lane *lane;
    uint64_t open_at; // 0: none was
};

struct poll {
    struct cpu_lane *lane;
    const struct cpu_step *step;
    uint64_t open_at; // 0: not yet
    uint64_t start_ns;
    struct open_lane at_start; // the producer
    struct open_lane stopped;  // open at the look before, though it need not wait any more
    struct cpu_lane *taken;    // that was taken over
    bool in_the_way;           // in that of the producer's walker
};

static const struct cpu_step *step_of(const struct cpu_lane *lane, uint64_t open_at)
{
    return &lane->steps[(uint32_t)open_at - 1];
}

static void leave_open(struct poll *poll)
{
    struct cpu_lane *lane = poll->lane;
    uint64_t number = (uint64_t)(poll->step - lane->steps) + 1;
    poll->open_at = (uint64_t)lane->program->frame << 32 | number;
    atomic_fetch_add_explicit(&lane->num_polling, 1, memory_order_relaxed);
    atomic_store_explicit(&lane->open_at, poll->open_at, memory_order_release);
}

static bool take(struct cpu_lane *lane, uint64_t open_at)
{
    return atomic_compare_exchange_strong_explicit(&lane->open_at, &open_at, 0,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

// False: another thread walks the lane now, and the program must not be touched any more.
static bool take_back(const struct poll *poll)
{
    if (!poll->open_at)
        return true;
    bool taken = take(poll->lane, poll->open_at);
    atomic_fetch_sub_explicit(&poll->lane->num_polling, 1, memory_order_release);
    return taken;
}

// The lane, if it is open and need not wait any more.
static struct open_lane look_at(struct cpu_lane *lane, const struct cpu_step **out_step)
{
    uint64_t open_at = atomic_load_explicit(&lane->open_at, memory_order_acquire);
    *out_step = open_at ? step_of(lane, open_at) : NULL;
    bool stopped = *out_step && cpu_step_is_satisfied(*out_step);
    return stopped ? (struct open_lane){ lane, open_at } : (struct open_lane){ 0 };
}

// The lane, or one that it waits for, directly or not.
static struct open_lane follow(struct cpu_lane *lane)
{
    for (int i = 0; i < FOLLOW_AT_MOST; i++) {
        const struct cpu_step *step;
        struct open_lane stopped = look_at(lane, &step);
        if (stopped.open_at || !step)
            return stopped;
        lane = step->producer;
    }
    return (struct open_lane){ 0 };
}

// For a thread that has seen a lane open for longer than a running walker would leave it so.
static bool take_over(const struct open_lane *seen)
{
    if (!seen->open_at || !take(seen->lane, seen->open_at))
        return false;
    seen->lane->next = step_of(seen->lane, seen->open_at);
    return true;
}

// Between two looks a walker that runs goes on if its wait is over.
static bool take_over_stopped(struct poll *poll)
{
    if (take_over(&poll->stopped)) {
        poll->taken = poll->stopped.lane;
        return true;
    }
    poll->stopped = follow(poll->step->producer);
    if (poll->stopped.open_at >> 32 != poll->open_at >> 32)
        poll->stopped.open_at = 0; // a later frame: this walker has lost its lane long ago
    return false;
}

static bool should_leave(struct cpu_backend *backend, const struct poll *poll, uint32_t num_polls)
{
    bool walked = atomic_load_explicit(&poll->step->producer->walked, memory_order_relaxed);
    if (!walked && !braid_cpu_worker_is_idle(backend))
        return true;
    return num_polls >= POLLS_WITH_OTHERS && (!walked || braid_cpu_other_work_is_ready(backend));
}

// Parts the walker from one that shares its core, or offers the core; false: it is better to sleep.
// A walker that shares its core with the one it waits for keeps that from running. If nodes are
// short, a yield comes back soon. Otherwise yielding does not part the two. A thread that yields
// stays runnable, so the system leaves both on one core while another idles. A thread that sleeps
// is placed anew when it is woken. So after a yield that took longer than waking takes, the lane's
// next walkers in the way sleep. After shorter yields, one in a while does.
static bool offer_core(struct cpu_backend *backend, struct poll *poll, uint64_t now_ns)
{
    if (braid_cpu_seat_part(backend))
        return true;
    atomic_uint *num_sleeps = &poll->lane->num_sleeps;
    unsigned num = atomic_load_explicit(num_sleeps, memory_order_relaxed);
    if (num) {
        atomic_store_explicit(num_sleeps, num - 1, memory_order_relaxed);
        poll->in_the_way = true;
        return false;
    }
    sched_yield();
    bool was_long = clock_now_ns() - now_ns >= LONG_YIELD_NS;
    unsigned num_yields =
        atomic_fetch_add_explicit(&poll->lane->num_yields, 1, memory_order_relaxed);
    if (was_long)
        atomic_store_explicit(num_sleeps, SLEEPS_AFTER_A_LONG_YIELD, memory_order_relaxed);
    else if (num_yields % YIELDS_A_SLEEP == 0)
        atomic_store_explicit(num_sleeps, 1, memory_order_relaxed);
    return true;
}

// True: the time is over. As long as this walker has polled, the producer's would not have.
static bool watch_time(struct cpu_backend *backend, struct poll *poll)
{
    uint64_t now_ns = clock_now_ns();
    if (!poll->start_ns) {
        struct cpu_lane *producer = poll->step->producer;
        poll->start_ns = now_ns;
        poll->at_start.lane = producer;
        poll->at_start.open_at = atomic_load_explicit(&producer->open_at, memory_order_acquire);
    }
    if (now_ns - poll->start_ns >= CPU_SPIN_NS) {
        if (poll->at_start.open_at >> 32 == poll->open_at >> 32 && take_over(&poll->at_start))
            poll->taken = poll->at_start.lane;
        return true;
    }
    if (now_ns - poll->start_ns < ALONE_NS)
        return false;
    return !offer_core(backend, poll, now_ns);
}

// Every few polls. False: there is no use in polling on.
static bool look_around(struct cpu_backend *backend, struct poll *poll, uint32_t num_polls)
{
    if (should_leave(backend, poll, num_polls))
        return false;
    if (num_polls < POLLS_CLOSED)
        return true;
    if (!poll->open_at)
        leave_open(poll);
    return !take_over_stopped(poll) && !watch_time(backend, poll);
}

enum cpu_poll_end braid_cpu_lane_poll(struct cpu_backend *backend, struct cpu_lane *lane,
                                      const struct cpu_step *step, struct cpu_lane **out_taken)
{
    struct poll poll = { .lane = lane, .step = step };
    bool reached = false;
    for (uint32_t i = 1; !reached; i++) {
        braid_cpu_relax();
        reached = cpu_step_is_satisfied(step);
        if (!reached && i % POLLS_A_LOOK == 0 && !look_around(backend, &poll, i))
            break;
    }
    *out_taken = poll.taken;
    if (!take_back(&poll))
        return CPU_POLL_TAKEN;
    if (reached)
        return CPU_POLL_REACHED;
    return poll.in_the_way ? CPU_POLL_IN_THE_WAY : CPU_POLL_LEFT;
}

struct cpu_lane *braid_cpu_program_take_over(struct cpu_program *program)
{
    if (atomic_load_explicit(&program->num_unfinished, memory_order_relaxed) == 1)
        return NULL;
    for (uint32_t i = 0; i < program->num_active; i++) {
        const struct cpu_step *step;
        struct open_lane seen = look_at(program->active[i], &step);
        for (int k = 0; seen.open_at && k < POLLS_A_LOOK; k++)
            braid_cpu_relax();
        if (take_over(&seen))
            return seen.lane;
    }
    return NULL;
}

// A walker that lost its lane and then its core may come back after the frame.
void braid_cpu_program_await_polls(const struct cpu_program *program)
{
    for (uint32_t i = 0; i < program->num_active; i++)
        while (atomic_load_explicit(&program->active[i]->num_polling, memory_order_acquire))
            braid_cpu_give_way();
}

// ---- loops ----

// Loops: the thread that ends an iteration begins the next one, or goes on behind the loop. An arm
// of a branch is a loop of at most one iteration.

static uint64_t get(const struct cpu_program *body, enum iterations which)
{
    return atomic_load_explicit(&body->iterations[which], memory_order_relaxed);
}

// One thread at a time sets them.
static void set(struct cpu_program *body, enum iterations which, uint64_t num)
{
    atomic_store_explicit(&body->iterations[which], num, memory_order_relaxed);
}

static void count(struct cpu_program *body)
{
    if (body->profile)
        braid_cpu_profile_tally(body);
    set(body, ITERATIONS_SINCE_ENTRY, get(body, ITERATIONS_SINCE_ENTRY) + 1);
    if (body->traps_of)
        braid_players_note_traps(body->traps_of, body->traps_frame,
                                 get(body, ITERATIONS_SINCE_ENTRY));
    if (!body->is_else)
        set(body, ITERATIONS_OF_FRAME, get(body, ITERATIONS_OF_FRAME) + 1);
}

// Counts of a frame go on in loops inside when the loop around them does.
static void clear_counts(struct cpu_program *body)
{
    set(body, ITERATIONS_OF_FRAME, 0);
    if (body->profile)
        braid_cpu_profile_clear(body);
    for (uint32_t i = 0; i < body->num_bodies; i++)
        clear_counts(body->bodies[i]);
}

static void enter(struct cpu_program *body, const struct cpu_step *step)
{
    body->is_entered = true;
    set(body, ITERATIONS_SINCE_ENTRY, 0);
    if (body->around->around)
        return;
    clear_counts(step->body);
    if (step->body->other)
        clear_counts(step->body->other);
}

// Finds the arm of a branch that has been entered, or else the one that the condition says.
static struct cpu_program *find_body(const struct cpu_step *step, const struct work_loop *loop)
{
    struct cpu_program *body = step->body, *other = body->other;
    if (!other || body->is_entered)
        return body;
    bool is_other = other->is_entered || !*(const volatile uint32_t *)loop->condition;
    return is_other ? other : body;
}

// The body's writes are seen: its last lane has ended.
static bool goes_on(const struct cpu_program *body, const struct work_loop *loop)
{
    if (note_is_cancelled(body->cancelled))
        return false;
    uint64_t num_run = get(body, ITERATIONS_SINCE_ENTRY);
    bool tests = loop->condition && !body->is_else && (num_run > 0 || loop->tests_first);
    return num_run < loop->most && (!tests || *(const volatile uint32_t *)loop->condition);
}

struct cpu_job *braid_cpu_loop_go_on(struct cpu_backend *backend, struct cpu_lane *lane,
                                     const struct cpu_step *step)
{
    const struct work_loop *loop = braid_cpu_task_loop(step->args);
    struct cpu_program *body = find_body(step, loop);
    if (body->is_entered)
        count(body);
    else
        enter(body, step);
    while (goes_on(body, loop)) {
        lane->next = step;
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        struct cpu_job *next = body->play.start(backend, &body->play, NULL, &lane->job);
        if (next)
            return next;
        count(body); // nothing in it has any work
    }
    body->is_entered = false;
    atomic_store_explicit(&lane->walked, true, memory_order_relaxed);
    return NULL;
}

// ---- the walk ----

// A lane is a job like a stream: any worker may take it. A walker that has to wait polls the
// producer's progress word for a short while. Then it parks the lane and is free for another job.
// So a lane held up by a slow walker never keeps a worker from the other lanes. If a walker loses
// its core while it polls, one that waits for its lane takes that over.

enum { POLLS_FOR_TAKERS = 16 }; // a microsecond: less than it takes to wake a thread

// The linker's place for this loop decides 5 ns a step, so its place in a line is fixed. On a
// Cascade Lake 100 empty kernels took 4.9 or 5.4 us a frame, with the same instructions.
__attribute__((aligned(CPU_LINE_BYTES))) struct cpu_job *
braid_cpu_lane_run(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_point *until)
{
    (void)until; // a lane ends before anything that follows its launch
    return walk(backend, cpu_lane_of_job(job), NULL, false);
}

// The previous frame has ended, so all lanes are the caller's.
static void go_to_start(struct cpu_program *program, struct cpu_job *stream)
{
    for (uint32_t i = 0; i < program->num_active; i++) {
        struct cpu_lane *lane = program->active[i];
        atomic_store_explicit(&lane->progress, 0, memory_order_relaxed);
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        lane->next = lane->steps;
        lane->job.urgency = stream->urgency;
        lane->job.stream = stream;
    }
    for (size_t i = 0; i < program->num_frame_steps; i++) {
        const struct cpu_frame_step *frame_step = &program->frame_steps[i];
        atomic_fetch_add_explicit(&frame_step->step->wanted, frame_step->stride,
                                  memory_order_relaxed);
    }
    atomic_store_explicit(&program->num_unfinished, program->num_active, memory_order_relaxed);
}

// Offers all lanes except the first. The thread that launched is often about to wait, and then
// takes one. A worker woken for that lane comes too late, and in the way of the others.
static void offer_others(struct cpu_backend *backend, const struct cpu_program *program)
{
    struct cpu_job *stream = program->active[0]->job.stream;
    cpu_lock(backend);
    for (uint32_t i = 1; i < program->num_active; i++)
        braid_cpu_job_queue(backend, &program->active[i]->job);
    bool are_short = braid_cpu_workers_are_short(backend, stream);
    cpu_unlock(backend);
    if (!are_short)
        return;
    int num_polls = braid_cpu_thread_passes() ? 0 : POLLS_FOR_TAKERS;
    for (int i = 0; i < num_polls && braid_cpu_other_work_is_ready(backend); i++)
        braid_cpu_relax();
    cpu_lock(backend);
    braid_cpu_workers_wake_for(backend, stream);
    cpu_unlock(backend);
}

struct cpu_job *braid_cpu_program_start(struct cpu_backend *backend, struct cpu_play *play,
                                        struct cpu_patch *patch, struct cpu_job *then)
{
    struct cpu_program *program =
        (struct cpu_program *)(void *)((char *)play - offsetof(struct cpu_program, play));
    braid_cpu_patch_apply(program, patch);
    if (!program->num_active)
        return NULL;
    go_to_start(program, then->stream ? then->stream : then); // a body goes to its lane's
    program->then = then;
    program->frame++;
    if (program->num_active > 1)
        offer_others(backend, program);
    return &program->active[0]->job;
}
