// SPDX-License-Identifier: Apache-2.0
// Random programs of streams, events and waits of the host have exactly the order that CUDA states.
//
// The model keeps sets: for each stream, event and the host, the operations that have ended before
// what comes next there. The record's order is its lists of operations before each, followed.
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

// Most programs are short: three operations on two streams have each rule.
enum { STREAMS = 5, EVENTS = 3, MOST_OPERATIONS = 48, MOST_OF_SHORT = 10, SHORT = 12 };
enum { THE_NULL_STREAM = 0 }; // the first one; the last one does not block

struct model {
    uint64_t ended[STREAMS], at_event[EVENTS], on_host;
    uint64_t expected[MOST_OPERATIONS]; // the operations before each
    uint32_t num;
};

static CUstream streams[STREAMS];
static CUevent events[EVENTS];
static CUdeviceptr memory;

static bool blocks(uint32_t stream)
{
    return stream != THE_NULL_STREAM && stream != STREAMS - 1;
}

// All that work on the stream waits for.
static uint64_t before_work(const struct model *model, uint32_t stream)
{
    uint64_t all = model->ended[stream];
    if (blocks(stream))
        all |= model->ended[THE_NULL_STREAM];
    for (uint32_t i = 0; stream == THE_NULL_STREAM && i < STREAMS; i++)
        all |= blocks(i) ? model->ended[i] : 0;
    return all;
}

static void note_work(struct model *model, uint32_t stream, uint64_t more)
{
    const uint64_t before = before_work(model, stream) | model->on_host | more;
    model->expected[model->num] = before;
    model->ended[stream] = before | UINT64_C(1) << model->num++;
}

static void note_wait(struct model *model, uint64_t waited)
{
    const uint64_t before = waited | model->on_host;
    model->expected[model->num] = before;
    model->on_host = before | UINT64_C(1) << model->num++;
}

// ---- the program ----

static void work(struct model *model, uint32_t stream, struct random *random)
{
    if (random_below(random, 3) == 0)
        must(cuMemsetD32Async(memory, 7, 16, streams[stream]));
    else
        launch_nothing(streams[stream]);
    note_work(model, stream, 0);
}

static void use_event(struct model *model, uint32_t stream, struct random *random)
{
    const uint32_t event = random_below(random, EVENTS);
    if (random_below(random, 2) == 0) {
        must(cuEventRecord(events[event], streams[stream]));
        note_work(model, stream, 0);
        model->at_event[event] = model->ended[stream];
    } else {
        must(cuStreamWaitEvent(streams[stream], events[event], 0));
        note_work(model, stream, model->at_event[event]);
    }
}

static void wait_on_host(struct model *model, uint32_t stream, struct random *random)
{
    const uint32_t event = random_below(random, EVENTS);
    uint64_t all = 0;
    switch (random_below(random, 4)) {
    case 0:
        must(cuStreamSynchronize(streams[stream]));
        note_wait(model, before_work(model, stream));
        break;
    case 1:
        must(cuEventSynchronize(events[event]));
        note_wait(model, model->at_event[event]);
        break;
    case 2:
        must(cuCtxSynchronize());
        for (uint32_t i = 0; i < STREAMS; i++)
            all |= model->ended[i];
        note_wait(model, all);
        break;
    default:
        if (cuEventQuery(events[event]) == CUDA_SUCCESS)
            note_wait(model, model->at_event[event]);
    }
}

static void run(struct model *model, uint64_t seed)
{
    struct random random = { .state = seed };
    memset(model, 0, sizeof(*model));
    must(cuCtxSynchronize());
    // The program before this one has ended: nothing of it counts.
    note_wait(model, 0);
    const uint32_t most = seed % SHORT == 0 ? MOST_OPERATIONS : MOST_OF_SHORT;
    const uint32_t num = 2 + random_below(&random, most - 2);
    while (model->num < num) {
        const uint32_t stream = random_below(&random, STREAMS), kind = random_below(&random, 16);
        if (kind == 0)
            wait_on_host(model, stream, &random);
        else if (kind < 8)
            use_event(model, stream, &random);
        else
            work(model, stream, &random);
    }
}

// ---- the record ----

static void compare(const braid_record_contents *contents, uint32_t frame,
                    const struct model *model)
{
    const uint32_t first = contents->frames[frame].first_operation;
    uint64_t all[MOST_OPERATIONS] = { 0 };
    if (contents->frames[frame].num_operations != model->num)
        fail_msg("program %u has %u operations, and its record %u", frame, model->num,
                 contents->frames[frame].num_operations);
    for (uint32_t i = 0; i < model->num; i++) {
        const braid_record_operation *operation = &contents->operations[first + i];
        for (uint32_t k = 0; k < operation->num_befores; k++) {
            const uint32_t before = contents->befores[operation->first_before + k];
            assert_true(before < first + i);
            if (before >= first)
                all[i] |= UINT64_C(1) << (before - first) | all[before - first];
        }
        if (all[i] != model->expected[i])
            fail_msg("program %u: operation %u of kind %d has %llx before it, and should have %llx",
                     frame, i, (int)operation->work.kind, (unsigned long long)all[i],
                     (unsigned long long)model->expected[i]);
    }
}

static void random_programs_keep_their_order(void **state)
{
    const char *frames = getenv("BRAID_RECORD_FRAMES");
    const uint32_t num = frames ? (uint32_t)atoi(frames) : 0;
    struct model *models = calloc(num, sizeof(*models));
    (void)state;
    assert_true(num > 0);
    assert_non_null(models);
    for (uint32_t i = 0; i < num; i++) {
        assert_true(braid_record_frame_mark());
        run(&models[i], i);
    }
    assert_true(braid_record_frame_mark());
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, num);
    for (uint32_t i = 0; i < num; i++)
        compare(contents, i, &models[i]);
    printf("summary: %u operations of %u programs\n", contents->num_operations, num);
    close_own_record();
    free(models);
}

static int open_streams(void **state)
{
    open_program(state);
    must(cuMemAlloc_v2(&memory, 64));
    for (int i = 1; i < STREAMS; i++)
        must(cuStreamCreate(&streams[i], i == STREAMS - 1 ? CU_STREAM_NON_BLOCKING : 0));
    for (int i = 0; i < EVENTS; i++)
        must(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs_keep_their_order) };
    return cmocka_run_group_tests(tests, open_streams, close_program);
}
