// SPDX-License-Identifier: Apache-2.0
// Whatever its layout, an island's code is right C++, as far as a compiler for the host can tell:
// the run-time compiler of the stand-in reads nothing of it. AMD's own compiles HIP's, where it is
// installed.
// So does it what keeps times of HIP's kernels.
// Arguments: the compiler, and the header that stands for CUDA's or HIP's words; or "amd".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_island_text.h"
#include "backends/gpu/gpu_loader.h"
#include "backends/gpu/gpu_source_stamps.h"
#include "support/check.h"

static char command[4096];
static bool hip;

static const char kernels_text[] =
    "extern \"C\" __global__ void many(float *to, float factor, unsigned num)\n"
    "{\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < num)\n"
    "        to[i] *= factor;\n"
    "    __syncthreads();\n"
    "}\n"
    "extern \"C\" __global__ void few(float *to)\n"
    "{\n"
    "    to[threadIdx.x] += 1;\n"
    "    __syncthreads();\n"
    "}\n";
static const char words_of_hip[] = "extern \"C\" __global__ void few(float *to)\n"
                                   "{\n"
                                   "    to[hipThreadIdx_x * hipBlockDim_z] += hipBlockIdx_y;\n"
                                   "    __syncthreads();\n"
                                   "}\n";

// What may stand in and around kernels that write their times.
static const char odd_text[] =
    "#define SIDE 8 // { \\\n of a tile\n"
    "struct place { float *at; };\n"
    "#define LIMITED(threads) __launch_bounds__(threads)\n"
    "template <int N> static __device__ __forceinline__ float scaled(const float (&row)[N])\n"
    "{\n"
    "    float sum = 0; /* } */\n"
    "    for (int i = 0; i < N; i++) { if (row[i] < 0) return -1; sum += row[i]; }\n"
    "    return sum;\n"
    "}\n"
    "template <typename T, int N = (3 > 2)> static __device__ void fill(T *to, T value)\n"
    "{ for (int i = 0; i < N; i++) to[i] = value; }\n"
    "extern \"C\" {\n"
    "__global__ void main_kernel(float *__restrict__ to, const float from[SIDE], int num = SIDE,\n"
    "                            float (*more)[2] = nullptr, char brace = '{')\n"
    "{\n"
    "    __shared__ float row[SIDE];\n"
    "    if (threadIdx.x >= num || brace == \"}\"[0]) return;\n"
    "    row[threadIdx.x % SIDE] = from[threadIdx.x % SIDE];\n"
    "    if (more) { to[0] = more[0][1]; return; }\n"
    "    to[threadIdx.x] = scaled(row);\n"
    "}\n"
    "__global__ void main_kernel_2(float *to, int) __launch_bounds__(64)\n"
    "{ fill<float, 2>(to, 1'0.5f); }\n"
    "__global__ void LIMITED_2(float *to) LIMITED(128) { auto f = [=](int i) { to[i] = 1; }; f(2); "
    "}\n"
    "__global__ void LIMITED(2 * SIDE) limited(float *to) { to[0] = 1; }\n"
    "__global__ void LIMITED(SIDE) nothing [[gnu::used]] () LIMITED(SIDE) { }\n"
    "__attribute__((noinline)) __device__ void aside(float *to) { to[0] = 1; }\n"
    "__global__ __launch_bounds__(32, 1) void m(const struct place to) noexcept\n"
    "{ aside(to.at); }\n"
    "}\n"
    "namespace { __global__ void hidden(void) { } }\n"
    "template <class T> __global__ void made(T *to, T value = T(1)) { *to = value; }";

