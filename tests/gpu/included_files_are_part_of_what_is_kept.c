// SPDX-License-Identifier: Apache-2.0
// Compiled code is kept for all that it was made from: files that the source includes, however they
// are found, options, headers. What cannot be known is not kept, and the log says why.
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { MOST_PATH = 300 };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_one, braid_standin__Zthree;

static unsigned ran;

void braid_standin_one(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    ran = 1;
}

void braid_standin__Zthree(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                           void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    ran = 3;
}

static char folder[100], cache[MOST_PATH], told[1024];

static void note(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    snprintf(told, sizeof(told), "%s", message);
}

static int begin(void **state)
{
    char path[MOST_PATH];
    (void)state;
    reset_standin();
    snprintf(folder, sizeof(folder), "/tmp/braid-kept-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof(cache), "%s/cache", folder);
    snprintf(path, sizeof(path), "%s/log", folder);
    setenv("BRAID_STANDIN_NVRTC_LOG", path, 1);
    setenv("BRAID_CACHE", cache, 1);
    braid_log_set(note, NULL);
    *told = '\0';
    return 0;
}

static int end(void **state)
{
    char command[MOST_PATH];
    (void)state;
    braid_log_set(NULL, NULL);
    unsetenv("BRAID_STANDIN_NVRTC_LOG");
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static unsigned count_compilations(void)
{
    unsigned num = 0;
    FILE *file = fopen(getenv("BRAID_STANDIN_NVRTC_LOG"), "r");
    for (int c = 0; file && (c = getc(file)) != EOF;)
        num += c == '\n';
    if (file)
        fclose(file);
    return num;
}

// Runs the kernel on a device that nothing was loaded on; how often it was compiled for that.
static unsigned run(const braid_kernel *kernel)
{
    unsigned before = count_compilations();
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    void *memory;
    const braid_device_options options = { .backend = "cuda" };
    check_ok(braid_device_open(&options, &device));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 64, &memory));
    check_ok(braid_graph_create(&graph));
    const braid_kernel_node node = { .kernel = kernel, BRAID_ARGS(BRAID_ARG(memory)) };
    check_ok(braid_graph_add_kernel(graph, &node, NULL));
    check_ok(braid_exec_create(device, graph, NULL, &exec));
    ran = 0;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(ran, strchr(kernel->name, ' ') ? 3 : 1);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, memory);
    braid_device_close(device);
    return count_compilations() - before;
}

// Once for what it is made from, and then not again.
static void check_once(const braid_kernel *kernel)
{
    assert_int_equal(run(kernel), 1);
    assert_int_equal(run(kernel), 0);
}

#define ENTRY "extern \"C\" __global__ void one(unsigned *to) { *to = 0; }\n"

static void write_file(const char *name, const char *text)
{
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void another_text_of_a_file_is_compiled(void **state)
{
    (void)state;
    const char *const folders[] = { "/nowhere", folder };
    const braid_kernel kernel = { .name = "one",
                                  .source = "# include /**/ \"first.h\"\n" ENTRY,
                                  .include_folders = folders,
                                  .num_include_folders = 2 };
    write_file("first.h", "#include <second.h>\n");
    write_file("second.h", "// as it is first\n");
    check_once(&kernel);
    write_file("second.h", "// as it is then\n");
    check_once(&kernel);
    write_file("second.h", "// as it is first\n");
    assert_int_equal(run(&kernel), 0);
    write_file("first.h", "%:  include_next \\\n <second.h>\n");
    check_once(&kernel);
}

// Which of several files a name means may change with a file that comes to be.
static void a_new_file_is_noticed(void **state)
{
    (void)state;
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/before", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    const char *const folders[] = { path, folder };
    braid_kernel kernel = { .name = "one",
                            .source = "#include \"a.h\"\n" ENTRY,
                            .include_folders = folders,
                            .num_include_folders = 2 };
    write_file("a.h", "\n");
    check_once(&kernel);
    write_file("before/a.h", "\n");
    check_once(&kernel);
    kernel.source = "#if __has_include(<new.h>)\n#endif\n" ENTRY;
    check_once(&kernel);
    write_file("new.h", "\n");
    check_once(&kernel);
    assert_string_equal(told, "");
}

// A folder in an option counts as others do, written in any way.
static void options_and_headers_are_part_of_it(void **state)
{
    (void)state;
    char option[MOST_PATH];
    const char *options[] = { "-DA=1", "-I", folder };
    braid_header header = { "b.h", "// first\n" };
    braid_kernel kernel = { .name = "one",
                            .source = "#include <a.h>\n#include \"b.h\"\n" ENTRY,
                            .options = options,
                            .num_options = 3,
                            .headers = &header,
                            .num_headers = 1 };
    write_file("a.h", "// first\n");
    check_once(&kernel);
    options[0] = "-DA=2";
    check_once(&kernel);
    header.text = "// then\n";
    check_once(&kernel);
    write_file("a.h", "// then\n");
    check_once(&kernel);
    snprintf(option, sizeof(option), "-I%s", folder);
    options[1] = option;
    kernel.num_options = 2;
    check_once(&kernel);
    write_file("a.h", "// last\n");
    check_once(&kernel);
    assert_string_equal(told, "");
}

// Its entry's name is kept with it.
static void a_template_is_kept(void **state)
{
    (void)state;
    const braid_kernel kernel = {
        .name = "a template",
        .source = "template <class T> __global__ void three(T *to) { *to = 3; }\n",
        .name_expression = "three<unsigned>",
    };
    check_once(&kernel);
}

static void what_cannot_be_known_is_told(void **state)
{
    (void)state;
    const char *const options[] = { "--pre-include=a.h" };
    const struct {
        braid_kernel kernel;
        const char *reason;
    } cases[] = {
        { { .source = "#include NAME\n" ENTRY }, "a file whose name is not written out" },
        { { .source = "#define HAS(x) __has_include(x)\n" ENTRY }, "name is not written out" },
        { { .source = ENTRY "// __DATE__\n" }, "it asks for the date" },
        { { .source = ENTRY "// #embed\n" }, "it may import or embed a file" },
        { { .source = ENTRY, .options = options, .num_options = 1 }, "an option may name a file" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        braid_kernel kernel = cases[i].kernel;
        kernel.name = "one";
        for (int j = 0; j < 2; j++) {
            *told = '\0';
            assert_int_equal(run(&kernel), 1);
            assert_non_null(strstr(told, "the compiled code of kernel 'one' is not kept: "));
            assert_non_null(strstr(told, cases[i].reason));
        }
    }
    const braid_kernel plain = { .name = "one", .source = ENTRY };
    setenv("NVRTC_APPEND_FLAGS", "-DMORE", 1);
    assert_int_equal(run(&plain) + run(&plain), 2);
    assert_non_null(strstr(told, "the environment adds options to it"));
    unsetenv("NVRTC_APPEND_FLAGS");
    check_once(&plain);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(another_text_of_a_file_is_compiled), CASE(a_new_file_is_noticed),
        CASE(options_and_headers_are_part_of_it), CASE(a_template_is_kept),
        CASE(what_cannot_be_known_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
