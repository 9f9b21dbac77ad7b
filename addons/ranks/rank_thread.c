// SPDX-License-Identifier: Apache-2.0
// The communication thread: it begins posted operations in their order, and moves them on.
//
// No other thread calls the engine, and this one never does so with the lock held. So an engine
// needs to know of one thread only, and posting never waits.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/append.h"
#include "base/array.h"
#include "base/host_memory.h"
#include "ranks/ranks.h"

// ---- frames on devices ----

// Frames on devices: whether they have ended, and the failures that the engines there have noticed.

void braid_rank_watch_add(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    watch->next = ranks->watches;
    ranks->watches = watch;
    rank_unlock(ranks);
}

// A launch is watched as well: queueing an operation for the first time may wait for other ranks.
void braid_rank_watch_begin(struct rank_watch *watch)
{
    if (!watch->is_pending)
        watch->since_ns = clock_now_ns();
    watch->is_launching = true;
    watch->is_pending = true;
}

void braid_rank_watch_end(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    watch->is_launching = false;
    rank_unlock(ranks);
}

// An operation counts as ended with its frame. A communicator may be in flight in another exec by
// now.
static void end_operations(const struct rank_watch *watch)
{
    for (uint32_t i = 0; i < watch->num_operations; i++) {
        braid_communicator *communicator = watch->operations[i].what.communicator;
        if (communicator->exec == watch->exec)
            communicator->num_ended = communicator->num_due;
    }
}

void braid_rank_watch_remove(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    for (struct rank_watch **link = &ranks->watches; *link; link = &(*link)->next) {
        if (*link == watch) {
            *link = watch->next;
            end_operations(watch);
            break;
        }
    }
    rank_unlock(ranks);
}

void braid_rank_watch_refresh(braid_ranks *ranks)
{
    for (struct rank_watch *it = ranks->watches; it; it = it->next) {
        if (!it->is_pending || it->is_launching || !it->has_ended(it->of))
            continue;
        it->is_pending = false;
        end_operations(it);
    }
}

// All on the communication thread. The frames on a device that have waited longest, since when, and
// a communicator of theirs; NULL: nothing waits. Their exec may be destroyed as soon as the call
// returns, so that its watch may be compared and not be read.
static struct rank_watch *rank_watch_find(braid_ranks *ranks, uint64_t *out_since_ns,
                                          const braid_communicator **out_communicator)
{
    struct rank_watch *oldest = NULL;
    rank_lock(ranks);
    braid_rank_watch_refresh(ranks);
    for (struct rank_watch *it = ranks->watches; it; it = it->next) {
        if (it->is_pending && (!oldest || it->since_ns < oldest->since_ns))
            oldest = it;
    }
    *out_since_ns = oldest ? oldest->since_ns : 0;
    *out_communicator = oldest ? oldest->operations[0].what.communicator : NULL;
    rank_unlock(ranks);
    return oldest;
}

// Looks for failures that an engine of a device has noticed itself. True: the ranks have failed.
static bool rank_watch_check_links(braid_ranks *ranks)
{
    char words[RANK_WHY_BYTES / 2], why[RANK_WHY_BYTES] = "";
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it && !*why; it = it->next) {
        if (it->link && braid_rank_link_has_failed(it->link, words, sizeof(words)))
            snprintf(why, sizeof(why), "communicator '%s': %s", it->name, words);
    }
    rank_unlock(ranks);
    if (*why)
        braid_rank_fail(ranks, why, true);
    return *why;
}

// ---- news ----

// Ranks that do not come. After half of the time that something waits, the other ranks are asked
// for their progress. After all of it, it fails, and the message names the ranks that did not
// answer.

static struct rank_transfer describe_news(uint32_t operation, uint32_t peer, struct rank_news *news)
{
    return (struct rank_transfer){ .operation = operation,
                                   .element = BRAID_ELEMENT_BYTE,
                                   .peer = peer,
                                   .tag = RANK_TAG_NEWS,
                                   .from = news,
                                   .to = news,
                                   .count = sizeof(*news) };
}

