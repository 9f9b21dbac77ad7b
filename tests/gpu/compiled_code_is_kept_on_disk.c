// SPDX-License-Identifier: Apache-2.0
// Code compiled at run time is found by later processes, and nothing that happens to its files does
// harm: this program starts itself as those processes, and counts what the compiler did.
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>

#include "backends/gpu/gpu_disk_cache.h"
#include "base/host_memory.h"
#include "support/check.h"

enum { MOST_PATH = 300, MANY = 8 };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_one, braid_standin_two;

void braid_standin_one(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(unsigned **)args[0] = 1;
}

void braid_standin_two(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(unsigned **)args[0] = 2;
}

static const char *backend; // "cuda" or "hip"
static char folder[MOST_PATH - 100];
static const char *program;

// ---- a process that compiles ----

// Runs one kernel of the source and returns 0 when it was the right one.
static int run_kernel(const char *name, const char *source, unsigned wanted)
{
    const braid_kernel kernel = { .name = name, .source = source };
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    void *memory;
    unsigned found = 0;
    if (braid_device_open(&(braid_device_options){ .backend = backend }, &device) ||
        braid_memory_allocate(device, BRAID_MEMORY_HOST, sizeof(found), &memory) ||
        braid_graph_create(&graph))
        return 2;
    memset(memory, 0, sizeof(found));
    const braid_kernel_node launch = { .kernel = &kernel, BRAID_ARGS(BRAID_ARG(memory)) };
    if (braid_graph_add_kernel(graph, &launch, NULL) ||
        braid_exec_create(device, graph, NULL, &exec) || braid_exec_launch(exec, NULL) ||
        braid_exec_wait(exec)) {
        fprintf(stderr, "%s\n", braid_error_get_message());
        return 3;
    }
    memcpy(&found, memory, sizeof(found));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, memory);
    braid_device_close(device);
    return found == wanted ? 0 : 4;
}

#define ENTRY(name) "extern \"C\" __global__ void " name "(unsigned *to) { *to = 0; }\n"

static void print_message_of_log(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    fprintf(stderr, "%s\n", message);
}

static int run_as_child(const char *what)
{
    braid_log_set(print_message_of_log, NULL);
    if (strcmp(what, "nothing") == 0)
        return 0;
    if (strcmp(what, "two") == 0)
        return run_kernel("two", ENTRY("two"), 2);
    if (strcmp(what, "include") == 0)
        return run_kernel("one", "#/**/ \\\ninclude NAME\n" ENTRY("one"), 1);
    if (strcmp(what, "place") == 0) {
        char *place = braid_disk_cache_folder(folder);
        printf("%s\n", place ? place : "none");
        braid_free(place);
        return 0;
    }
    return run_kernel("one", ENTRY("one"), 1);
}

// ---- starting it ----

static char *path_of(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *path_of(char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int begin = snprintf(path, MOST_PATH, "%s/", folder);
    vsnprintf(path + begin, (size_t)(MOST_PATH - begin), format, arguments);
    va_end(arguments);
    return path;
}

// What a child does to itself before it becomes the program.
static void (*prepare)(void);

static pid_t start(const char *what)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (prepare)
            prepare();
        execl(program, program, backend, what, NULL);
        _exit(127);
    }
    return child;
}

static void finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static unsigned count_compilations(void)
{
    char path[MOST_PATH];
    unsigned num = 0;
    FILE *file = fopen(path_of(path, "log"), "r");
    for (int c = 0; file && (c = getc(file)) != EOF;)
        num += c == '\n';
    if (file)
        fclose(file);
    return num;
}

// Runs a process, and returns how many compilations it took.
static unsigned run(const char *what)
{
    unsigned before = count_compilations();
    finish(start(what));
    return count_compilations() - before;
}

// The names in a folder but for . and .., the last of them in `name`.
static unsigned count_files(const char *at, char *name)
{
    DIR *files = opendir(at);
    unsigned num = 0;
    struct dirent *file;
    while (files && (file = readdir(files))) {
        if (file->d_name[0] == '.')
            continue;
        if (name)
            snprintf(name, MOST_PATH, "%.200s", file->d_name);
        num++;
    }
    if (files)
        closedir(files);
    return num;
}

static void use_folder(const char *cache)
{
    char path[MOST_PATH];
    assert_int_equal(setenv("BRAID_CACHE", path_of(path, "%s", cache), 1), 0);
}

