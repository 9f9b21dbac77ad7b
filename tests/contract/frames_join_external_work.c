// SPDX-License-Identifier: Apache-2.0
// Nodes wait for objects outside of Braid and signal them, while no launch blocks: eventfds, words,
// events of the driver, and semaphores of another API.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/gpu/gpu_backend.h"
#include "contract/groups.h"
#include "contract/nodes.h"
#include "device/device.h"

static braid_external *make(struct contract *contract, braid_external_options options)
{
    braid_external *external = NULL;
    check_ok(braid_external_create(contract->device, &options, &external));
    return external;
}

// Waits for one object, fills a word, and signals another one.
struct frame {
    braid_graph *graph;
    uint32_t *word;
    braid_node wait, signal;
};

static struct frame make_frame(struct contract *contract, const braid_external_node *wait,
                               const braid_external_node *signal)
{
    struct frame frame = { contract_graph(contract), contract_numbers(contract, 1), { 0 }, { 0 } };
    braid_external_node first = *wait, last = *signal;
    const uint32_t place = contract_place(0);
    first.node.place = place;
    check_ok(braid_graph_add_external(frame.graph, &first, &frame.wait));
    const braid_node_options behind = { .place = place, AFTER(frame.wait) };
    braid_node fill = add_fill(frame.graph, behind, frame.word, 4711, 1);
    last.node = (braid_node_options){ .name = "done", .place = place, AFTER(fill) };
    last.signals = true;
    check_ok(braid_graph_add_external(frame.graph, &last, &frame.signal));
    return frame;
}

// A launch returns while the frame waits.
static void check_waits(struct contract *contract, braid_exec *exec, struct frame *frame)
{
    contract_write(contract, frame->word, &(uint32_t){ 0 }, sizeof(uint32_t));
    check_ok(braid_exec_launch(exec, NULL));
    contract_let_begin(contract);
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
}

static void check_ended(struct contract *contract, braid_exec *exec, struct frame *frame)
{
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, frame->word), 4711);
}

// What a test has made would stay if it were skipped later.
static void need_lanes(void)
{
    if (contract_islands() == BRAID_ISLANDS_WHOLE)
        skip_because("an island has kernels alone");
}

static void need_gpu(void)
{
    need_lanes();
    if (contract_is_on_host())
        skip_because("a host device has eventfds alone");
}

static void an_eventfd_starts_a_frame_and_hears_of_its_end(void **state)
{
    struct contract *contract = *state;
    need_lanes();
    const int in = eventfd(0, EFD_NONBLOCK), out = eventfd(0, EFD_CLOEXEC);
    braid_external *go =
        make(contract,
             (braid_external_options){ .kind = BRAID_EXTERNAL_EVENTFD, .name = "go", .fd = in });
    braid_external *done =
        make(contract, (braid_external_options){ .kind = BRAID_EXTERNAL_EVENTFD, .fd = out });
    struct frame frame = make_frame(contract, &(braid_external_node){ .external = go },
                                    &(braid_external_node){ .external = done, .value = 3 });
    assert_string_equal(braid_graph_get_node_name(frame.graph, frame.wait), "go");
    braid_exec *exec = contract_exec(contract, frame.graph);
    uint64_t count = 1;
    for (int i = 0; i < 2; i++) {
        check_waits(contract, exec, &frame);
        count = 1;
        assert_int_equal(write(in, &count, sizeof(count)), sizeof(count));
        check_ended(contract, exec, &frame);
        assert_int_equal(read(out, &count, sizeof(count)), sizeof(count));
        assert_int_equal(count, 3);
    }
    check_fails(braid_exec_set_external(exec, frame.signal, 4), BRAID_INVALID_ARGUMENT,
                "node 2 'done' waits for no timeline and no word");
    contract_destroy_exec(contract, exec);
    braid_external_destroy(go);
    braid_external_destroy(done);
    close(in);
    close(out);
}

static uint32_t load(const uint32_t *word)
{
    return atomic_load((const _Atomic uint32_t *)(const void *)word);
}