static bool remember(braid_ranks *ranks, uint32_t request, struct rank_waiting waiting)
{
    if (request >= ranks->num_waiting) {
        uint32_t num = request < 32 ? 64 : 2 * request;
        struct rank_waiting *more = braid_reallocate(ranks->waiting, num * sizeof(*more));
        if (!more)
            return false;
        memset(more + ranks->num_waiting, 0, (num - ranks->num_waiting) * sizeof(*more));
        ranks->waiting = more;
        ranks->num_waiting = num;
    }
    ranks->waiting[request] = waiting;
    return true;
}

static bool rank_begin_waiting(braid_ranks *ranks, const struct rank_transfer *transfer,
                               struct rank_waiting waiting, uint32_t *out_request)
{
    char why[RANK_WHY_BYTES];
    bool begun = ranks->engine->begin(transfer, out_request, why, sizeof(why));
    if (begun && remember(ranks, *out_request, waiting))
        return true;
    braid_rank_fail(ranks, begun ? "out of host memory for requests" : why, true);
    return false;
}

bool braid_rank_news_listen(braid_ranks *ranks)
{
    const struct rank_transfer transfer =
        describe_news(BRAID_RANK_RECEIVE, RANK_ANY, &ranks->heard);
    return rank_begin_waiting(ranks, &transfer, (struct rank_waiting){ .is_news = true },
                              &ranks->news_request);
}

// Each rank may have one message of each kind on its way, whose memory is kept until the end.
static void tell(braid_ranks *ranks, uint32_t peer, const struct rank_news *news)
{
    struct rank_news *copy = &ranks->told[peer * RANK_NEWS_KINDS + news->kind - 1];
    char why[RANK_WHY_BYTES];
    uint32_t request;
    *copy = *news;
    const struct rank_transfer transfer = describe_news(BRAID_RANK_SEND, peer, copy);
    if (!ranks->failed)
        (void)rank_begin_waiting(ranks, &transfer, (struct rank_waiting){ 0 }, &request);
    else
        (void)ranks->engine->begin(&transfer, &request, why, sizeof(why));
}

static void tell_all(braid_ranks *ranks, const struct rank_news *news)
{
    for (uint32_t i = 0; i < ranks->num; i++) {
        if (i != ranks->rank)
            tell(ranks, i, news);
    }
}

// Frames that were launched with a communicator, or the calls that all ranks make.
static uint64_t count_done(braid_ranks *ranks, uint32_t number)
{
    uint64_t num = ranks->num_calls;
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it; it = it->next)
        num = it->number == number ? it->num_frames : num;
    rank_unlock(ranks);
    return num;
}

static void answer(braid_ranks *ranks, const struct rank_news *asked)
{
    struct rank_news news = { .kind = RANK_NEWS_ANSWER,
                              .from = ranks->rank,
                              .num_done = count_done(ranks, asked->communicator) };
    tell(ranks, asked->from, &news);
}

// one was received
static void rank_news_hear(braid_ranks *ranks)
{
    struct rank_news news = ranks->heard;
    char why[RANK_WHY_BYTES];
    if (!braid_rank_news_listen(ranks) || news.from >= ranks->num)
        return;
    if (news.kind == RANK_NEWS_ASK) {
        answer(ranks, &news);
    } else if (news.kind == RANK_NEWS_ANSWER) {
        ranks->answers[news.from] = (struct rank_answer){ true, news.num_done };
    } else if (news.kind == RANK_NEWS_GAVE_UP) {
        snprintf(why, sizeof(why), "rank %u gave up: %.*s", news.from, RANK_WHY_BYTES - 40,
                 news.text);
        braid_rank_fail(ranks, why, false);
    }
}

// The longest wait: of an operation, of a call that all ranks make, or else of frames on a device.
struct late {
    uint64_t since_ns;                      // 0: nothing waits
    const braid_communicator *communicator; // NULL: a call
    const struct rank_watch *watch;         // if frames are late
};

