// SPDX-License-Identifier: Apache-2.0
// Options, folders, headers and a name expression of a kernel reach the compiler, and all that the
// compiler says of a mistake reaches the program. The first argument says which compiler it is.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);

// A template's entry, as the stand-in and the real compiler name it.
BRAID_API kernel_function braid_standin_put, braid_standin__Zfill, braid_standin__Z4fillIfLi4EEvPT_;

static unsigned num_puts, num_fills;

void braid_standin_put(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_puts++;
}

void braid_standin__Zfill(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_fills++;
}

void braid_standin__Z4fillIfLi4EEvPT_(const unsigned grid[3], const unsigned block[3],
                                      unsigned shared_bytes, void **args)
{
    braid_standin__Zfill(grid, block, shared_bytes, args);
}

static bool is_real; // the compiler

struct life {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    void *memory;
};

static void begin(struct life *life)
{
    reset_standin();
    num_puts = num_fills = 0;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda", .cache = "off" },
                               &life->device));
    check_ok(braid_memory_allocate(life->device, BRAID_MEMORY_HOST, 64, &life->memory));
    check_ok(braid_graph_create(&life->graph));
    life->exec = NULL;
}

static void add(struct life *life, const braid_kernel *kernel)
{
    check_ok(braid_graph_add_kernel(
        life->graph, &(braid_kernel_node){ .kernel = kernel, BRAID_ARGS(BRAID_ARG(life->memory)) },
        NULL));
}

static void launch(struct life *life)
{
    check_ok(braid_exec_create(life->device, life->graph, NULL, &life->exec));
    check_ok(braid_exec_launch(life->exec, NULL));
    check_ok(braid_exec_wait(life->exec));
}

static void end(struct life *life)
{
    braid_exec_destroy(life->exec);
    braid_graph_destroy(life->graph);
    braid_memory_free(life->device, life->memory);
    braid_device_close(life->device);
    check_nothing_is_left();
}

static void write_file(char *path, size_t size, const char *folder, const char *name,
                       const char *text)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char put[] = "#include \"first.h\"\n"
                          "extern \"C\" __global__ void put(element *to) { *to = 1; }\n";

