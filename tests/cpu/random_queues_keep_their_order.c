// SPDX-License-Identifier: Apache-2.0
// Thousands of random programs of streams, records and waits: every piece of work starts after
// everything that the ordering laws put before it.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/random.h"

enum { MAX_STREAMS = 6, MAX_EVENTS = 5, NUM_OPERATIONS = 60, NUM_PROGRAMS = 2000 };

// How much of each stream's work must have ended.
struct clock {
    unsigned ended[MAX_STREAMS];
};

struct piece {
    atomic_uint *counter;
    unsigned start, end; // stamps
    unsigned stream;
    struct clock before;
};

struct model {
    struct random random;
    struct backend *backend;
    unsigned num_streams, num_events;
    struct backend_stream *streams[MAX_STREAMS];
    struct backend_event *events[MAX_EVENTS];
    struct clock stream_clocks[MAX_STREAMS], event_clocks[MAX_EVENTS];
    atomic_uint counter;
    struct piece pieces[NUM_OPERATIONS];
    unsigned num_pieces;
    unsigned of_stream[MAX_STREAMS][NUM_OPERATIONS]; // indices of pieces
    unsigned num_of_stream[MAX_STREAMS];
};

static void run_piece(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    struct piece *piece = *(struct piece **)args[0];
    piece->start = atomic_fetch_add(piece->counter, 1) + 1;
    for (volatile unsigned i = 0; i < piece->stream * 20; i++)
        continue;
    piece->end = atomic_fetch_add(piece->counter, 1) + 1;
}

static void add_piece(struct model *model, struct backend_kernel *kernel, unsigned stream)
{
    unsigned index = model->num_pieces++;
    struct piece *piece = &model->pieces[index];
    *piece = (struct piece){ .counter = &model->counter,
                             .stream = stream,
                             .before = model->stream_clocks[stream] };
    model->of_stream[stream][model->num_of_stream[stream]++] = index;
    model->stream_clocks[stream].ended[stream] = model->num_of_stream[stream];
    queue_kernel(model->backend, model->streams[stream], kernel, 1, piece);
}

static void add_wait(struct model *model, unsigned stream, unsigned event)
{
    for (unsigned i = 0; i < model->num_streams; i++)
        if (model->stream_clocks[stream].ended[i] < model->event_clocks[event].ended[i])
            model->stream_clocks[stream].ended[i] = model->event_clocks[event].ended[i];
    check_ok(model->backend->ops->stream_wait(model->backend, model->streams[stream],
                                              model->events[event]));
}

static void add_record(struct model *model, unsigned stream, unsigned event)
{
    model->event_clocks[event] = model->stream_clocks[stream];
    check_ok(model->backend->ops->event_record(model->backend, model->events[event],
                                               model->streams[stream]));
}

static void replace_event(struct model *model, unsigned event)
{
    model->backend->ops->event_destroy(model->backend, model->events[event]);
    model->events[event] = new_event(model->backend);
    model->event_clocks[event] = (struct clock){ 0 };
}

static void add_operation(struct model *model, struct backend_kernel *kernel)
{
    unsigned stream = (unsigned)random_below(&model->random, model->num_streams);
    unsigned event = (unsigned)random_below(&model->random, model->num_events);
    uint64_t kind = random_below(&model->random, 20);
    if (kind < 9)
        add_piece(model, kernel, stream);
    else if (kind < 14)
        add_record(model, stream, event);
    else if (kind < 19)
        add_wait(model, stream, event);
    else
        replace_event(model, event);
}

static void check_order(const struct model *model)
{
    for (unsigned i = 0; i < model->num_pieces; i++) {
        const struct piece *piece = &model->pieces[i];
        assert_true(piece->start && piece->end);
        for (unsigned s = 0; s < model->num_streams; s++) {
            if (!piece->before.ended[s])
                continue;
            unsigned last = model->of_stream[s][piece->before.ended[s] - 1];
            assert_true(model->pieces[last].end < piece->start);
        }
    }
}

static void run_program(struct backend *backend, struct backend_kernel *kernel, uint64_t seed)
{
    struct model *model = calloc(1, sizeof(*model));
    assert_non_null(model);
    model->random = (struct random){ seed };
    model->backend = backend;
    model->num_streams = 1 + (unsigned)random_below(&model->random, MAX_STREAMS);
    model->num_events = 1 + (unsigned)random_below(&model->random, MAX_EVENTS);
    for (unsigned i = 0; i < model->num_streams; i++)
        model->streams[i] = new_stream(backend);
    for (unsigned i = 0; i < model->num_events; i++)
        model->events[i] = new_event(backend);
    for (unsigned i = 0; i < NUM_OPERATIONS; i++)
        add_operation(model, kernel);
    for (unsigned i = 0; i < model->num_events; i++)
        backend->ops->event_destroy(backend, model->events[i]);
    for (unsigned i = 0; i < model->num_streams; i++)
        backend->ops->stream_destroy(backend, model->streams[i]);
    check_order(model);
    free(model);
}