static void words_change_from_frame_to_frame(void **state)
{
    struct contract *contract = *state;
    need_gpu();
    uint32_t *words = contract_host_numbers(contract, 2);
    braid_external *in =
        make(contract, (braid_external_options){ .kind = BRAID_EXTERNAL_WORD, .word = &words[0] });
    braid_external *out =
        make(contract, (braid_external_options){ .kind = BRAID_EXTERNAL_WORD, .word = &words[1] });
    struct frame frame = make_frame(contract, &(braid_external_node){ .external = in, .value = 1 },
                                    &(braid_external_node){ .external = out, .value = 10 });
    braid_exec *exec = contract_exec(contract, frame.graph);
    for (uint32_t i = 1; i <= 3; i++) {
        if (i > 1) {
            check_ok(braid_exec_set_external(exec, frame.wait, i));
            check_ok(braid_exec_set_external(exec, frame.signal, 10 * i));
        }
        check_waits(contract, exec, &frame);
        assert_int_equal(load(&words[1]), 10 * (i - 1));
        atomic_store((_Atomic uint32_t *)(void *)&words[0], i);
        check_ended(contract, exec, &frame);
        assert_int_equal(load(&words[1]), 10 * i);
    }
    check_fails(braid_exec_set_external(exec, frame.signal, 1ull << 32), BRAID_INVALID_ARGUMENT,
                "'done' has a word of 32 bits");
    braid_exec *other = contract_exec(contract, frame.graph); // has the graph's values
    check_ok(braid_exec_launch(other, NULL));
    check_ended(contract, other, &frame);
    assert_int_equal(load(&words[1]), 10);
    contract_destroy_exec(contract, exec);
    contract_destroy_exec(contract, other);
    braid_external_destroy(in);
    braid_external_destroy(out);
}

static void a_step_counts_frames_on_streams(void **state)
{
    struct contract *contract = *state;
    need_gpu();
    uint32_t *words = contract_host_numbers(contract, 1);
    braid_external *out =
        make(contract,
             (braid_external_options){ .kind = BRAID_EXTERNAL_WORD, .name = "w", .word = words });
    braid_graph *graph = contract_graph(contract);
    const braid_external_node node = { .external = out, .signals = true, .value = 5, .step = 2 };
    check_ok(braid_graph_add_external(graph, &node, NULL));
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(contract->device, graph,
                                            &(braid_exec_options){ .mode = contract->mode }, &exec);
    if (contract->mode == BRAID_MODE_GRAPH && strcmp(contract->backend, "cuda") == 0) {
        check_fails(status, BRAID_UNSUPPORTED, "external 'w': a driver graph does not add a step");
    } else {
        check_ok(status);
        check_ok(braid_exec_launch_many(exec, NULL, 3, NULL, 0));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(load(words), 9);
        braid_exec_destroy(exec);
    }
    braid_external_destroy(out);
}

static void events_of_the_driver_order_a_frame(void **state)
{
    struct contract *contract = *state;
    need_gpu();
    braid_event *before = contract_event(contract), *after = contract_event(contract);
    braid_external *in = make(
        contract, (braid_external_options){ .kind = BRAID_EXTERNAL_EVENT,
                                            .event = gpu_event_from(before->backend)->handle });
    braid_external *out =
        make(contract, (braid_external_options){ .kind = BRAID_EXTERNAL_EVENT,
                                                 .event = gpu_event_from(after->backend)->handle });
    struct frame frame = make_frame(contract, &(braid_external_node){ .external = in },
                                    &(braid_external_node){ .external = out });
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(contract->device, frame.graph,
                                            &(braid_exec_options){ .mode = contract->mode }, &exec);
    if (status == BRAID_UNSUPPORTED) { // a child graph with events
        braid_external_destroy(in);
        braid_external_destroy(out);
        skip_because(braid_error_get_message());
    }
    check_ok(status);
    contract_own_exec(contract, exec);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_event_record(before, stream));
    check_waits(contract, exec, &frame);
    gate_open(gate);
    check_ended(contract, exec, &frame);
    check_ok(braid_event_wait(after));
    contract_destroy_exec(contract, exec);
    braid_external_destroy(in);
    braid_external_destroy(out);
}

