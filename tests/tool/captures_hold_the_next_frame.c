// SPDX-License-Identifier: Apache-2.0
// A capture has the contents of buffers, the versions and the values of the frame that comes next.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file.h"
#include "support/check.h"
#include "tool/capture_frames.h"

static const float *contents(const struct capture_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct capture_resource *it = &file->resources[i];
        if (strcmp(it->name, name) == 0 && it->kind == CAPTURE_BUFFER)
            return (const float *)(const void *)it->contents;
    }
    fail_msg("no buffer '%s'", name);
    return NULL;
}

static const struct capture_node *node_named(const struct capture_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (strcmp(file->nodes[i].name, name) == 0)
            return &file->nodes[i];
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

// Two frames have run: see add_everything.
static void check_contents(const struct capture_file *file)
{
    const float *in = contents(file, "in"), *state = contents(file, "state");
    const float *before = contents(file, "state[-1]");
    for (int i = 0; i < FRAME_NUM; i++) {
        float first = 1 + (float)i;
        bool is_half = i >= FRAME_NUM / 2;
        assert_true(state[i] == (is_half ? first * 6 + 0.5f : first * 6));
        assert_true(before[i] == (is_half ? first * 6 + 0.5f : first * 36));
        assert_true(in[i] == (is_half ? first : first * 36));
    }
}

static void the_next_frame_is_held(void **state)
{
    char path[] = "/tmp/braid_capture_XXXXXX";
    struct capture_file file;
    (void)state;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    uint64_t bytes = capture_frame("cpu", false, path);
    assert_int_equal(capture_file_read(path, &file), EXIT_DONE);
    unlink(path);
    assert_int_equal(file.num_bytes, bytes);
    assert_int_equal(file.frame, 2);
    check_contents(&file);
    const struct capture_node *scaled = node_named(&file, "to middle");
    const struct capture_argument *arguments = file.arguments.items;
    float factor;
    memcpy(&factor,
           (unsigned char *)file.values.items + arguments[scaled->first_argument + 2].place,
           sizeof(factor));
    assert_true(factor == 4);
    assert_true(scaled->is_enabled && !node_named(&file, "pause")->is_enabled);
    assert_int_equal(node_named(&file, "in scratch")->role, 1);
    assert_true(node_named(&file, "count")->has_grid_from);
    capture_file_finish(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_next_frame_is_held) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