static void random_programs_run_in_order(void **state)
{
    (void)state;
    for (uint32_t num_workers = 1; num_workers <= 4; num_workers++) {
        struct backend *backend = open_cpu(num_workers);
        struct backend_kernel *kernel = load_kernel(backend, "piece", run_piece);
        for (uint64_t i = 0; i < NUM_PROGRAMS / 4; i++)
            run_program(backend, kernel, i * 4 + num_workers);
        backend->ops->kernel_unload(backend, kernel);
        close_cpu(backend);
    }
}

struct host {
    struct backend *backend;
    struct backend_kernel *kernel;
    uint64_t seed;
};

static void *run_host(void *user)
{
    struct host *host = user;
    for (uint64_t i = 0; i < NUM_PROGRAMS / 20; i++)
        run_program(host->backend, host->kernel, host->seed * 1000 + i);
    return NULL;
}

// cmocka's assertions may not fail off the main thread; a failure here ends the program, which
// counts as one.
static void programs_of_several_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { NUM_HOSTS = 3 };
    struct backend *backend = open_cpu(3);
    struct backend_kernel *kernel = load_kernel(backend, "piece", run_piece);
    pthread_t threads[NUM_HOSTS];
    struct host hosts[NUM_HOSTS];
    for (unsigned i = 0; i < NUM_HOSTS; i++) {
        hosts[i] = (struct host){ backend, kernel, 7 + i };
        assert_int_equal(pthread_create(&threads[i], NULL, run_host, &hosts[i]), 0);
    }
    for (unsigned i = 0; i < NUM_HOSTS; i++)
        pthread_join(threads[i], NULL);
    backend->ops->kernel_unload(backend, kernel);
    close_cpu(backend);
}

enum { NUM_WRITERS = 3, NUM_LETTERS = 2000, MOST_WORDS = 150 };

// What runs on one stream runs one after the other, so its kernels need no atomics.
struct mailbox {
    struct backend *backend;
    struct backend_stream *stream;
    struct backend_kernel *kernel;
    uint32_t num_read[NUM_WRITERS];
    bool is_wrong;
};

struct writer {
    struct mailbox *mailbox;
    uint32_t index;
};

// args: the mailbox, the writer, how many words, and those, which are all the letter's number.
static void read_letter(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    struct mailbox *mailbox = *(struct mailbox **)args[0];
    uint32_t writer = *(uint32_t *)args[1], num_words = *(uint32_t *)args[2];
    const uint32_t *words = args[3];
    uint32_t number = ++mailbox->num_read[writer];
    for (uint32_t i = 0; i < num_words; i++)
        mailbox->is_wrong |= words[i] != number;
}

static void send_letter(struct writer *writer, uint32_t number, uint32_t num_words)
{
    struct mailbox *mailbox = writer->mailbox;
    uint32_t words[MOST_WORDS];
    for (uint32_t i = 0; i < num_words; i++)
        words[i] = number;
    struct backend_task task = {
        .kind = WORK_KERNEL,
        .launch = { .kernel = mailbox->kernel,
                    .grid = { 1, 1, 1 },
                    .block = { 1, 1, 1 },
                    .num_args = 4,
                    .args = (void *[]){ &mailbox, &writer->index, &num_words, words },
                    .arg_bytes = (const uint32_t[]){ sizeof(mailbox), 4, 4, 4 * num_words } },
    };
    check_ok(mailbox->backend->ops->submit(mailbox->backend, mailbox->stream, &task));
}

// Now and then it waits, so that the queue runs dry at any place.
static void *write_letters(void *user)
{
    struct writer *writer = user;
    struct random random = { 11 + writer->index };
    for (uint32_t number = 1; number <= NUM_LETTERS; number++) {
        send_letter(writer, number, 1 + (uint32_t)random_below(&random, MOST_WORDS));
        if (random_below(&random, 20) == 0)
            synchronize(writer->mailbox->backend, writer->mailbox->stream);
    }
    return NULL;
}

static void what_several_threads_queue_on_one_stream_arrives_whole(void **state)
{
    (void)state;
    struct mailbox mailbox = { .backend = open_cpu(2) };
    mailbox.stream = new_stream(mailbox.backend);
    mailbox.kernel = load_kernel(mailbox.backend, "read_letter", read_letter);
    pthread_t threads[NUM_WRITERS];
    struct writer writers[NUM_WRITERS];
    for (uint32_t i = 0; i < NUM_WRITERS; i++) {
        writers[i] = (struct writer){ &mailbox, i };
        assert_int_equal(pthread_create(&threads[i], NULL, write_letters, &writers[i]), 0);
    }
    for (uint32_t i = 0; i < NUM_WRITERS; i++)
        pthread_join(threads[i], NULL);
    mailbox.backend->ops->stream_destroy(mailbox.backend, mailbox.stream);
    assert_false(mailbox.is_wrong);
    for (uint32_t i = 0; i < NUM_WRITERS; i++)
        assert_int_equal(mailbox.num_read[i], NUM_LETTERS);
    mailbox.backend->ops->kernel_unload(mailbox.backend, mailbox.kernel);
    close_cpu(mailbox.backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_run_in_order),
        cmocka_unit_test(programs_of_several_threads_do_not_disturb_each_other),
        cmocka_unit_test(what_several_threads_queue_on_one_stream_arrives_whole),
    };
    return cmocka_run_group_tests_name("cpu: random queues keep their order", tests, NULL, NULL);
}
