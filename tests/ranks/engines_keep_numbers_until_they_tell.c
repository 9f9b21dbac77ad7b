// SPDX-License-Identifier: Apache-2.0
// An engine gives the number of a request to no other one before it has told of the end. Here many
// end at a time, and each poll has room for one.
#include <stdio.h>
#include <stdlib.h>

#include "ranks/ranks.h"
#include "support/check.h"

enum { NUM_MESSAGES = 16, MOST_TAGS = 3 * NUM_MESSAGES, MOST_NUMBERS = 4096 };

static const struct rank_engine *engine;
static uint32_t rank, num_begun, num_tags;
static bool is_begun[MOST_NUMBERS];
static double sent[MOST_TAGS], received[MOST_TAGS];

static void begin(uint32_t operation, uint32_t tag)
{
    char why[RANK_WHY_BYTES];
    uint32_t number;
    const struct rank_transfer transfer = { .operation = operation,
                                            .element = BRAID_ELEMENT_DOUBLE,
                                            .peer = rank,
                                            .tag = tag,
                                            .from = &sent[tag],
                                            .to = &received[tag],
                                            .count = 1 };
    assert_true(engine->begin(&transfer, &number, why, sizeof(why)));
    assert_true(number < MOST_NUMBERS);
    assert_false(is_begun[number]);
    is_begun[number] = true;
    num_begun++;
}

static void begin_messages(uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        begin(BRAID_RANK_RECEIVE, num_tags + i);
    for (uint32_t i = 0; i < num; i++) {
        sent[num_tags + i] = num_tags + i + 1;
        begin(BRAID_RANK_SEND, num_tags + i);
    }
    num_tags += num;
}

static void engines_keep_numbers_until_they_tell(void **state)
{
    (void)state;
    begin_messages(NUM_MESSAGES);
    while (num_begun) {
        struct rank_ended ended;
        if (!engine->poll(&ended, 1))
            continue;
        assert_true(is_begun[ended.request]);
        assert_false(ended.failed);
        is_begun[ended.request] = false;
        num_begun--;
        if (num_tags < MOST_TAGS)
            begin_messages(1);
    }
    for (uint32_t i = 0; i < MOST_TAGS; i++)
        assert_true(received[i] == i + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(engines_keep_numbers_until_they_tell) };
    char why[RANK_WHY_BYTES];
    void *library;
    uint32_t num;
    if (braid_rank_library_open(&library, &engine) ||
        !engine->open(&rank, &num, why, sizeof(why)) ||
        (rank != 0 && !freopen("/dev/null", "w", stdout)))
        return EXIT_FAILURE;
    int num_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!num_failed)
        engine->close(true);
    return num_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
