// SPDX-License-Identifier: Apache-2.0
// An imported graph waits for semaphores of another API and signals them, with the values of the
// latest capture.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/captures.h"

enum { NUM_KINDS = 2 };

static const int kinds[NUM_KINDS] = { CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
                                      CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD };

// On a stand-in: a file whose first eight bytes are the value.
struct semaphore {
    CUexternalSemaphore handle;
    uint64_t *value;
};

static struct semaphore make_semaphore(int kind)
{
    struct semaphore made = { 0 };
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = { .type = kind, .handle.fd = fd };
    assert_int_equal(ftruncate(fd, sizeof(*made.value)), 0);
    made.value = mmap(NULL, sizeof(*made.value), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(made.value, MAP_FAILED);
    if (cuImportExternalSemaphore(&made.handle, &desc)) {
        close(fd);
        skip_because("the driver takes no file of memory as a semaphore");
    }
    return made;
}

static void destroy_semaphore(struct semaphore *semaphore)
{
    must(cuDestroyExternalSemaphore(semaphore->handle));
    munmap(semaphore->value, sizeof(*semaphore->value));
}

static uint64_t value_of(const struct semaphore *semaphore)
{
    return __atomic_load_n(semaphore->value, __ATOMIC_ACQUIRE);
}

static void await(CUstream stream, const struct semaphore *semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = value };
    must(cuWaitExternalSemaphoresAsync(&semaphore->handle, &wait, 1, stream));
}

static void signal_with(const struct semaphore *semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = value };
    must(cuSignalExternalSemaphoresAsync(&semaphore->handle, &signal, 1, here.stream));
}

// The last kernel shares no memory with the others.
static void capture(const struct semaphore *in, uint64_t wait, const struct semaphore *out,
                    uint64_t signaled)
{
    begin_capture();
    await(here.stream, in, wait);
    LAUNCH("copy", here.memory[0], here.memory[1]);
    signal_with(out, signaled);
    LAUNCH("copy", here.memory[2], here.memory[3]);
}

static braid_exec *make_exec(int mode)
{
    braid_exec *exec;
    const braid_exec_options options = { .mode = (braid_exec_mode)mode };
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
    return exec;
}

// The frame does all of its work between the two values.
static void play_between(braid_exec *exec, const struct semaphore *in, uint64_t wait,
                         const struct semaphore *out, uint64_t signaled)
{
    uint32_t word = 0;
    const uint32_t five = 5;
    const uint64_t before = value_of(out);
    must(cuMemcpyHtoD_v2(here.memory[0], &five, sizeof(five)));
    must(cuMemsetD8_v2(here.memory[1], 0, BYTES));
    check_ok(braid_exec_launch(exec, NULL));
    check_fails(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 10000000), BRAID_TIMEOUT, "");
    assert_int_equal(value_of(out), before);
    __atomic_store_n(in->value, wait, __ATOMIC_RELEASE);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(value_of(out), signaled);
    must(cuMemcpyDtoH_v2(&word, here.memory[1], sizeof(word)));
    assert_int_equal(word, 6);
}

static void semaphores_keep_all_captured_orders(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_KINDS; i++) {
        struct semaphore in = make_semaphore(kinds[i]), out = make_semaphore(kinds[i]);
        for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
            *in.value = *out.value = 0;
            capture(&in, 1, &out, 1);
            import_with(&(braid_import_options){ TEXTS(text) });
            assert_int_equal(here.info.num_kept, 6);
            assert_int_equal(here.info.num_unproven, 2);
            expect_report("others may wait for the semaphore, or signal it");
            braid_exec *exec = make_exec(mode);
            play_between(exec, &in, 1, &out, 1);
            assert_int_equal(value_of(&in), i); // a wait takes a binary one
            braid_exec_destroy(exec);
            braid_import_destroy(here.import);
        }
        destroy_semaphore(&in);
        destroy_semaphore(&out);
    }
}

static void update(braid_exec *exec, const struct semaphore *in, uint64_t wait,
                   const struct semaphore *out, uint64_t signaled)
{
    capture(in, wait, out, signaled);
    must(cuStreamEndCapture(here.stream, &here.graph));
    check_ok(braid_import_update(here.import, here.graph, NULL, exec));
    must(cuGraphDestroy(here.graph)); // the exec keeps nothing of it
}