static char *write_text(const struct island_layout *layout)
{
    static const uint32_t many_bytes[] = { 8, 4, 4 }, few_bytes[] = { 8 };
    static const struct island_kernel kernels[] = {
        { .name = "many", .arg_bytes = many_bytes, .num_args = 3 },
        { .name = "few", .arg_bytes = few_bytes, .num_args = 1 },
        { .source = 1, .name = "few", .arg_bytes = few_bytes, .num_args = 1 },
    };
    struct island_source sources[2];
    const char *why = NULL;
    assert_true(braid_island_source_read(kernels_text, &sources[0], &why));
    assert_true(braid_island_source_read(words_of_hip, &sources[1], &why));
    uint32_t num = 1 + layout->hip;
    char *text = braid_island_text(layout, sources, num, kernels, 1 + num);
    assert_non_null(text);
    braid_island_source_finish(&sources[0]);
    braid_island_source_finish(&sources[1]);
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

// Of so many, by the bits of a number: CUDA's, or HIP's with waves of 64.
enum { NUM_LAYOUTS = 1 << 4 };

static struct island_layout layout_of(uint32_t i)
{
    uint32_t warp = hip ? 64 : 32;
    return (struct island_layout){ .hip = hip,
                                   .warp = warp,
                                   .group_threads = i & 1 ? 256 : warp,
                                   .num_groups = 2,
                                   .num_blocks = 1 + (i >> 2 & 1),
                                   .num_threads = 512,
                                   .num_args = 4,
                                   .most_units = 8,
                                   .span = 3,
                                   .chain = i & 8,
                                   .flat = i & 1,
                                   .wide = i & 6,
                                   .timed = i & 2,
                                   .apart = i & 1,
                                   .early = !hip,
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
        free(text);
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
        free(text);
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
    free(text);
}

static struct gpu_compiler_api amd;

// Compiles for a device that need not be there, and says what AMD's compiler finds wrong.
static void compile_for(const char *text, const char *option)
{
    gpu_compilation program;
    size_t bytes = 0;
    assert_int_equal(amd.create(&program, text, "braid_island", 0, NULL, NULL), 0);
    gpu_result result = amd.compile(program, 1, &option);
    if (result) {
        static char log[16384];
        if (!amd.log_bytes(program, &bytes) && bytes < sizeof(log) && !amd.log(program, log))
            print_message("%s\n", log);
        fail_msg("%s: %s", option, amd.error_string(result));
    }
    assert_int_equal(amd.code_bytes(program, &bytes), 0);
    assert_true(bytes > 0);
    amd.destroy(&program);
}

static void amds_compiler_takes_each_kind(void **state)
{
    (void)state;
    // A lane of a wave and of several, of a block and of several, and a chain whose grids vary.
    static const uint32_t waves_of_64[] = { 0, 1, 4, 5, 14 }, waves_of_32[] = { 5 };
    for (size_t i = 0; i < 5; i++) {
        struct island_layout layout = layout_of(waves_of_64[i]);
        char *text = write_text(&layout);
        compile_for(text, "--offload-arch=gfx90a");
        free(text);
    }
    for (size_t i = 0; i < 1; i++) {
        struct island_layout layout = layout_of(waves_of_32[i]);
        layout.warp = 32;
        char *text = write_text(&layout);
        compile_for(text, "--offload-arch=gfx1030");
        free(text);
    }
}

// Kernels that write their times, and those that read the clock and gather what was written.
static void amds_compiler_takes_what_keeps_times(void **state)
{
    (void)state;
    static const char *const options[] = { "--offload-arch=gfx90a", "--offload-arch=gfx1030" };
    const char *reason;
    char *stamped = braid_gpu_source_with_stamps(kernels_text, &reason);
    assert_non_null(stamped);
    char *odd = braid_gpu_source_with_stamps(odd_text, &reason);
    assert_non_null(odd);
    for (int i = 0; i < 2; i++) {
        compile_for(odd_text, options[i]); // else the changed one would prove nothing
        compile_for(odd, options[i]);
        compile_for(stamped, options[i]);
        compile_for(braid_gpu_own_source(GPU_OWN_STAMP), options[i]);
        compile_for(braid_gpu_own_source(GPU_OWN_KEEP), options[i]);
    }
    free(odd);
    free(stamped);
}

static int compile_by_amd(void)
{
    static const char *const libraries[] = { "libamdhip64.so.5", NULL };
    char reason[512];
    hip = true;
    if (!braid_gpu_load(&braid_gpu_compiler_symbols, GPU_HIP, libraries, &amd, reason,
                        sizeof(reason))) {
        printf("skipped: there is no hiprtc of AMD's: %s\n", reason);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amds_compiler_takes_each_kind),
        cmocka_unit_test(amds_compiler_takes_what_keeps_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "amd") == 0)
        return compile_by_amd();
    if (argc != 3)
        return 2;
    hip = strstr(argv[2], "hip_words") != NULL;
    snprintf(command, sizeof(command), "%s -std=c++17 -w -fsyntax-only -x c++ -include '%s' - 2>&1",
             argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_is_cpp),
        cmocka_unit_test(where_lanes_are_is_read_before_any_tells),
        cmocka_unit_test(what_is_wrong_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