static int begin(void **state)
{
    char path[MOST_PATH];
    (void)state;
    prepare = NULL;
    snprintf(folder, sizeof(folder), "/tmp/braid-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    setenv("BRAID_STANDIN_NVRTC_LOG", path_of(path, "log"), 1);
    unsetenv("BRAID_STANDIN_NVRTC_MINOR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", path_of(path, "home"), 1);
    use_folder("cache");
    return 0;
}

static int end(void **state)
{
    char command[MOST_PATH + 20];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

// ---- the cases ----

static void a_second_process_compiles_nothing(void **state)
{
    (void)state;
    assert_int_equal(run("one"), 1);
    assert_int_equal(run("one"), 0);
    assert_int_equal(run("two"), 1); // other source
    assert_int_equal(run("two"), 0);
    assert_int_equal(run("one"), 0);
    setenv("BRAID_STANDIN_NVRTC_MINOR", "1", 1); // other compiler
    assert_int_equal(run("one"), 1);
    assert_int_equal(run("one"), 0);
}

static void what_cannot_be_known_is_not_kept(void **state)
{
    char path[MOST_PATH];
    (void)state;
    assert_int_equal(run("include"), 1);
    assert_int_equal(run("include"), 1);
    assert_int_equal(count_files(path_of(path, "cache"), NULL), 0);
}

static void many_processes_share_a_folder(void **state)
{
    char path[MOST_PATH];
    pid_t children[MANY];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            children[i] = start(i % 2 ? "one" : "two");
        for (int i = 0; i < MANY; i++)
            finish(children[i]);
    }
    assert_int_equal(count_files(path_of(path, "cache"), NULL), 2);
    assert_int_equal(run("one") + run("two"), 0);
}

static char *only_file(char *path)
{
    char name[MOST_PATH];
    assert_int_equal(count_files(path_of(path, "cache"), name), 1);
    return path_of(path, "cache/%s", name);
}

static void change_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int byte = getc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    putc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

// Compiled again, and whole afterwards.
static void damaged_files_are_noticed(void **state)
{
    char path[MOST_PATH];
    struct stat status;
    (void)state;
    assert_int_equal(run("one"), 1);
    only_file(path);
    assert_int_equal(stat(path, &status), 0);
    const off_t sizes[] = {
        0, 7, 39, 40, status.st_size / 2, status.st_size - 1, status.st_size + 1
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(truncate(path, sizes[i]), 0);
        assert_int_equal(run("one"), 1);
        assert_int_equal(run("one"), 0);
    }
    const long places[] = { 0, 8, 24, 32, 40, -1, -100 };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        change_byte(path, places[i]);
        assert_int_equal(run("one"), 1);
        assert_int_equal(run("one"), 0);
    }
}

// As if both keys had the same hash.
static void another_keys_file_is_not_taken(void **state)
{
    char one[MOST_PATH], name[MOST_PATH], kept[MOST_PATH], two[MOST_PATH];
    (void)state;
    assert_int_equal(run("one"), 1);
    assert_int_equal(rename(only_file(one), path_of(kept, "kept")), 0);
    assert_int_equal(run("two"), 1);
    assert_int_equal(count_files(path_of(two, "cache"), name), 1);
    assert_int_equal(rename(kept, path_of(two, "cache/%s", name)), 0);
    assert_int_equal(run("two"), 1);
    assert_int_equal(run("two"), 0);
}

static void limit_files(void)
{
    const struct rlimit limit = { 100, 100 }; // bytes, less than an entry
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        _exit(1);
}

static void what_cannot_be_written_whole_is_not_kept(void **state)
{
    char path[MOST_PATH];
    (void)state;
    prepare = limit_files;
    assert_int_equal(run("one"), 1);
    prepare = NULL;
    assert_int_equal(count_files(path_of(path, "cache"), NULL), 0);
    assert_int_equal(run("one"), 1);
    assert_int_equal(run("one"), 0);
}

static void a_full_disk_does_no_harm(void **state)
{
    char path[MOST_PATH], filler[MOST_PATH];
    static const char block[4096];
    (void)state;
    assert_int_equal(mkdir(path_of(path, "small"), 0755), 0);
    if (mount("none", path, "tmpfs", 0, "size=16k"))
        skip_because("a small file system cannot be mounted here");
    use_folder("small");
    FILE *file = fopen(path_of(filler, "small/filler"), "w");
    while (file && fwrite(block, 1, sizeof(block), file) == sizeof(block) && fflush(file) == 0) {
    }
    if (file)
        fclose(file);
    unsigned compiled = run("one") + run("one");
    unsigned files = count_files(path, NULL);
    unlink(filler);
    compiled += run("one") + run("one");
    assert_int_equal(umount(path), 0);
    assert_int_equal(files, 1); // the filler alone
    assert_int_equal(compiled, 3);
}