static struct late find_late(braid_ranks *ranks)
{
    struct late late = { ranks->call_began_ns, NULL, NULL };
    for (const struct rank_operation *it = ranks->begun; it; it = it->next) {
        if (!late.since_ns || it->posted_ns < late.since_ns)
            late = (struct late){ it->posted_ns, it->what.communicator, NULL };
    }
    if (!late.since_ns)
        late.watch = rank_watch_find(ranks, &late.since_ns, &late.communicator);
    if (late.watch && rank_watch_check_links(ranks))
        return (struct late){ 0 };
    return late;
}

// Describes the ranks that do not answer, and those that have done less. False: there are none.
static bool describe_ranks(const braid_ranks *ranks, const braid_communicator *communicator,
                           char *text, size_t size)
{
    uint64_t own = communicator ? communicator->num_frames : ranks->num_calls;
    uint32_t num = communicator ? communicator->num : ranks->num;
    bool found = false;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t rank = communicator ? communicator->members[i] : i;
        const struct rank_answer *answer = &ranks->answers[rank];
        if (rank == ranks->rank || (answer->answered && answer->num_done >= own))
            continue;
        braid_append(text, size, "%srank %u ", found ? ", " : "", rank);
        if (answer->answered)
            braid_append(text, size, "answers, and has %s%.30s %llu times, not %llu",
                         communicator ? "launched " : "made the call",
                         communicator ? communicator->name : "",
                         (unsigned long long)answer->num_done, (unsigned long long)own);
        else
            braid_append(text, size, "does not answer");
        found = true;
    }
    return found;
}

// How many were told of before.
static void describe_operation(const struct rank_operation *operation, uint32_t num, char *text,
                               size_t size)
{
    enum { MOST_TOLD = 3 };
    const struct rank_description *what = &operation->what;
    uint32_t peer =
        what->operation <= BRAID_RANK_BROADCAST ? what->communicator->members[what->peer] : 0;
    char one[160];
    if (num > MOST_TOLD)
        return;
    braid_rank_describe(one, sizeof(one), what->operation, operation->name, what->count, peer);
    braid_append(text, size, "%s%s",
                 num ? ", " : "; pending: ", num < MOST_TOLD ? one : "and more");
}

// A device may be long at work that all ranks have launched: that is no failure, and the time
// begins again. Of its frames nobody knows how far they are: all that they have may be pending.
static void give_up(braid_ranks *ranks, const struct late *late)
{
    char why[RANK_WHY_BYTES];
    struct rank_watch *watch = ranks->watches;
    uint32_t num = 0;
    rank_lock(ranks);
    while (watch && watch != late->watch)
        watch = watch->next; // an exec may have been destroyed meanwhile
    snprintf(why, sizeof(why), "%s%s has waited for %llu ms on rank %u: ",
             late->watch          ? "a frame with "
             : late->communicator ? "an operation of "
                                  : "",
             late->communicator ? late->communicator->name : ranks->call_name,
             (unsigned long long)(ranks->timeout_ns / 1000000), ranks->rank);
    bool fails = describe_ranks(ranks, late->communicator, why, sizeof(why));
    if (!fails)
        braid_append(why, sizeof(why), "all ranks answer");
    for (const struct rank_operation *it = ranks->begun; it; it = it->next)
        describe_operation(it, num++, why, sizeof(why));
    for (uint32_t i = 0; watch && i < watch->num_operations; i++)
        describe_operation(&watch->operations[i], i, why, sizeof(why));
    if (watch)
        watch->since_ns = clock_now_ns();
    rank_unlock(ranks);
    if (late->watch ? watch && watch->is_pending && fails : true)
        braid_rank_fail(ranks, why, true);
}

static void ask_all(braid_ranks *ranks, const struct late *late)
{
    if (ranks->asked_for_ns == late->since_ns)
        return;
    ranks->asked_for_ns = late->since_ns;
    memset(ranks->answers, 0, ranks->num * sizeof(*ranks->answers));
    struct rank_news news = { .kind = RANK_NEWS_ASK,
                              .from = ranks->rank,
                              .communicator =
                                  late->communicator ? late->communicator->number : UINT32_MAX };
    tell_all(ranks, &news);
}

