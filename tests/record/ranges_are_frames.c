// SPDX-License-Identifier: Apache-2.0
// A range of NVTX with the name that was asked for is a frame. What stands between two is none.
#include "record/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// ---- NVTX as a program has it: slots, and a library that fills them ----

enum { PUSH_EX = 8, PUSH_ASCII = 9, POP = 11, SLOTS = 16, ASCII = 1, REGISTERED = 3 };

typedef void any_function(void);
typedef int push_function(const char *text);
typedef int push_ex_function(const void *attributes);
typedef int pop_function(void);
typedef const void *get_export(uint32_t id);
typedef int initialize(get_export *ask);

static any_function *functions[SLOTS], **slots[SLOTS];
static unsigned num_slots = SLOTS;

static int get_table(int module, any_function ****out_table, unsigned *out_num)
{
    *out_table = slots;
    *out_num = num_slots;
    return module == 1;
}

static const void *get_callbacks(uint32_t id)
{
    static const struct {
        size_t bytes;
        int (*get_table)(int module, any_function ****out_table, unsigned *out_num);
    } callbacks = { sizeof(callbacks), get_table };
    return id == 1 ? &callbacks : NULL;
}

static const void *get_nothing(uint32_t id)
{
    (void)id;
    return NULL;
}

static int push(const char *text)
{
    return ((push_function *)functions[PUSH_ASCII])(text);
}

static int push_ex(const char *text, uint32_t text_type)
{
    const struct {
        uint16_t version, bytes;
        uint32_t unused[5];
        uint64_t payload;
        uint32_t text_type;
        const char *text;
    } attributes = { .version = 3, .bytes = 48, .text_type = text_type, .text = text };
    return ((push_ex_function *)functions[PUSH_EX])(&attributes);
}

static int pop(void)
{
    return ((pop_function *)functions[POP])();
}

// ---- the program ----

static int open_ranges(void **state)
{
    open_program(state);
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    assert_non_null(library);
    initialize *begin = (initialize *)(uintptr_t)dlsym(library, "InitializeInjectionNvtx2");
    assert_non_null(begin);
    for (int i = 0; i < SLOTS; i++)
        slots[i] = &functions[i];
    assert_int_equal(begin(get_nothing), 0);
    num_slots = POP;
    assert_int_equal(begin(get_callbacks), 0); // too old
    num_slots = SLOTS;
    assert_int_equal(begin(get_callbacks), 1);
    return 0;
}

static void ranges_are_frames(void **state)
{
    CUstream stream;
    (void)state;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_int_equal(pop(), -1);
    for (int i = 0; i < 4; i++) {
        launch_nothing(stream);
        assert_int_equal(push("outer"), 0);
        launch_nothing(stream);
        // The second and third have attributes.
        assert_int_equal(i == 0 ? push("step") : push_ex("step", ASCII), 1);
        for (int k = 0; k <= i; k++)
            launch_nothing(stream);
        assert_int_equal(push("step"), 2); // inside itself: none
        assert_int_equal(push_ex("step", REGISTERED), 3);
        assert_int_equal(pop(), 3);
        assert_int_equal(pop(), 2);
        must(cuStreamSynchronize(stream));
        assert_int_equal(pop(), 1);
        launch_nothing(stream);
        assert_int_equal(pop(), 0);
    }
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 2); // without the first
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(contents->frames[i].num_operations, i + 2 + 1);
    close_own_record();
    must(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranges_are_frames) };
    return cmocka_run_group_tests(tests, open_ranges, close_program);
}