// On a stand-in: a file whose first eight bytes are the value.
static int make_semaphore(uint64_t **out_value)
{
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(uint64_t)), 0);
    *out_value = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(*out_value, MAP_FAILED);
    return fd;
}

static void join_semaphores(struct contract *contract, braid_external_kind kind, int fds[2],
                            uint64_t *const values[2])
{
    braid_external *in, *out;
    const bool is_timeline = kind == BRAID_EXTERNAL_TIMELINE;
    const braid_external_options first = { .kind = kind, .name = "in", .fd = fds[0] };
    if (braid_external_create(contract->device, &first, &in))
        skip_because(braid_error_get_message()); // no Vulkan here
    out = make(contract, (braid_external_options){ .kind = kind, .fd = fds[1] });
    struct frame frame =
        make_frame(contract, &(braid_external_node){ .external = in, .value = is_timeline },
                   &(braid_external_node){ .external = out, .value = is_timeline * 2 });
    braid_exec *exec = contract_exec(contract, frame.graph);
    for (uint64_t i = 1; i <= 2; i++) {
        if (is_timeline && i == 2) {
            check_ok(braid_exec_set_external(exec, frame.wait, 2));
            check_ok(braid_exec_set_external(exec, frame.signal, 1ull << 40));
        }
        check_waits(contract, exec, &frame);
        __atomic_store_n(values[0], i, __ATOMIC_RELEASE);
        check_ended(contract, exec, &frame);
        assert_int_equal(*values[0], is_timeline ? i : 0); // a wait takes a binary one
        assert_int_equal(*values[1], !is_timeline ? 1 : i == 1 ? 2 : 1ull << 40);
    }
    contract_destroy_exec(contract, exec);
    braid_external_destroy(in);
    braid_external_destroy(out);
}

static void semaphores_of_another_api_order_a_frame(void **state)
{
    struct contract *contract = *state;
    need_gpu();
    for (int kind = BRAID_EXTERNAL_SEMAPHORE; kind <= BRAID_EXTERNAL_TIMELINE; kind++) {
        uint64_t *values[2];
        int fds[] = { make_semaphore(&values[0]), make_semaphore(&values[1]) };
        join_semaphores(contract, (braid_external_kind)kind, fds, values);
        assert_int_equal(fcntl(fds[0], F_GETFD), -1); // the driver has it
        munmap(values[0], sizeof(uint64_t));
        munmap(values[1], sizeof(uint64_t));
    }
}

static void a_host_device_refuses_what_it_cannot_do(void **state)
{
    struct contract *contract = *state;
    braid_external *external = NULL;
    uint32_t word = 0;
    if (!contract_is_on_host())
        skip_because("a GPU has all of them");
    const char *const lines[] = { "", "has no events", "has no semaphores", "has no timelines",
                                  "has no words" };
    for (int kind = BRAID_EXTERNAL_EVENT; kind <= BRAID_EXTERNAL_WORD; kind++) {
        const braid_external_options options = {
            .kind = (braid_external_kind)kind, .name = "renderer", .word = &word, .event = &word
        };
        check_fails(braid_external_create(contract->device, &options, &external), BRAID_UNSUPPORTED,
                    "external 'renderer': device");
        assert_non_null(strstr(braid_error_get_message(), lines[kind]));
    }
}

int run_external(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(an_eventfd_starts_a_frame_and_hears_of_its_end),
        contract_test(words_change_from_frame_to_frame),
        contract_test(a_step_counts_frames_on_streams),
        contract_test(events_of_the_driver_order_a_frame),
        contract_test(semaphores_of_another_api_order_a_frame),
        contract_test(a_host_device_refuses_what_it_cannot_do),
    };
    return contract_run("frames join external work", tests);
}
