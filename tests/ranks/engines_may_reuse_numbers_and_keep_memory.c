// SPDX-License-Identifier: Apache-2.0
// The communication thread copes with all that an engine may do. This engine ends what a test says,
// and gives the lowest number that is free.
#include <string.h>
#include <unistd.h>

#include "base/host_memory.h"
#include "base/own_threads.h"
#include "ranks/ranks.h"
#include "support/check.h"

enum { MOST_NUMBERS = 16 };

static struct rank_transfer begun[MOST_NUMBERS];
static bool is_begun[MOST_NUMBERS], ends[MOST_NUMBERS];
static uint32_t num_polls[2]; // with an operation of the program: while its thread says so, or not

static bool begin(const struct rank_transfer *transfer, uint32_t *out_request, char *why,
                  size_t size)
{
    uint32_t number = 0;
    (void)why;
    (void)size;
    while (is_begun[number])
        number++;
    assert_true(number < MOST_NUMBERS);
    is_begun[number] = true;
    begun[number] = *transfer;
    *out_request = number;
    return true;
}

// Whether the calling thread says that it uses memory of the program.
static bool says_so(void)
{
    uint32_t num_changes = 0;
    return braid_own_threads_find(gettid(), &num_changes) && num_changes % 2;
}

static bool has_data(void)
{
    for (uint32_t i = 0; i < MOST_NUMBERS; i++)
        if (is_begun[i] && begun[i].tag != RANK_TAG_NEWS)
            return true;
    return false;
}

static uint32_t poll_begun(struct rank_ended *out_ended, uint32_t most)
{
    uint32_t num = 0;
    if (has_data())
        num_polls[says_so()]++;
    for (uint32_t i = 0; i < MOST_NUMBERS && num < most; i++) {
        if (!is_begun[i] || !ends[i])
            continue;
        out_ended[num++] = (struct rank_ended){ .request = i };
        is_begun[i] = ends[i] = false;
    }
    return num;
}

static const struct rank_engine engine = { .begin = begin, .poll = poll_begun };

// Rank 0 of 2.
static braid_ranks *listen_to_news(void)
{
    braid_ranks *ranks = braid_allocate_zeroed(1, sizeof(*ranks));
    assert_non_null(ranks);
    ranks->engine = &engine;
    ranks->num = 2;
    ranks->process = braid_process_number();
    ranks->timeout_ns = UINT64_MAX;
    ranks->answers = braid_allocate_zeroed(2, sizeof(*ranks->answers));
    ranks->told = braid_allocate_zeroed(2 * RANK_NEWS_KINDS, sizeof(*ranks->told));
    assert_true(ranks->answers && ranks->told);
    pthread_mutex_init(&ranks->lock, NULL);
    pthread_cond_init(&ranks->changed, NULL);
    pthread_cond_init(&ranks->done, NULL);
    assert_true(braid_rank_news_listen(ranks));
    return ranks;
}

// The answer gets the number that the operation had.
static void an_operation_ends_that_ends_together_with_a_question(void **state)
{
    (void)state;
    braid_ranks *ranks = listen_to_news();
    braid_communicator communicator = { .ranks = ranks, .num = 2 };
    struct rank_operation operation = { .what.communicator = &communicator };
    bool moved;
    ranks->first = ranks->last = &operation;
    assert_true(braid_rank_progress(ranks, &moved));
    assert_ptr_equal(ranks->begun, &operation);
    ranks->heard = (struct rank_news){ .kind = RANK_NEWS_ASK, .from = 1 };
    ends[ranks->news_request] = ends[operation.request] = true;
    assert_true(braid_rank_progress(ranks, &moved));
    assert_true(is_begun[operation.request]);
    assert_int_equal(operation.state, RANK_ENDED);
    braid_free(ranks->waiting);
    braid_free(ranks->answers);
    braid_free(ranks->told);
    braid_free(ranks);
    memset(is_begun, 0, sizeof(is_begun));
}

static bool says_so_behind;

static void *fail_behind_a_begin(void *user)
{
    braid_ranks *ranks = user;
    bool moved;
    (void)braid_rank_progress(ranks, &moved);
    braid_rank_fail(ranks, "a message was lost", true);
    says_so_behind = says_so();
    return NULL;
}

// An audit counts a thread as idle that does not say so.
static void a_failing_thread_says_that_it_uses_memory(void **state)
{
    (void)state;
    struct own_thread thread;
    braid_ranks *ranks = listen_to_news();
    braid_communicator communicator = { .ranks = ranks, .num = 2 };
    struct rank_operation operation = { .what.communicator = &communicator };
    ranks->first = ranks->last = &operation;
    memset(num_polls, 0, sizeof(num_polls));
    assert_int_equal(braid_own_thread_start(&thread, "test", fail_behind_a_begin, ranks), 0);
    braid_own_thread_join(&thread);
    assert_int_equal(operation.state, RANK_ENDED);
    assert_int_equal(num_polls[false], 0);
    assert_true(num_polls[true] > 1);
    assert_false(says_so_behind);
    braid_free(ranks->waiting);
    braid_free(ranks->answers);
    braid_free(ranks->told);
    braid_free(ranks);
    memset(is_begun, 0, sizeof(is_begun));
}

// The engine may still send and receive news. A sanitizer sees it use memory that is free, and so
// does the check of what is sent, if malloc overwrites such memory.
static void a_failure_leaves_news_to_the_engine(void **state)
{
    (void)state;
    braid_ranks *ranks = listen_to_news();
    struct rank_news *heard = &ranks->heard;
    braid_rank_fail(ranks, "a message was lost", true);
    assert_int_equal(braid_own_thread_start(&ranks->thread, "test", braid_rank_thread, ranks), 0);
    check_fails(braid_ranks_close(ranks), BRAID_DEVICE_ERROR, "a message was lost");
    uint32_t num_sends = 0;
    for (uint32_t i = 0; i < MOST_NUMBERS; i++) {
        if (!is_begun[i] || begun[i].operation != BRAID_RANK_SEND)
            continue;
        const struct rank_news *sent = begun[i].from;
        assert_int_equal(sent->kind, RANK_NEWS_GAVE_UP);
        assert_string_equal(sent->text, "a message was lost");
        num_sends++;
    }
    assert_int_equal(num_sends, 1);
    assert_ptr_equal(begun[0].to, heard);
    assert_int_equal(heard->kind, 0);
    memset(heard, 0, sizeof(*heard));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_ends_that_ends_together_with_a_question),
        cmocka_unit_test(a_failing_thread_says_that_it_uses_memory),
        cmocka_unit_test(a_failure_leaves_news_to_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