// If an operation or call waits for long, asks the other ranks. If it waits for too long, fails it.
static void rank_news_check_time(braid_ranks *ranks)
{
    const struct late late = find_late(ranks);
    uint64_t now = clock_now_ns();
    if (!late.since_ns || now < late.since_ns)
        return;
    if (now - late.since_ns > ranks->timeout_ns)
        give_up(ranks, &late);
    else if (now - late.since_ns > ranks->timeout_ns / 2)
        ask_all(ranks, &late);
}

// The other ranks may be gone, so MPI gets only a tenth of a second for the messages.
static void tell_failure(braid_ranks *ranks)
{
    struct rank_news news = { .kind = RANK_NEWS_GAVE_UP, .from = ranks->rank };
    struct rank_ended ended[16];
    snprintf(news.text, sizeof(news.text), "%s", ranks->why);
    tell_all(ranks, &news);
    for (int i = 0; i < 100; i++) {
        struct timespec nap = { .tv_nsec = 1000000 };
        (void)ranks->engine->poll(ended, 16);
        nanosleep(&nap, NULL);
    }
}

static struct rank_operation *take_all(braid_ranks *ranks)
{
    rank_lock(ranks);
    struct rank_operation *all = ranks->begun;
    ranks->begun = NULL;
    struct rank_operation **end = &all;
    while (*end)
        end = &(*end)->next;
    *end = ranks->first;
    ranks->first = ranks->last = NULL;
    ranks->failed = true;
    rank_unlock(ranks);
    return all;
}

static void abort_links(braid_ranks *ranks)
{
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it; it = it->next) {
        if (it->link)
            braid_rank_link_abort(it->link);
    }
    rank_unlock(ranks);
}

// The operation has ended, or failed: its lane goes on.
static void rank_end(braid_ranks *ranks, struct rank_operation *operation)
{
    rank_lock(ranks);
    work_resume_function *resume = operation->resume;
    void *of = operation->resume_of, *job = operation->resume_job;
    operation->resume = NULL;
    operation->state = RANK_ENDED;
    operation->what.communicator->num_ended++;
    rank_unlock(ranks);
    if (resume)
        resume(of, job);
}

void braid_rank_fail(braid_ranks *ranks, const char *why, bool tell)
{
    if (ranks->failed)
        return;
    snprintf(ranks->why, sizeof(ranks->why), "%s", why);
    bool has_begun = ranks->begun;
    struct rank_operation *all = take_all(ranks);
    abort_links(ranks);
    if (tell)
        tell_failure(ranks);
    if (has_begun) // the engine may have moved their data meanwhile
        braid_own_threads_count_change();
    while (all) {
        struct rank_operation *operation = all;
        all = operation->next;
        rank_end(ranks, operation);
    }
}

// ---- the thread ----

enum {
    MOST_ENDED = 64,
    EAGER_NS = 200000,     // how long it polls without sleeping after something has moved
    NAP_NS = 50000,        // how long it sleeps between two polls after that, at first
    LONG_NAP_NS = 4000000, // and at most
    IDLE_NS = 20000000,    // and while nothing is under way, so that it hears of other ranks
};

bool braid_rank_begin(braid_ranks *ranks, const struct rank_transfer *transfer, bool *flag)
{
    uint32_t request;
    return rank_begin_waiting(ranks, transfer, (struct rank_waiting){ .flag = flag }, &request);
}

static struct rank_operation *take_posted(braid_ranks *ranks)
{
    rank_lock(ranks);
    struct rank_operation *operation = ranks->first;
    if (operation) {
        ranks->first = operation->next;
        ranks->last = ranks->first ? ranks->last : NULL;
    }
    rank_unlock(ranks);
    return operation;
}