// The program and the stand-in drivers, for a user who may not enter the build folder. The copies
// keep their times: Braid knows a compiler by its size and time.
static void make_copies(void)
{
    char command[3 * MOST_PATH], path[MOST_PATH];
    snprintf(command, sizeof(command),
             "cd '%s' && mkdir copies && cp -p '%s' copies/program && IFS=: && "
             "for from in $LD_LIBRARY_PATH; do cp -p \"$from\"/*.so.*[0-9] copies || exit; done && "
             "chmod -R a+rX copies",
             folder, program);
    assert_int_equal(system(command), 0);
    if (access(path_of(path, "copies/program"), X_OK))
        skip_because("no program runs from the folder of this test");
}

static void become_nobody(void)
{
    static char path[MOST_PATH];
    setenv("LD_LIBRARY_PATH", path_of(path, "copies"), 1);
    program = path_of(path, "copies/program");
    if (geteuid() == 0 && setuid(65534))
        _exit(1);
}

// The loader may miss a library of a folder that the other user cannot enter.
static bool nobody_can_run(void)
{
    int status = 0;
    prepare = become_nobody;
    pid_t child = start("nothing");
    prepare = NULL;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Nothing is written there, and what is there is used.
static void a_folder_may_be_read_only(void **state)
{
    char path[MOST_PATH], log[MOST_PATH];
    (void)state;
    make_copies();
    if (!nobody_can_run())
        skip_because("another user cannot run the program of this test");
    assert_int_equal(mkdir(path_of(path, "cache"), 0755), 0);
    fclose(fopen(path_of(log, "log"), "w"));
    assert_int_equal(chmod(log, 0666), 0);
    assert_int_equal(run("one"), 1);
    char file[MOST_PATH];
    assert_int_equal(chmod(only_file(file), 0444), 0);
    assert_int_equal(chmod(path, 0555), 0);
    prepare = become_nobody;
    assert_int_equal(run("one"), 0);
    assert_int_equal(run("two"), 1);
    assert_int_equal(run("two"), 1);
    assert_int_equal(count_files(path, NULL), 1);
    assert_int_equal(chmod(path, 0755), 0);
}

static void files_that_others_may_change_are_not_trusted(void **state)
{
    char path[MOST_PATH];
    (void)state;
    assert_int_equal(run("one"), 1);
    assert_int_equal(chmod(only_file(path), 0666), 0);
    assert_int_equal(run("one"), 1); // and is replaced
    assert_int_equal(run("one"), 0);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(run("one"), 1);
    assert_int_equal(run("one"), 0);
}

static void a_process_without_a_home_compiles(void **state)
{
    (void)state;
    setenv("BRAID_CACHE", "", 1);
    unsetenv("HOME");
    assert_int_equal(run("one"), 1);
    assert_int_equal(run("one"), 1);
    setenv("HOME", "/proc/nowhere", 1);
    assert_int_equal(run("one"), 1);
}

// A copy of this program that runs with another user's rights names no place.
static void a_process_with_borrowed_rights_has_none(void **state)
{
    char path[MOST_PATH], command[3 * MOST_PATH], answer[MOST_PATH] = "";
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can give another user's rights to a file");
    path_of(path, "borrowed");
    snprintf(command, sizeof(command), "cp '%s' '%s' && chown 65534 '%s'", program, path, path);
    assert_int_equal(system(command), 0);
    for (int borrowed = 0; borrowed < 2; borrowed++) {
        assert_int_equal(chmod(path, borrowed ? 04755 : 0755), 0);
        snprintf(command, sizeof(command), "'%s' cuda place", path);
        FILE *output = popen(command, "r");
        assert_non_null(output);
        bool told = fgets(answer, sizeof(answer), output) != NULL;
        pclose(output);
        if (!told)
            skip_because("the program does not run from the folder of this test");
        assert_true(borrowed == (strcmp(answer, "none\n") == 0));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
    program = "/proc/self/exe";
    backend = argc > 1 ? argv[1] : "cuda";
    if (argc > 2)
        return run_as_child(argv[2]);
    static char path[MOST_PATH];
    ssize_t length = readlink(program, path, sizeof(path) - 1);
    program = length > 0 ? path : argv[0];
    const struct CMUnitTest tests[] = {
        CASE(a_second_process_compiles_nothing),
        CASE(what_cannot_be_known_is_not_kept),
        CASE(many_processes_share_a_folder),
        CASE(damaged_files_are_noticed),
        CASE(another_keys_file_is_not_taken),
        CASE(what_cannot_be_written_whole_is_not_kept),
        CASE(a_full_disk_does_no_harm),
        CASE(a_folder_may_be_read_only),
        CASE(files_that_others_may_change_are_not_trusted),
        CASE(a_process_without_a_home_compiles),
        CASE(a_process_with_borrowed_rights_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
