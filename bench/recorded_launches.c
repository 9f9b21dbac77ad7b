// SPDX-License-Identifier: Apache-2.0
// The time of a launch through the recorder, over that of one without.
//
//     bench_recorded_launches [--launches N] [--rounds N]
//
// Each way is a process of its own, which is started once. In a round each process launches by
// turns and waits for the device. A ratio is the median over the rounds. The driver is the
// libcuda.so.1 that the loader finds, so the stand-in or that of a GPU.
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROUNDS = 1000, NUM_WAYS = 5, PATH_BYTES = 4096 };

static const char text[] = ".version 7.8\n.target sm_70\n.address_size 64\n"
                           ".visible .entry few(.param .u64 a, .param .u32 b, .param .u64 c)\n"
                           "{\nret;\n}\n"
                           ".visible .entry many(.param .u64 a, .param .u64 b, .param .u64 c,\n"
                           ".param .u32 d, .param .u32 e, .param .u32 f, .param .f32 g,\n"
                           ".param .u64 h, .param .align 8 .b8 i[64], .param .u32 j)\n"
                           "{\nret;\n}\n";

// ---- one process ----

typedef int any_call(uint64_t, uint64_t, uint64_t);
typedef int launch_call(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);

static void *driver;

static void *find(const char *name)
{
    void *found = driver ? dlsym(driver, name) : NULL;
    if (found)
        return found;
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
}

static void call(const char *name, uint64_t a, uint64_t b, uint64_t c)
{
    const int answer = ((any_call *)(uintptr_t)find(name))(a, b, c);
    if (answer == 0)
        return;
    fprintf(stderr, "%s returns %d\n", name, answer);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define AT(value) ((uint64_t)(uintptr_t)(value))

// For each byte that it reads, it launches so many kernels, and writes how long that took.
static int serve(const char *way, int num)
{
    void *context = NULL, *module = NULL, *kernels[2] = { NULL };
    uint64_t words[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    void *arguments[] = { words, words, words, words, words, words, words, words, words, words };
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    call("cuInit", 0, 0, 0);
    call("cuDevicePrimaryCtxRetain", AT(&context), 0, 0);
    call("cuCtxSetCurrent", AT(context), 0, 0);
    call("cuModuleLoadData", AT(&module), AT(text), 0);
    call("cuModuleGetFunction", AT(&kernels[0]), AT(module), AT("few"));
    call("cuModuleGetFunction", AT(&kernels[1]), AT(module), AT("many"));
    launch_call *launch = (launch_call *)(uintptr_t)find("cuLaunchKernel");
    if (strcmp(way, "recording") == 0)
        ((any_call *)(uintptr_t)find("braid_recorder_mark"))(0, 0, 0);
    for (char byte; read(0, &byte, 1) == 1;) {
        const double start = now();
        for (int i = 0; i < num; i++)
            if (launch(kernels[i & 1], 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) != 0)
                return 1;
        const double seconds = (now() - start) / num;
        call("cuCtxSynchronize", 0, 0, 0);
        if (write(1, &seconds, sizeof(seconds)) != sizeof(seconds))
            return 1;
    }
    _exit(0); // no record is written
}

// ---- all processes ----

struct way {
    const char *name, *what, *by;
    pid_t process;
    int to, from;
    double seconds[MOST_ROUNDS];
};

static struct way ways[NUM_WAYS] = {
    { .name = "alone", .what = "without the recorder" },
    { .name = "off", .what = "with the recorder, which records nothing", .by = "off" },
    { .name = "between", .what = "outside of marked frames", .by = "marks" },
    { .name = "recording", .what = "in a marked frame", .by = "marks" },
    { .name = "searching", .what = "without marks", .by = "launches" },
};

static const char *find_driver(void)
{
    struct link_map *map = NULL;
    void *found = dlopen("libcuda.so.1", RTLD_LAZY);
    return found && dlinfo(found, RTLD_DI_LINKMAP, (void *)&map) == 0 && map ? map->l_name : NULL;
}

static void set_environment(const struct way *way, const char *folder)
{
    char path[2 * PATH_BYTES];
    const char *before = getenv("LD_LIBRARY_PATH");
    if (!way->by)
        return;
    snprintf(path, sizeof(path), "%s:%s", folder, before ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("BRAID_RECORD_REAL", find_driver(), 1);
    setenv("BRAID_RECORD_BY", way->by, 1);
    setenv("BRAID_RECORD_FROM", "0", 1);
    if (strcmp(way->by, "off") != 0)
        setenv("BRAID_RECORD_FILE", "/dev/null/no-record", 1); // it is never written
}

static void start(struct way *way, char **program, const char *folder)
{
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        exit(1);
    way->process = fork();
    if (way->process == 0) {
        set_environment(way, folder);
        dup2(to[0], 0);
        dup2(from[1], 1);
        for (int i = 0; i < 2; i++) {
            close(to[i]);
            close(from[i]);
        }
        execv("/proc/self/exe", program);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    way->to = to[1];
    way->from = from[0];
}

static int compare(const void *first, const void *second)
{
    const double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static double median(double *values, int num)
{
    qsort(values, (size_t)num, sizeof(*values), compare);
    return values[num / 2];
}

static void print_rows(int rounds)
{
    double ratios[MOST_ROUNDS], seconds[MOST_ROUNDS];
    printf("%-42s %10s %8s\n", "a launch", "ns", "ratio");
    for (int i = 0; i < NUM_WAYS; i++) {
        for (int r = 0; r < rounds; r++) {
            seconds[r] = ways[i].seconds[r];
            ratios[r] = seconds[r] / ways[0].seconds[r];
        }
        printf("%-42s %10.1f %8.3f\n", ways[i].what, 1e9 * median(seconds, rounds),
               median(ratios, rounds));
    }
}

static int number_of(int argc, char **argv, const char *name, int otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return atoi(argv[i + 1]);
    return otherwise;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/braid-launches-XXXXXX", path[PATH_BYTES], launches[32];
    const int num = number_of(argc, argv, "--launches", 1000);
    const int asked = number_of(argc, argv, "--rounds", 51);
    const int rounds = asked < MOST_ROUNDS ? asked : MOST_ROUNDS;
    if (argc > 2 && strcmp(argv[1], "--serve") == 0)
        return serve(argv[2], num);
    if (!find_driver()) {
        puts("skipped: there is no CUDA driver");
        return 0;
    }
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
    snprintf(launches, sizeof(launches), "%d", num);
    if (symlink(BRAID_RECORDER, path) != 0)
        return 1;
    for (int i = 0; i < NUM_WAYS; i++) {
        char *program[] = { argv[0], "--serve", NULL, "--launches", launches, NULL };
        program[2] = (char *)(uintptr_t)ways[i].name;
        start(&ways[i], program, folder);
    }
    int failed = 0;
    for (int r = -2; r < rounds && !failed; r++) // two to warm up
        for (int i = 0; i < NUM_WAYS && !failed; i++) {
            double seconds = 0;
            failed = write(ways[i].to, "g", 1) != 1 ||
                     read(ways[i].from, &seconds, sizeof(seconds)) != sizeof(seconds);
            if (r >= 0)
                ways[i].seconds[r] = seconds;
        }
    for (int i = 0; i < NUM_WAYS; i++) {
        kill(ways[i].process, 9);
        waitpid(ways[i].process, NULL, 0);
    }
    unlink(path);
    rmdir(folder);
    if (!failed)
        print_rows(rounds);
    return failed;
}