// The type of the parameter is in a header that is a text, or behind one in a file.
static void headers_and_folders_are_found(void **state)
{
    (void)state;
    char folder[] = "/tmp/braid-folder-XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    write_file(path, sizeof(path), folder, "second.h", "typedef float element;\n");
    const char *const folders[] = { "/nowhere", folder };
    const braid_header texts[] = { { "other.h", "#error not this one\n" },
                                   { "first.h", "#include <second.h>\n" } };
    const braid_kernel kernel = { .name = "put",
                                  .source = put,
                                  .include_folders = folders,
                                  .num_include_folders = 2,
                                  .headers = texts,
                                  .num_headers = 2 };
    struct life life;
    begin(&life);
    add(&life, &kernel);
    launch(&life);
    assert_int_equal(num_puts, 1);
    end(&life);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_template_is_found_by_its_expression(void **state)
{
    (void)state;
    static const char source[] =
        "template <class T, int width> __global__ void fill(T *to)\n"
        "{\n    for (int i = 0; i < width; i++)\n        to[i] = T(i);\n}\n";
    const braid_kernel kernel = { .name = "fill of floats",
                                  .source = source,
                                  .name_expression = "fill<float, 4>" };
    struct life life;
    begin(&life);
    add(&life, &kernel);
    launch(&life);
    assert_int_equal(num_fills, 1);
    end(&life);
}

// How often and how the compiler was called is in the stand-in's log.
static void options_reach_the_compiler(void **state)
{
    (void)state;
    static const char source[] = "#ifdef REAL\n#if WIDTH != 4\n#error WIDTH\n#endif\n#endif\n"
                                 "extern \"C\" __global__ void put(float *to) { *to = 1; }\n";
    const char *const options[] = { "-DWIDTH=4", "-DREAL" };
    const braid_kernel kernels[] = {
        { .name = "put",
          .source = is_real ? source : strstr(source, "extern"),
          .options = options,
          .num_options = 2 },
        { .name = "put", .source = strstr(source, "extern") },
        { .name = "put", .source = strstr(source, "extern") },
    };
    char path[] = "/tmp/braid-log-XXXXXX", line[256];
    assert_true(close(mkstemp(path)) == 0);
    setenv("BRAID_STANDIN_NVRTC_LOG", path, 1);
    struct life life;
    begin(&life);
    for (int i = 0; i < 3; i++)
        add(&life, &kernels[i]);
    launch(&life);
    assert_int_equal(num_puts, 3);
    end(&life);
    unsetenv("BRAID_STANDIN_NVRTC_LOG");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    if (!is_real) {
        assert_non_null(fgets(line, sizeof(line), file));
        assert_non_null(strstr(line, "put -DWIDTH=4 -DREAL --gpu-architecture="));
        assert_non_null(fgets(line, sizeof(line), file)); // one source, compiled in another way
        assert_null(strstr(line, "WIDTH"));
        assert_null(fgets(line, sizeof(line), file)); // and the third has the second's
    }
    fclose(file);
    assert_int_equal(unlink(path), 0);
}

// All lines of the compiler, which are more than a message takes.
static void a_mistake_is_told_with_all_lines(void **state)
{
    (void)state;
    enum { MISTAKES = 16 };
    static char source[100 * MISTAKES];
    const char *mistake = is_real ? "extern \"C\" __global__ void f%d(int *a) { *a = odd; }\n"
                                  : "extern \"C\" __global__ void f%d(odd a) {}\n";
    char line[100];
    size_t length = 0;
    for (int i = 1; i <= MISTAKES; i++)
        length += (size_t)snprintf(source + length, sizeof(source) - length, mistake, i);
    const braid_kernel kernel = { .name = "broken", .source = source };
    struct life life;
    begin(&life);
    add(&life, &kernel);
    check_fails(braid_exec_create(life.device, life.graph, NULL, &life.exec), BRAID_DEVICE_ERROR,
                "compiling kernel 'broken' (cuda:0, --gpu-architecture=");
    assert_null(strchr(braid_error_get_message(), '\n'));
    const char *details = braid_error_get_details();
    for (int i = 1; i <= MISTAKES; i++) {
        snprintf(line, sizeof(line), "broken(%d): error: ", i);
        assert_non_null(strstr(details, line));
        assert_non_null(strchr(strstr(details, line), '\n'));
    }
    assert_true(strlen(details) > 1024);
    check_fails(braid_graph_create(NULL), BRAID_INVALID_ARGUMENT, "NULL");
    assert_string_equal(braid_error_get_details(), "");
    end(&life);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    static const char *const options[] = { "-DA", NULL };
    static const braid_header texts[] = { { "a.h", NULL } };
    const struct {
        braid_kernel kernel;
        const char *told;
    } cases[] = {
        { { .options = options, .num_options = 2 }, "option 1 of kernel 'put' is NULL" },
        { { .num_options = 1 }, "option 0 of kernel 'put' is NULL" },
        { { .include_folders = options, .num_include_folders = 2 },
          "include folder 1 of kernel 'put' is NULL" },
        { { .headers = texts, .num_headers = 1 },
          "header 0 of kernel 'put' has no name or no text" },
        { { .num_headers = 1 }, "header 0 of kernel 'put' has no name or no text" },
    };
    struct life life;
    begin(&life);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        braid_kernel kernel = cases[i].kernel;
        kernel.name = "put";
        kernel.source = put;
        check_fails(
            braid_graph_add_kernel(life.graph, &(braid_kernel_node){ .kernel = &kernel }, NULL),
            BRAID_INVALID_ARGUMENT, cases[i].told);
    }
    end(&life);
}

static void a_wrong_expression_is_an_error(void **state)
{
    (void)state;
    const braid_kernel kernel = { .name = "put",
                                  .name_expression = "nothing<int>",
                                  .source = "extern \"C\" __global__ void put(float *to) {}\n" };
    struct life life;
    begin(&life);
    add(&life, &kernel);
    braid_status status = braid_exec_create(life.device, life.graph, NULL, &life.exec);
    check_fails(status, BRAID_DEVICE_ERROR, "kernel 'put'");
    end(&life);
}

int main(int argc, char **argv)
{
    is_real = argc > 1 && strcmp(argv[1], "real") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_and_folders_are_found),
        cmocka_unit_test(a_template_is_found_by_its_expression),
        cmocka_unit_test(options_reach_the_compiler),
        cmocka_unit_test(a_mistake_is_told_with_all_lines),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(a_wrong_expression_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
