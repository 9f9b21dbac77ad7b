// SPDX-License-Identifier: Apache-2.0
// Whatever its layout, an island's code is right C++, as far as a compiler for the host can tell:
// the run-time compiler of the stand-in reads nothing of it.
// Arguments: the compiler, and the header that stands for CUDA's words.
#include <stdio.h>
#include <string.h>

#include "base/host_memory.h"
#include "islands/gpu_island_code.h"
#include "support/check.h"

static char command[4096];

static char *write_text(const struct island_layout *layout)
{
    char *text = braid_island_text(layout, 2);
    assert_non_null(text);
    return text;
}

// The compiler's status. It says itself what it finds wrong.
static int compile(const char *text)
{
    FILE *compiler = popen(command, "w");
    assert_non_null(compiler);
    fputs(text, compiler);
    return pclose(compiler);
}

// There are so many, by the bits of a number.
enum { NUM_LAYOUTS = 1 << 5 };

static struct island_layout layout_of(uint32_t i)
{
    return (struct island_layout){ .group_threads = i & 1 ? 256 : 32,
                                   .num_groups = 4,
                                   .team = i & 8   ? 4
                                           : i & 1 ? 2
                                           : i & 4 ? 4
                                                   : 1,
                                   .num_blocks = 1 + (i >> 2 & 1),
                                   .num_threads = 512,
                                   .num_args = 4,
                                   .most_units = 8,
                                   .span = 3,
                                   .chain = i & 8,
                                   .flat = i & 1,
                                   .wide = i & 6,
                                   .timed = i & 2,
                                   .loops = i & 16,
                                   .cancels = !(i & 2),
                                   .apart = i & 1,
                                   .early = true,
                                   .small = i & 6 ? 0 : 16,
                                   .whole = !(i & 1),
                                   .grids_vary = i & 4 };
}

static void each_layout_is_cpp(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NUM_LAYOUTS; i++) {
        struct island_layout layout = layout_of(i);
        char *text = write_text(&layout);
        if (compile(text))
            fail_msg("layout %u", i);
        braid_free(text);
    }
}

// A lane without calls tells its first frame right behind the block's meeting: threads of its group
// that looked only then where the lane is would begin one frame too late, and wait for ever.
static void where_lanes_are_is_read_before_any_tells(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NUM_LAYOUTS; i++) {
        struct island_layout layout = layout_of(i);
        char *text = write_text(&layout);
        char *walker = strstr(text, " braid_island(const uint4 *program");
        assert_non_null(walker);
        char *read = strstr(walker, "progress[lane * 32]"),
             *meeting = strstr(walker, "__syncthreads");
        char *telling = strstr(walker, "braid_island_tell(");
        assert_true(read && meeting && telling && read < meeting && meeting < telling);
        assert_null(strstr(meeting, "= progress["));
        braid_free(text);
    }
}

static void what_is_wrong_is_found(void **state)
{
    (void)state;
    struct island_layout layout = layout_of(0);
    char *text = write_text(&layout);
    char *word = strstr(text, "braid_island_here[group].grid");
    assert_non_null(word);
    memset(word, 'x', 5);
    print_message("an error is wanted here:\n");
    assert_int_not_equal(compile(text), 0);
    braid_free(text);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    snprintf(command, sizeof(command), "%s -std=c++17 -w -fsyntax-only -x c++ -include '%s' - 2>&1",
             argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_is_cpp),
        cmocka_unit_test(where_lanes_are_is_read_before_any_tells),
        cmocka_unit_test(what_is_wrong_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
