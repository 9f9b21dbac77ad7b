// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come. After half of the time that something waits, the other ranks are asked
// for their progress. After all of it, it fails, and the message names the ranks that did not
// answer.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/append.h"
#include "ranks/ranks.h"

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

bool braid_rank_news_listen(braid_ranks *ranks)
{
    const struct rank_transfer transfer =
        describe_news(BRAID_RANK_RECEIVE, RANK_ANY, &ranks->heard);
    return braid_rank_begin_waiting(ranks, &transfer, (struct rank_waiting){ .is_news = true },
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
        (void)braid_rank_begin_waiting(ranks, &transfer, (struct rank_waiting){ 0 }, &request);
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

void braid_rank_news_hear(braid_ranks *ranks)
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
        late.watch = braid_rank_watch_find(ranks, &late.since_ns, &late.communicator);
    if (late.watch && braid_rank_watch_check_links(ranks))
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

void braid_rank_news_check_time(braid_ranks *ranks)
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

void braid_rank_fail(braid_ranks *ranks, const char *why, bool tell)
{
    if (ranks->failed)
        return;
    snprintf(ranks->why, sizeof(ranks->why), "%s", why);
    struct rank_operation *all = take_all(ranks);
    abort_links(ranks);
    if (tell)
        tell_failure(ranks);
    while (all) {
        struct rank_operation *operation = all;
        all = operation->next;
        braid_rank_end(ranks, operation);
    }
}
