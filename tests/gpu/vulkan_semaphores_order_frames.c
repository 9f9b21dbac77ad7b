// SPDX-License-Identifier: Apache-2.0
// On a real device with Vulkan: frames wait for semaphores of Vulkan, and signal them.
//
// A frame writes that it began, waits, copies a word that the host writes before its signal, and
// signals. So a frame that does not wait copies the word of the frame before.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gpu/vulkan_device.h"
#include "support/check.h"
#include "support/owner.h"

static struct vulkan vulkan;
static braid_device *device;

enum { BEGUN, SAID, HEARD, NUM_WORDS }; // in memory of the host
enum { FILL, BEGIN, WAIT, LOAD, STORE, SIGNAL, NUM_NODES };

struct frame {
    _Atomic uint32_t *words;
    braid_graph *graph;
    braid_node nodes[NUM_NODES];
};

// All nodes in a row, in this frame and from frame to frame.
static struct frame make_frame(const braid_external_node *wait, const braid_external_node *signal)
{
    struct frame frame = { .graph = own_graph() };
    uint32_t *words = own_memory(device, BRAID_MEMORY_HOST, NUM_WORDS * sizeof(uint32_t));
    uint32_t *own = own_memory(device, BRAID_MEMORY_DEVICE, 2 * sizeof(uint32_t));
    braid_resource turn;
    check_ok(braid_graph_add_resource(frame.graph, "turn", &turn));
    const braid_node_options options = { .accesses =
                                             (const braid_access[]){ { turn, BRAID_EXCLUSIVE } },
                                         .num_accesses = 1 };
    memset(words, 0, NUM_WORDS * sizeof(uint32_t));
    frame.words = (_Atomic uint32_t *)(void *)words;
    const braid_fill fill = { options, .to = own, .value = 1, .value_bytes = 4, .num_values = 1 };
    check_ok(braid_graph_add_fill(frame.graph, &fill, &frame.nodes[FILL]));
    const braid_copy copies[] = {
        { options, .to = &words[BEGUN], .from = own, .bytes = sizeof(uint32_t) },
        { options, .to = &own[1], .from = &words[SAID], .bytes = sizeof(uint32_t) },
        { options, .to = &words[HEARD], .from = &own[1], .bytes = sizeof(uint32_t) },
    };
    check_ok(braid_graph_add_copy(frame.graph, &copies[0], &frame.nodes[BEGIN]));
    braid_external_node node = *wait;
    node.node = options;
    check_ok(braid_graph_add_external(frame.graph, &node, &frame.nodes[WAIT]));
    check_ok(braid_graph_add_copy(frame.graph, &copies[1], &frame.nodes[LOAD]));
    check_ok(braid_graph_add_copy(frame.graph, &copies[2], &frame.nodes[STORE]));
    node = *signal;
    node.node = options;
    node.signals = true;
    check_ok(braid_graph_add_external(frame.graph, &node, &frame.nodes[SIGNAL]));
    return frame;
}

static braid_external *make_external(braid_external_kind kind, VkSemaphore *out_semaphore)
{
    braid_external *external = NULL;
    braid_external_options options = { .kind = kind, .name = "renderer" };
    *out_semaphore = vulkan_make_semaphore(&vulkan, kind == BRAID_EXTERNAL_TIMELINE, &options.fd);
    check_ok(braid_external_create(device, &options, &external));
    return external;
}

static braid_exec *make_exec(const struct frame *frame, braid_exec_mode mode, uint32_t in_flight)
{
    const braid_exec_options options = { .mode = mode, .frames_in_flight = in_flight };
    braid_exec *exec = own_exec(device, frame->graph, &options);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.mode, mode);
    return exec;
}

// Frame i, from 1, waits for 2 * i - 1 and signals 2 * i.
struct timeline_case {
    braid_exec_mode mode;
    uint32_t ahead; // how many frames are launched before the first one may run
    bool steps;     // the launches count, and not the host
};

enum { NUM_FRAMES = 3 };

static void launch(braid_exec *exec, const struct frame *frame, uint32_t i, bool steps)
{
    check_ok(braid_exec_set(exec, frame->nodes[FILL], BRAID_TARGET_VALUE, 0, &i));
    if (i > 1 && !steps) {
        check_ok(braid_exec_set_external(exec, frame->nodes[WAIT], 2 * i - 1));
        check_ok(braid_exec_set_external(exec, frame->nodes[SIGNAL], 2 * i));
    }
    check_ok(braid_exec_launch(exec, NULL));
}

// Frame i began, and its wait holds it.
static void check_waits(braid_exec *exec, const struct frame *frame, VkSemaphore timeline,
                        uint32_t i)
{
    enum { NUM_YIELDS = 1000 };
    while (atomic_load(&frame->words[BEGUN]) != i)
        sched_yield();
    for (int yields = 0; yields < NUM_YIELDS; yields++)
        sched_yield();
    assert_int_equal(braid_exec_wait_for(exec, i - 1, 0), BRAID_NOT_READY);
    assert_int_equal(vulkan_value(&vulkan, timeline), 2 * (i - 1));
    assert_int_equal(atomic_load(&frame->words[HEARD]), i == 1 ? 0 : 4711 + i - 1);
}

