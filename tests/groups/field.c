// SPDX-License-Identifier: Apache-2.0
// Opening and closing what graphs of tests run on.
#include "groups/field.h"
#include "support/check.h"

int field_open(void **state)
{
    static struct group_under_test test;
    static struct field field;
    if (group_under_test_open(&test))
        return -1;
    field = (struct field){ .test = &test };
    void *memory;
    for (uint32_t p = 0; p < test.num_places; p++) {
        for (uint32_t i = 0; i < PLACED_MOST_BUFFERS; i++) {
            check_ok(braid_memory_allocate(group_under_test_device(&test, p), BRAID_MEMORY_DEVICE,
                                           PLACED_WORDS * sizeof(uint32_t), &memory));
            field.buffers[p][i] = memory;
        }
    }
    check_ok(braid_memory_allocate(test.devices[0], BRAID_MEMORY_HOST,
                                   (1 + NUM_FRAMES) * MODEL_WORDS * sizeof(uint32_t), &memory));
    field.staged = memory;
    check_ok(braid_stream_create(test.devices[0], NULL, &field.stream));
    *state = &field;
    return 0;
}

int field_close(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_stream_destroy(field->stream);
    braid_memory_free(test->devices[0], field->staged);
    for (uint32_t p = 0; p < test->num_places; p++) {
        for (uint32_t i = 0; i < PLACED_MOST_BUFFERS; i++)
            braid_memory_free(group_under_test_device(test, p), field->buffers[p][i]);
    }
    group_under_test_close(test);
    return 0;
}
