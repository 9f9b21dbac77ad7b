// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come: what has waited for half of the time has the other ranks asked what they
// are at, and what has waited for all of it fails, with those named that did not answer.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rank/ranks.h"

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

static uint64_t count_posted(braid_ranks *ranks, uint32_t number)
{
    uint64_t num = 0;
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it; it = it->next)
        num = it->number == number ? it->num_posted : num;
    rank_unlock(ranks);
    return num;
}

static void answer(braid_ranks *ranks, const struct rank_news *asked)
{
    struct rank_news news = { .kind = RANK_NEWS_ANSWER,
                              .from = ranks->rank,
                              .communicator = asked->communicator,
                              .num_calls = ranks->num_calls,
                              .num_posted = count_posted(ranks, asked->communicator) };
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
        ranks->answers[news.from] = (struct rank_answer){ true, news.num_calls, news.num_posted };
    } else if (news.kind == RANK_NEWS_GAVE_UP) {
        snprintf(why, sizeof(why), "rank %u gave up: %.*s", news.from, RANK_WHY_BYTES - 40,
                 news.text);
        braid_rank_fail(ranks, why, false);
    }
}

// What has waited longest; NULL and no time: nothing waits.
static const struct rank_operation *find_oldest(const braid_ranks *ranks, uint64_t *out_ns)
{
    const struct rank_operation *oldest = NULL;
    *out_ns = 0;
    for (const struct rank_operation *it = ranks->begun; it; it = it->next) {
        if (!oldest || it->posted_ns < oldest->posted_ns)
            oldest = it;
    }
    if (oldest)
        *out_ns = oldest->posted_ns;
    if (!oldest || (ranks->call_began_ns && ranks->call_began_ns < *out_ns))
        *out_ns = ranks->call_began_ns;
    return *out_ns == ranks->call_began_ns ? NULL : oldest;
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

// Those that did not answer, or else those that are behind.
static void describe_ranks(const braid_ranks *ranks, const struct rank_operation *oldest,
                           char *text, size_t size)
{
    char one[96];
    bool found = false;
    for (uint32_t i = 0; i < ranks->num; i++) {
        if (i == ranks->rank || ranks->answers[i].answered)
            continue;
        snprintf(one, sizeof(one), "%srank %u does not answer", found ? ", " : "", i);
        append(text, size, one);
        found = true;
    }
    for (uint32_t i = 0; i < ranks->num && !found && !oldest; i++) {
        if (i == ranks->rank || ranks->answers[i].num_calls >= ranks->num_calls)
            continue;
        snprintf(one, sizeof(one), "rank %u answers, but has not made the call", i);
        append(text, size, one);
        found = true;
    }
    for (uint32_t i = 0; i < ranks->num && !found && oldest; i++) {
        const braid_communicator *communicator = oldest->what.communicator;
        bool is_peer = oldest->what.operation <= BRAID_RANK_RECEIVE
                           ? communicator->members[oldest->what.peer] == i
                           : ranks->answers[i].num_posted < communicator->num_posted;
        if (i == ranks->rank || !is_peer)
            continue;
        snprintf(one, sizeof(one), "rank %u answers, and has posted %llu operations of '%.30s'", i,
                 (unsigned long long)ranks->answers[i].num_posted, communicator->name);
        append(text, size, one);
        found = true;
    }
    if (!found)
        append(text, size, "all ranks answer");
}

static void describe_pending(const braid_ranks *ranks, char *text, size_t size)
{
    uint32_t num = 0;
    char one[160];
    for (const struct rank_operation *it = ranks->begun; it; it = it->next, num++) {
        if (num >= 3)
            continue;
        const struct rank_description *what = &it->what;
        uint32_t peer =
            what->operation <= BRAID_RANK_BROADCAST ? what->communicator->members[what->peer] : 0;
        append(text, size, num ? ", " : "; pending: ");
        braid_rank_describe(one, sizeof(one), what->operation, it->name, what->count, peer);
        append(text, size, one);
    }
    if (num > 3) {
        snprintf(one, sizeof(one), " and %u more", num - 3);
        append(text, size, one);
    }
}

// Of frames on a device nobody knows how far they are: all that they have may be pending.
static void describe_frames(const braid_ranks *ranks, const struct rank_watch *watch, char *text,
                            size_t size)
{
    const braid_communicator *communicator = watch->operations[0].what.communicator;
    char one[160];
    bool found = false;
    for (uint32_t i = 0; i < communicator->num; i++) {
        uint32_t member = communicator->members[i];
        const struct rank_answer *answer = &ranks->answers[member];
        if (member == ranks->rank ||
            (answer->answered && answer->num_posted >= communicator->num_posted))
            continue;
        if (answer->answered)
            snprintf(one, sizeof(one),
                     "%srank %u answers, and has launched %llu operations of '%.30s', not %llu",
                     found ? ", " : "", member, (unsigned long long)answer->num_posted,
                     communicator->name, (unsigned long long)communicator->num_posted);
        else
            snprintf(one, sizeof(one), "%srank %u does not answer", found ? ", " : "", member);
        append(text, size, one);
        found = true;
    }
    if (!found)
        return;
    for (uint32_t i = 0; i < watch->num_operations && i < 3; i++) {
        const struct rank_description *what = &watch->operations[i].what;
        uint32_t peer =
            what->operation <= BRAID_RANK_BROADCAST ? what->communicator->members[what->peer] : 0;
        append(text, size, i ? ", " : "; pending among: ");
        braid_rank_describe(one, sizeof(one), what->operation, watch->operations[i].name,
                            what->count, peer);
        append(text, size, one);
    }
    if (watch->num_operations > 3) {
        snprintf(one, sizeof(one), " and %u more", watch->num_operations - 3);
        append(text, size, one);
    }
}

// A device may be long at work that all ranks have launched: that is no failure, and the time
// begins again.
static void give_up_frames(braid_ranks *ranks, const struct rank_watch *late)
{
    char why[RANK_WHY_BYTES], text[RANK_WHY_BYTES - 100] = "";
    struct rank_watch *watch;
    rank_lock(ranks);
    for (watch = ranks->watches; watch && watch != late;)
        watch = watch->next; // an exec may have been destroyed meanwhile
    if (!watch || !watch->is_pending) {
        rank_unlock(ranks);
        return;
    }
    describe_frames(ranks, watch, text, sizeof(text));
    watch->since_ns = braid_rank_now_ns();
    snprintf(why, sizeof(why), "frames on %s have waited for %llu ms on rank %u: %s", watch->label,
             (unsigned long long)(ranks->timeout_ns / 1000000), ranks->rank, text);
    rank_unlock(ranks);
    if (*text)
        braid_rank_fail(ranks, why, true);
}

static void give_up(braid_ranks *ranks, const struct rank_operation *oldest)
{
    char why[RANK_WHY_BYTES];
    snprintf(why, sizeof(why),
             "%s%s has waited for %llu ms on rank %u: ", oldest ? "an operation of " : "",
             oldest ? oldest->what.communicator->name : ranks->call_name,
             (unsigned long long)(ranks->timeout_ns / 1000000), ranks->rank);
    describe_ranks(ranks, oldest, why, sizeof(why));
    describe_pending(ranks, why, sizeof(why));
    braid_rank_fail(ranks, why, true);
}

static void ask_all(braid_ranks *ranks, uint64_t since_ns, uint32_t communicator)
{
    if (ranks->asked_for_ns == since_ns)
        return;
    ranks->asked_for_ns = since_ns;
    memset(ranks->answers, 0, ranks->num * sizeof(*ranks->answers));
    struct rank_news news = { .kind = RANK_NEWS_ASK,
                              .from = ranks->rank,
                              .communicator = communicator };
    tell_all(ranks, &news);
}

static void check_frames(braid_ranks *ranks, uint64_t now)
{
    uint64_t since_ns;
    uint32_t number = 0;
    struct rank_watch *watch = braid_rank_watch_find(ranks, &since_ns, &number);
    if (!watch || braid_rank_watch_check_links(ranks))
        return;
    if (now > since_ns && now - since_ns > ranks->timeout_ns)
        give_up_frames(ranks, watch);
    else if (now > since_ns && now - since_ns > ranks->timeout_ns / 2)
        ask_all(ranks, since_ns, number);
}

void braid_rank_news_check_time(braid_ranks *ranks)
{
    uint64_t since_ns, now = braid_rank_now_ns();
    const struct rank_operation *oldest = find_oldest(ranks, &since_ns);
    if (!since_ns)
        check_frames(ranks, now);
    else if (now - since_ns > ranks->timeout_ns)
        give_up(ranks, oldest);
    else if (now - since_ns > ranks->timeout_ns / 2)
        ask_all(ranks, since_ns, oldest ? oldest->what.communicator->number : UINT32_MAX);
}

// Those that are told may be gone: what MPI does with it in a tenth of a second is enough.
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
        rank_lock(ranks);
        work_resume_function *resume = operation->resume;
        void *of = operation->resume_of, *job = operation->resume_job;
        operation->state = RANK_ENDED;
        operation->resume = NULL;
        operation->what.communicator->num_ended++;
        rank_unlock(ranks);
        if (resume)
            resume(of, job);
    }
}
