// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while a graph is imported, the import says that memory ran out and
// keeps none. It works when it is tried again.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host_memory.h"
#include "import/captured_world.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/owner.h"

static struct captured_world world;
static bool reloads;
static char path[] = "/tmp/braid_import_XXXXXX"; // a file with the text

// ---- an allocator that counts ----

static atomic_long num_blocks;

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    atomic_fetch_add(&num_blocks, memory ? 1 : 0);
    return memory;
}

static void *resize(void *memory, size_t old_bytes, size_t bytes, size_t alignment, void *user)
{
    (void)old_bytes, (void)alignment, (void)user;
    return realloc(memory, bytes);
}

static void take_back(void *memory, size_t bytes, size_t alignment, void *user)
{
    (void)bytes, (void)alignment, (void)user;
    atomic_fetch_sub(&num_blocks, 1);
    free(memory);
}

static const braid_allocator counting = { allocate, resize, take_back, NULL };

// ---- a failing allocation ----

static const char *give_text(const char *entry, size_t index, void *user)
{
    (void)entry, (void)user;
    return index ? NULL : captured_world_text;
}

static void write_file(void)
{
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, captured_world_text, strlen(captured_world_text)),
                     strlen(captured_world_text));
    close(file);
}

// Texts that are loaded are the only ones, and the driver is older than they are.
static braid_status import_reloaded(braid_device *device, braid_import **out_import)
{
    static char text[8192];
    const char *const texts[] = { text };
    snprintf(text, sizeof(text), ".version 9.4%s", captured_world_text + strlen(".version 8.0"));
    return braid_import_create(device, world.graph,
                               &(braid_import_options){ .reloaded = texts, .num_reloaded = 1 },
                               out_import);
}

// By every way that an import allocates: texts come by each door, and a part is given.
static braid_status import_with(braid_device *device, bool is_unwatched, braid_import **out_import)
{
    static const char *const texts[] = { captured_world_text };
    if (reloads)
        return import_reloaded(device, out_import);
    static const char *const files[] = { path };
    const braid_import_buffer parts[] = {
        { .address = (void *)(uintptr_t)world.buffers[3], .bytes = 64 }, // NOLINT
        { .address = (void *)(uintptr_t)world.buffers[0], .bytes = 64 }, // NOLINT
    };
    return braid_import_create(device, world.graph,
                               &(braid_import_options){ .texts = texts,
                                                        .num_texts = 1,
                                                        .files = files,
                                                        .num_files = 1,
                                                        .find_text = give_text,
                                                        .buffers = parts,
                                                        .num_buffers = 2,
                                                        .is_unwatched = is_unwatched },
                               out_import);
}

// Returns whether an allocation failed.
static bool try_writing(const braid_import *import, braid_import_report form, uint64_t nth)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    failing_memory_arm_once(nth);
    const braid_status status = braid_import_write(import, form, file);
    const bool has_failed = failing_memory_disarm();
    if (has_failed)
        check_fails(status, BRAID_NO_MEMORY, "the report of an import");
    else
        check_ok(status);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(ftell(file) == 0, has_failed);
    fclose(file);
    return has_failed;
}

static void a_report_may_run_out_of_memory(void **state)
{
    (void)state;
    braid_import *import;
    captured_world_make(&world);
    check_ok(import_with(own_device("cuda"), false, &import));
    for (int form = BRAID_IMPORT_TEXT; form <= BRAID_IMPORT_PAGE; form++) {
        uint64_t nth = 1;
        while (try_writing(import, (braid_import_report)form, nth))
            nth++;
        assert_true(nth > 10);
    }
    braid_import_destroy(import);
    captured_world_finish(&world);
}

static void check_works(braid_device *device, bool is_unwatched)
{
    braid_import *import;
    check_ok(import_with(device, is_unwatched, &import));
    assert_true(captured_world_plays_as(&world, device, braid_import_get_graph(import)));
    braid_import_destroy(import);
}