// The thread makes no call of the program. But while some operation is begun, the engine may use
// the program's memory by system calls here.
static void begin_operation(braid_ranks *ranks, struct rank_operation *operation)
{
    const struct rank_description *what = &operation->what;
    const struct rank_transfer transfer = {
        .communicator = what->communicator->engine,
        .operation = what->operation,
        .element = what->element,
        .reduction = what->reduction,
        .peer = what->peer,
        .tag = what->tag,
        .from = operation->from,
        .to = operation->to,
        .count = what->count,
    };
    if (!ranks->begun)
        braid_own_threads_count_change();
    operation->next = ranks->begun;
    ranks->begun = operation;
    (void)rank_begin_waiting(ranks, &transfer, (struct rank_waiting){ .operation = operation },
                             &operation->request);
}

static void end_begun(braid_ranks *ranks, struct rank_operation *operation)
{
    struct rank_operation **link = &ranks->begun;
    while (*link != operation)
        link = &(*link)->next;
    *link = operation->next;
    if (!ranks->begun)
        braid_own_threads_count_change();
    rank_end(ranks, operation);
}

static void end_request(braid_ranks *ranks, const struct rank_ended *ended,
                        struct rank_waiting waiting)
{
    if (ended->failed) {
        char text[RANK_WHY_BYTES / 2] = "a message between ranks", why[RANK_WHY_BYTES];
        if (waiting.operation)
            braid_rank_describe(text, sizeof(text), waiting.operation->what.operation,
                                waiting.operation->name, waiting.operation->what.count,
                                waiting.operation->what.peer);
        snprintf(why, sizeof(why), "%s failed", text);
        braid_rank_fail(ranks, why, true);
    } else if (waiting.operation) {
        end_begun(ranks, waiting.operation);
    } else if (waiting.flag) {
        *waiting.flag = true;
    } else if (waiting.is_news) {
        rank_news_hear(ranks);
    }
}

bool braid_rank_progress(braid_ranks *ranks, bool *out_moved)
{
    struct rank_operation *operation;
    *out_moved = false;
    while (!ranks->failed && (operation = take_posted(ranks))) {
        begin_operation(ranks, operation);
        *out_moved = true;
    }
    struct rank_ended ended[MOST_ENDED];
    uint32_t num = ranks->failed ? 0 : ranks->engine->poll(ended, MOST_ENDED);
    struct rank_waiting waiting[MOST_ENDED]; // before what begins here takes their numbers
    for (uint32_t i = 0; i < num; i++)
        waiting[i] = ranks->waiting[ended[i].request];
    for (uint32_t i = 0; i < num && !ranks->failed; i++)
        end_request(ranks, &ended[i], waiting[i]);
    *out_moved |= num > 0;
    if (!ranks->failed)
        rank_news_check_time(ranks);
    return !ranks->failed;
}

// Until something is posted or called, or for so long.
static void sleep_for(braid_ranks *ranks, uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t sum = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / 1000000000);
    until.tv_nsec = (long)(sum % 1000000000);
    rank_lock(ranks);
    int error = 0;
    while (!ranks->first && !ranks->call && !ranks->stop && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&ranks->changed, &ranks->lock, &until);
    rank_unlock(ranks);
}

// The longer nothing has moved, the longer it is likely to stay so.
static uint64_t find_nap(uint64_t still_ns)
{
    uint64_t nap = still_ns / 32;
    return nap < NAP_NS ? NAP_NS : nap > LONG_NAP_NS ? LONG_NAP_NS : nap;
}

static void pause_between(braid_ranks *ranks, bool moved, uint64_t *since_ns)
{
    uint64_t now = clock_now_ns();
    if (moved)
        *since_ns = now;
    if (now - *since_ns < EAGER_NS)
        sched_yield();
    else
        sleep_for(ranks, ranks->begun ? find_nap(now - *since_ns) : IDLE_NS);
}