// A value that no frame took goes; each exec has its own.
static void values_follow_later_captures(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct semaphore in = make_semaphore(kinds[1]), out = make_semaphore(kinds[1]);
        capture(&in, 1, &out, 2);
        import_with(&(braid_import_options){ TEXTS(text) });
        braid_exec *exec = make_exec(mode), *other = make_exec(mode);
        play_between(exec, &in, 1, &out, 2);
        for (uint64_t i = 1; i <= 3; i++) {
            for (uint64_t unused = 0; unused < i; unused++)
                update(exec, &in, 100 + unused, &out, 200 + unused);
            update(exec, &in, 1 + 2 * i, &out, 2 + 2 * i);
            play_between(exec, &in, 1 + 2 * i, &out, 2 + 2 * i);
        }
        *in.value = 0;
        play_between(other, &in, 1, &out, 2);
        update(other, &in, 9, &out, 1ull << 40);
        play_between(other, &in, 9, &out, 1ull << 40);
        braid_exec_destroy(exec);
        braid_exec_destroy(other);
        braid_import_destroy(here.import);
        destroy_semaphore(&in);
        destroy_semaphore(&out);
    }
}

static void begin_frame(uint64_t frame, braid_exec *exec, const struct semaphore *in,
                        uint64_t value)
{
    check_fails(braid_exec_wait_for(exec, frame, 10000000), BRAID_TIMEOUT, "");
    __atomic_store_n(in->value, value, __ATOMIC_RELEASE);
    check_ok(braid_exec_wait_for(exec, frame, 10000000000));
}

// A frame that is queued has the values of its launch, also where later updates go round.
static void frames_in_flight_keep_their_values(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct semaphore in = make_semaphore(kinds[1]), out = make_semaphore(kinds[1]);
        braid_exec *exec;
        const braid_exec_options options = { .mode = (braid_exec_mode)mode, .frames_in_flight = 2 };
        capture(&in, 1, &out, 2);
        import_with(&(braid_import_options){ TEXTS(text) });
        check_ok(
            braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
        for (uint64_t frame = 0; frame < 6; frame += 2) {
            const uint64_t first = 2 * frame;
            check_ok(braid_exec_launch(exec, NULL));
            for (uint64_t unused = 0; unused < frame / 2; unused++)
                update(exec, &in, 100 + unused, &out, 200 + unused);
            update(exec, &in, first + 3, &out, first + 4);
            check_ok(braid_exec_launch(exec, NULL));
            for (uint64_t unused = 0; unused < 2; unused++)
                update(exec, &in, 300 + unused, &out, 400 + unused);
            begin_frame(frame, exec, &in, first + 1);
            assert_int_equal(value_of(&out), first + 2);
            begin_frame(frame + 1, exec, &in, first + 3);
            assert_int_equal(value_of(&out), first + 4);
            update(exec, &in, first + 5, &out, first + 6);
        }
        braid_exec_destroy(exec);
        braid_import_destroy(here.import);
        destroy_semaphore(&in);
        destroy_semaphore(&out);
    }
}

static void other_semaphores_are_refused(void **state)
{
    (void)state;
    struct semaphore in = make_semaphore(kinds[1]), out = make_semaphore(kinds[1]);
    capture(&in, 1, &out, 2);
    import_with(&(braid_import_options){ TEXTS(text) });
    braid_exec *exec = make_exec(BRAID_MODE_AUTO);
    capture(&in, 3, &in, 4);
    must(cuStreamEndCapture(here.stream, &here.graph));
    check_fails(braid_import_update(here.import, here.graph, NULL, exec), BRAID_INVALID_ARGUMENT,
                "node 2 of the captured graph (signal of a semaphore) has other semaphores");
    must(cuGraphDestroy(here.graph));
    play_between(exec, &in, 1, &out, 2); // it keeps its values
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
    destroy_semaphore(&in);
    destroy_semaphore(&out);
}

// One lane could run the wait before the work that its signal needs.
static void a_wait_beside_other_nodes_is_refused(void **state)
{
    (void)state;
    struct semaphore in = make_semaphore(kinds[1]);
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    wait_for(side, here.stream);
    await(here.stream, &in, 1);
    LAUNCH_BESIDE("copy", here.memory[0], here.memory[3]);
    wait_for(here.stream, side);
    expect_refusal(NULL, BRAID_UNSUPPORTED,
                   "node 1 of the captured graph, a wait for a semaphore, waits for a value beside "
                   "other nodes");
    destroy_semaphore(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(semaphores_keep_all_captured_orders),
        cmocka_unit_test(values_follow_later_captures),
        cmocka_unit_test(frames_in_flight_keep_their_values),
        cmocka_unit_test(other_semaphores_are_refused),
        cmocka_unit_test(a_wait_beside_other_nodes_is_refused),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