// Returns whether an allocation failed. Blocks of the thread's allocator are the import's.
static bool try_importing(braid_device *device, struct host_allocator *allocator, bool is_unwatched,
                          uint64_t nth, bool for_good)
{
    braid_import *import = NULL;
    if (for_good)
        failing_memory_arm(nth);
    else
        failing_memory_arm_once(nth);
    (void)host_allocator_use(allocator);
    braid_status status = import_with(device, is_unwatched, &import);
    (void)host_allocator_use(NULL);
    const bool has_failed = failing_memory_disarm();
    if (has_failed) {
        check_fails(status, BRAID_NO_MEMORY, "memory");
        assert_null(import);
    } else {
        check_ok(status);
        assert_true(atomic_load(&num_blocks) > 0);
        braid_import_destroy(import);
    }
    assert_int_equal(atomic_load(&num_blocks), 0);
    if (has_failed)
        check_works(device, is_unwatched);
    return has_failed;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    struct host_allocator *allocator;
    braid_device *device = own_device("cuda");
    assert_true(braid_host_allocator_hold(&counting, &allocator));
    captured_world_make(&world);
    for (int way = 0; way < 8; way++) {
        uint64_t nth = 1;
        reloads = way > 3;
        while (try_importing(device, allocator, way % 2, nth, way / 2 % 2))
            nth++;
        assert_true(nth > 100);
        print_message("summary: %llu allocations failed\n", (unsigned long long)nth - 1);
    }
    reloads = false;
    assert_true(captured_world_plays(&world));
    captured_world_finish(&world);
    braid_host_allocator_let_go(allocator);
}

// The graph is a later capture of itself.
static void an_update_may_run_out_of_memory(void **state)
{
    (void)state;
    braid_import *import;
    braid_device *device = own_device("cuda");
    captured_world_make(&world);
    check_ok(import_with(device, false, &import));
    braid_exec *exec = own_exec(device, braid_import_get_graph(import), NULL);
    uint64_t nth = 0;
    for (bool has_failed = true; has_failed;) {
        failing_memory_arm_once(++nth);
        const braid_status status = braid_import_update(import, world.graph, NULL, exec);
        has_failed = failing_memory_disarm();
        if (has_failed)
            check_fails(status, BRAID_NO_MEMORY, "memory");
        else
            check_ok(status);
    }
    assert_true(nth > 20);
    assert_true(captured_world_plays_as(&world, device, braid_import_get_graph(import)));
    destroy_now(exec);
    braid_import_destroy(import);
    captured_world_finish(&world);
}

static CUgraph capture_signal(CUexternalSemaphore semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = value };
    CUgraph graph;
    assert_int_equal(cuStreamBeginCapture_v2(world.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_int_equal(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, world.streams[0]), 0);
    assert_int_equal(cuStreamEndCapture(world.streams[0], &graph), 0);
    return graph;
}

static void values_of_semaphores_may_run_out_of_memory(void **state)
{
    (void)state;
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, .handle.fd = dup(fd)
    };
    CUexternalSemaphore semaphore;
    braid_import *import;
    uint64_t found = 0, nth = 0;
    braid_device *device = own_device("cuda");
    captured_world_make(&world);
    assert_int_equal(ftruncate(fd, sizeof(found)), 0);
    assert_int_equal(cuImportExternalSemaphore(&semaphore, &desc), 0);
    CUgraph first = capture_signal(semaphore, 1), later = capture_signal(semaphore, 2);
    while (true) {
        failing_memory_arm_once(++nth);
        const braid_status status = braid_import_create(device, first, NULL, &import);
        if (!failing_memory_disarm())
            break;
        check_fails(status, BRAID_NO_MEMORY, "memory");
    }
    braid_exec *exec = own_exec(device, braid_import_get_graph(import), NULL);
    for (nth = 1;; nth++) {
        failing_memory_arm_once(nth);
        const braid_status status = braid_import_update(import, later, NULL, exec);
        if (!failing_memory_disarm())
            break;
        check_fails(status, BRAID_NO_MEMORY, "memory");
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(pread(fd, &found, sizeof(found), 0), sizeof(found));
        assert_int_equal(found, 1);
    }
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(pread(fd, &found, sizeof(found), 0), sizeof(found));
    assert_int_equal(found, 2);
    destroy_now(exec);
    braid_import_destroy(import);
    assert_int_equal(cuGraphDestroy(first) + cuGraphDestroy(later), 0);
    assert_int_equal(cuDestroyExternalSemaphore(semaphore), 0);
    close(fd);
    captured_world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(each_allocation_may_fail),
        owning_test(an_update_may_run_out_of_memory),
        owning_test(values_of_semaphores_may_run_out_of_memory),
        owning_test(a_report_may_run_out_of_memory),
    };
    write_file();
    const int num_failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return num_failed;
}