static void run_timeline(const struct timeline_case *row)
{
    VkSemaphore timeline;
    braid_external *external = make_external(BRAID_EXTERNAL_TIMELINE, &timeline);
    const uint64_t step = row->steps ? 2 : 0;
    struct frame frame =
        make_frame(&(braid_external_node){ .external = external, .value = 1, .step = step },
                   &(braid_external_node){ .external = external, .value = 2, .step = step });
    braid_exec *exec = make_exec(&frame, row->mode, row->ahead);
    uint32_t launched = 0;
    for (uint32_t i = 1; i <= NUM_FRAMES; i++) {
        while (launched < NUM_FRAMES && launched < i - 1 + row->ahead)
            launch(exec, &frame, ++launched, row->steps);
        check_waits(exec, &frame, timeline, i);
        atomic_store(&frame.words[SAID], 4711 + i);
        vulkan_signal(&vulkan, timeline, 2 * i - 1);
        vulkan_wait(&vulkan, timeline, 2 * i);
        assert_int_equal(atomic_load(&frame.words[HEARD]), 4711 + i);
        check_ok(braid_exec_wait_for(exec, i - 1, UINT64_MAX));
    }
    assert_int_equal(vulkan_value(&vulkan, timeline), 2 * NUM_FRAMES);
    destroy_now(exec);
    braid_external_destroy(external);
    vulkan_destroy_semaphore(&vulkan, timeline);
}

static void a_timeline_counts_frames_on_streams(void **state)
{
    (void)state;
    run_timeline(&(struct timeline_case){ BRAID_MODE_STREAMS, 1, false });
}

static void a_timeline_counts_frames_in_a_driver_graph(void **state)
{
    (void)state;
    run_timeline(&(struct timeline_case){ BRAID_MODE_GRAPH, 1, false });
}

static void launches_count_on_streams(void **state)
{
    (void)state;
    run_timeline(&(struct timeline_case){ BRAID_MODE_STREAMS, 1, true });
}

static void frames_in_flight_keep_their_values(void **state)
{
    (void)state;
    run_timeline(&(struct timeline_case){ BRAID_MODE_STREAMS, NUM_FRAMES, false });
    run_timeline(&(struct timeline_case){ BRAID_MODE_STREAMS, NUM_FRAMES, true });
    run_timeline(&(struct timeline_case){ BRAID_MODE_GRAPH, NUM_FRAMES, false });
}

// Vulkan wants the signal of a binary semaphore to be submitted before the wait.
static void binary_semaphores_order_frames(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        VkSemaphore go, done;
        braid_external *in = make_external(BRAID_EXTERNAL_SEMAPHORE, &go);
        braid_external *out = make_external(BRAID_EXTERNAL_SEMAPHORE, &done);
        struct frame frame = make_frame(&(braid_external_node){ .external = in },
                                        &(braid_external_node){ .external = out });
        braid_exec *exec = make_exec(&frame, (braid_exec_mode)mode, 1);
        for (uint32_t i = 1; i <= NUM_FRAMES; i++) {
            atomic_store(&frame.words[SAID], i);
            vulkan_queue_signal(&vulkan, go);
            launch(exec, &frame, i, true);
            vulkan_queue_wait(&vulkan, done);
            assert_int_equal(atomic_load(&frame.words[HEARD]), i);
        }
        check_ok(braid_exec_wait(exec));
        destroy_now(exec);
        braid_external_destroy(in);
        braid_external_destroy(out);
        vulkan_destroy_semaphore(&vulkan, go);
        vulkan_destroy_semaphore(&vulkan, done);
    }
}

static void what_is_no_semaphore_is_refused_by_name(void **state)
{
    (void)state;
    for (int kind = BRAID_EXTERNAL_SEMAPHORE; kind <= BRAID_EXTERNAL_TIMELINE; kind++) {
        const int other = eventfd(0, EFD_CLOEXEC);
        const int fds[] = { other, -1 };
        for (int i = 0; i < 2; i++) {
            braid_external *external = NULL;
            const braid_external_options options = { .kind = (braid_external_kind)kind,
                                                     .name = "camera",
                                                     .fd = fds[i] };
            assert_int_not_equal(braid_external_create(device, &options, &external), BRAID_OK);
            printf("%s\n", braid_error_get_message());
            assert_non_null(strstr(braid_error_get_message(), "the import of external 'camera'"));
            assert_null(external);
        }
        assert_int_equal(close(other), 0); // a refused descriptor stays the program's
    }
}

// ---- the two devices ----

static bool open_both(char reason[256])
{
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device))
        return snprintf(reason, 256, "%s", braid_error_get_message()), false;
    return vulkan_open(&vulkan, reason);
}

int main(void)
{
    char reason[256];
    const struct CMUnitTest tests[] = {
        owning_test(a_timeline_counts_frames_on_streams),
        owning_test(a_timeline_counts_frames_in_a_driver_graph),
        owning_test(launches_count_on_streams),
        owning_test(frames_in_flight_keep_their_values),
        owning_test(binary_semaphores_order_frames),
        owning_test(what_is_no_semaphore_is_refused_by_name),
    };
    setvbuf(stdout, NULL, _IOLBF, 0); // a frame that never ends is killed
    if (!open_both(reason))
        skip_program(reason);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vulkan_close(&vulkan);
    return braid_device_close(device) || failed;
}