bool braid_rank_progress_until(braid_ranks *ranks, const bool *flag)
{
    uint64_t since_ns = clock_now_ns();
    bool moved = false;
    while (!*flag) {
        if (!braid_rank_progress(ranks, &moved))
            return false;
        if (*flag)
            break;
        uint64_t now = clock_now_ns();
        since_ns = moved ? now : since_ns;
        struct timespec nap = { .tv_nsec = (long)find_nap(now - since_ns) };
        if (now - since_ns < EAGER_NS)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
    return true;
}

static void make_call(braid_ranks *ranks, struct rank_call *call)
{
    ranks->call_began_ns = clock_now_ns();
    ranks->call_name = call->what;
    ranks->num_calls++;
    if (!ranks->failed)
        call->make(ranks, call);
    if (ranks->failed) {
        call->status = BRAID_DEVICE_ERROR;
        snprintf(call->message, sizeof(call->message), "%s: %s", call->what, ranks->why);
    }
    ranks->call_began_ns = 0;
    rank_lock(ranks);
    call->is_done = true;
    ranks->call = NULL;
    pthread_cond_broadcast(&ranks->done);
    rank_unlock(ranks);
}

void *braid_rank_thread(void *argument)
{
    braid_ranks *ranks = argument;
    uint64_t since_ns = 0;
    for (;;) {
        rank_lock(ranks);
        struct rank_call *call = ranks->call;
        bool stop = ranks->stop;
        rank_unlock(ranks);
        if (stop)
            return NULL;
        bool moved = call != NULL;
        if (call)
            make_call(ranks, call);
        else
            (void)braid_rank_progress(ranks, &moved);
        pause_between(ranks, moved, &since_ns);
    }
}

braid_status braid_rank_call(braid_ranks *ranks, struct rank_call *call)
{
    if (!ranks_are_here(ranks))
        return braid_error(BRAID_WRONG_STATE,
                           "%s: the ranks were opened before a fork, by another process",
                           call->what);
    rank_lock(ranks);
    while (ranks->call)
        pthread_cond_wait(&ranks->done, &ranks->lock);
    ranks->call = call;
    pthread_cond_signal(&ranks->changed);
    while (!call->is_done)
        pthread_cond_wait(&ranks->done, &ranks->lock);
    rank_unlock(ranks);
    if (call->status)
        return braid_error(call->status, "%s", call->message);
    return BRAID_OK;
}

// ---- posting operations and awaiting them, on the threads that play a plan ----

static void post(struct work_operation *base, const void *from, void *to)
{
    struct rank_operation *operation = (struct rank_operation *)base;
    braid_communicator *communicator = operation->what.communicator;
    braid_ranks *ranks = communicator->ranks;
    rank_lock(ranks);
    operation->from = from;
    operation->to = to;
    operation->next = NULL;
    operation->posted_ns = clock_now_ns();
    if (ranks->failed) {
        operation->state = RANK_ENDED;
        communicator->num_ended++;
    } else {
        operation->state = RANK_POSTED;
        if (ranks->last)
            ranks->last->next = operation;
        else
            ranks->first = operation;
        ranks->last = operation;
        pthread_cond_signal(&ranks->changed);
    }
    rank_unlock(ranks);
}

static bool await(struct work_operation *base, work_resume_function *resume, void *of, void *job)
{
    struct rank_operation *operation = (struct rank_operation *)base;
    braid_ranks *ranks = operation->what.communicator->ranks;
    rank_lock(ranks);
    bool ended = operation->state != RANK_POSTED;
    operation->resume = ended ? NULL : resume;
    operation->resume_of = of;
    operation->resume_job = job;
    rank_unlock(ranks);
    return ended;
}

static const struct work_operation_ops ops = {
    .post = post,
    .await = await,
    .enqueue = braid_rank_operation_enqueue,
};

void braid_rank_operation_init(struct rank_operation *operation,
                               const struct rank_description *what, const char *name)
{
    *operation = (struct rank_operation){ .base = { .ops = &ops, .joins_next = what->joins_next },
                                          .what = *what,
                                          .state = RANK_IDLE };
    snprintf(operation->name, sizeof(operation->name), "%s", name);
}
