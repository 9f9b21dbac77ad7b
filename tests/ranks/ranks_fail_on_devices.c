// SPDX-License-Identifier: Apache-2.0
// Ranks on devices of which one is lost: the waits of the others end with an error that says who
// and what was pending, and all can be destroyed. The last argument says how it is lost:
//   dies      rank 0 is killed when the others have launched
//   vanishes  rank 0 is killed in its first call that queues an operation, while all create execs
//   refuses   rank 1 cannot make its exec, for which no rank waits in the engine
//   stays     rank 0 never launches its frame, though it answers
//   connects  the engine fails to connect rank 1
//   notices   the engine notices an error by itself
// Or, of one rank over the stand-in driver:
//   fails     any call of the driver fails once while its communicator is connected, and then one
//             of the engine
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/counted_memory.h"

// Long enough for ranks that are there to come on a busy machine.
#define TIMEOUT_NS 6000000000

#define CHECK(call) check_at((call), #call)

static void check_at(braid_status status, const char *call)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s\n", call, braid_error_get_message());
    exit(EXIT_FAILURE);
}

static void expect(braid_status status, const char *text)
{
    if (status == BRAID_DEVICE_ERROR && strstr(braid_error_get_message(), text))
        return;
    fprintf(stderr, "status %d, and '%s' is not in the message: %s\n", (int)status, text,
            braid_error_get_message());
    exit(EXIT_FAILURE);
}

struct job {
    braid_ranks *ranks;
    braid_device *device;
    braid_communicator *world;
    braid_graph *graph;
    braid_exec *exec;
    void *memory;
};

static braid_graph *make_graph(const struct job *job)
{
    braid_graph *graph;
    braid_resource resource;
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_communicator(graph, job->world, &resource));
    CHECK(braid_graph_add_communication(graph,
                                        &(braid_communication){ .node.name = "sum",
                                                                .operation = BRAID_RANK_ALL_REDUCE,
                                                                .communicator = resource,
                                                                .from = job->memory,
                                                                .to = job->memory,
                                                                .count = 8,
                                                                .element = BRAID_ELEMENT_DOUBLE },
                                        NULL));
    return graph;
}

static uint32_t rank_of(const braid_ranks *ranks)
{
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    return info.rank;
}

static void open_job(struct job *job)
{
    const braid_ranks_options options = { .timeout_ns = TIMEOUT_NS };
    const char *devices = getenv("BRAID_TEST_DEVICES");
    CHECK(braid_ranks_open(&options, &job->ranks));
    CHECK(braid_communicator_create(job->ranks, "world", 0, &job->world));
    const braid_device_options device = {
        .backend = "cuda",
        .allocator = &counted_memory,
        .ordinal = rank_of(job->ranks) % (devices ? (uint32_t)atoi(devices) : 1),
    };
    CHECK(braid_device_open(&device, &job->device));
    CHECK(braid_memory_allocate(job->device, BRAID_MEMORY_DEVICE, 64, &job->memory));
    job->graph = make_graph(job);
}

static void close_job(struct job *job)
{
    braid_exec_destroy(job->exec);
    braid_graph_destroy(job->graph);
    braid_memory_free(job->device, job->memory);
    (void)braid_ranks_close(job->ranks);
    CHECK(braid_device_close(job->device));
    if (atomic_load(&num_counted) != 0) {
        fprintf(stderr, "%ld blocks of the device are left\n", atomic_load(&num_counted));
        exit(1);
    }
}

static void lose_launch(struct job *job, bool dies)
{
    if (rank_of(job->ranks) == 0 && dies) {
        raise(SIGKILL);
    } else if (rank_of(job->ranks) == 0) {
        while (!braid_ranks_check(job->ranks))
            usleep(20000);
        expect(braid_ranks_check(job->ranks), "gave up");
        return;
    }
    braid_status status = braid_exec_launch(job->exec, NULL);
    if (!status)
        status = braid_exec_wait(job->exec);
    expect(status, dies ? "rank 0 does not answer" : "rank 0 answers");
    expect(status, "all-reduce 'sum' of 8 elements");
    expect(braid_exec_launch(job->exec, NULL), "rank 0");
}

static void lose_connection(struct job *job, const braid_exec_options *options)
{
    bool own = rank_of(job->ranks) == 1;
    if (own)
        setenv("BRAID_STANDIN_NCCL_FAIL", "ncclCommInitRank:1=2", 1);
    expect(braid_exec_create(job->device, job->graph, options, &job->exec),
           "is not connected on rank 1: nccl: ncclCommInitRank: unhandled system error");
    job->exec = NULL;
}

static void expect_refusal(const struct job *job, braid_status status, braid_status expected)
{
    if (status == expected &&
        (rank_of(job->ranks) == 1 || strstr(braid_error_get_message(), "rank 1 made no exec")))
        return;
    fprintf(stderr, "status %d: %s\n", (int)status, braid_error_get_message());
    exit(EXIT_FAILURE);
}

// All ranks hear at once of wrong options, and of a frame that does not fit into any memory, and
// they can go on.
static void refuse(struct job *job, const braid_exec_options *options)
{
    braid_graph *large = make_graph(job);
    braid_resource resource;
    CHECK(braid_graph_add_transient(large, "large", UINT64_C(1) << 48, 0, &resource));
    CHECK(braid_graph_add_fill(
        large,
        &(braid_fill){ .node.name = "clear",
                       .node.accesses = &(braid_access){ resource, BRAID_WRITE },
                       .node.num_accesses = 1,
                       .to_resource = resource,
                       .value_bytes = 4,
                       .num_values = 1 },
        NULL));
    bool own = rank_of(job->ranks) == 1;
    const braid_exec_options wrong = { .mode = (braid_exec_mode)99 };
    expect_refusal(job,
                   braid_exec_create(job->device, job->graph, own ? &wrong : options, &job->exec),
                   BRAID_INVALID_ARGUMENT);
    expect_refusal(job,
                   braid_exec_create(job->device, own ? large : job->graph, options, &job->exec),
                   BRAID_NO_MEMORY);
    CHECK(braid_exec_create(job->device, job->graph, options, &job->exec));
    CHECK(braid_exec_launch(job->exec, NULL));
    CHECK(braid_exec_wait(job->exec));
    braid_graph_destroy(large);
}

// On a GPU another library stands before the engine's, in which that call ends the process.
static void vanish(struct job *job, const braid_exec_options *options)
{
    const char *deadly = getenv("BRAID_TEST_DEADLY_NCCL");
    if (rank_of(job->ranks) == 0 && deadly)
        setenv("BRAID_NCCL", deadly, 1);
    else if (rank_of(job->ranks) == 0)
        setenv("BRAID_STANDIN_NCCL_FAIL", "ncclAllReduce:1=-9", 1);
    expect(braid_exec_create(job->device, job->graph, options, &job->exec),
           "rank 0 does not answer");
    job->exec = NULL;
    expect(braid_exec_create(job->device, job->graph, options, &job->exec),
           "rank 0 does not answer");
    job->exec = NULL;
}

// All ranks hear of an error that the engine notices, in flight or not.
static void notice(struct job *job)
{
    bool own = rank_of(job->ranks) == 1;
    if (own)
        setenv("BRAID_STANDIN_NCCL_FAIL", "ncclCommGetAsyncError:1=6", 1);
    if (rank_of(job->ranks) > 0 && braid_exec_launch(job->exec, NULL))
        expect(BRAID_DEVICE_ERROR, "remote process exited");
    while (!braid_ranks_check(job->ranks))
        usleep(20000);
    expect(braid_exec_wait(job->exec), "remote process exited");
}

// Functions of the stand-in driver.
struct stand_in {
    bool (*configure)(const char *name, const char *value);
    long (*count_calls)(const char *function);
};

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "not over the stand-in driver: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return found;
}

static struct stand_in find_stand_in(void)
{
    struct stand_in found;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *functions[] = { find(driver, "standin_configure"), find(driver, "standin_calls") };
    memcpy(&found.configure, &functions[0], sizeof(functions[0]));
    memcpy(&found.count_calls, &functions[1], sizeof(functions[1]));
    return found;
}

static char logged[4096];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

// What destroys is told of in the log alone. The device may be made current a second time.
static bool was_told(const char *function, braid_status status)
{
    const char *returned = status ? braid_error_get_message() : "";
    if (strncmp(function, "cuCtx", 5) == 0)
        return !status || strstr(returned, "when the device was made current");
    return strstr(returned, function) || (strstr(function, "Destroy") && strstr(logged, function));
}

// False when there is no such call any more.
static bool fail_nth(const struct stand_in *driver, const char *function, long nth,
                     const braid_exec_options *options)
{
    struct job job = { 0 };
    char rule[96];
    open_job(&job);
    logged[0] = '\0';
    long before = driver->count_calls(function);
    snprintf(rule, sizeof(rule), "%s:%ld=999", function, nth);
    driver->configure("BRAID_STANDIN_FAIL", rule);
    braid_status status = braid_exec_create(job.device, job.graph, options, &job.exec);
    driver->configure("BRAID_STANDIN_FAIL", NULL);
    bool failed = driver->count_calls(function) - before >= nth;
    if (failed ? !was_told(function, status) : status != BRAID_OK) {
        fprintf(stderr, "%s: returned '%s', logged '%s'\n", rule, braid_error_get_message(),
                logged);
        exit(EXIT_FAILURE);
    }
    if (status)
        job.exec = NULL;
    close_job(&job);
    return failed;
}

static void fail_calls(const braid_exec_options *options)
{
    static const char *const functions[] = {
        "cuCtxGetCurrent",      "cuCtxSetCurrent",    "cuStreamCreateWithPriority",
        "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphDestroy",
        "cuStreamDestroy",
    };
    const struct stand_in driver = find_stand_in();
    braid_log_set(take_log, NULL);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        long nth = 1;
        while (fail_nth(&driver, functions[i], nth, options))
            nth++;
        if (nth == 1) {
            fprintf(stderr, "%s is not called\n", functions[i]);
            exit(EXIT_FAILURE);
        }
    }
    braid_log_set(NULL, NULL);
    printf("all was told\n");
}

// The call of the engine that a launch makes, or that is captured. The exec has made one before.
static void fail_engine(const braid_exec_options *options)
{
    struct job job = { 0 };
    open_job(&job);
    setenv("BRAID_STANDIN_NCCL_FAIL", "ncclAllReduce:2=2", 1);
    braid_status status = braid_exec_create(job.device, job.graph, options, &job.exec);
    if (status)
        job.exec = NULL;
    else
        status = braid_exec_launch(job.exec, NULL);
    expect(status, "unhandled system error");
    unsetenv("BRAID_STANDIN_NCCL_FAIL");
    close_job(&job);
}

// Memory that MPI may still use after a failure stays.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:open_engine\n";
}

int main(int argc, char **argv)
{
    struct job job = { 0 };
    const char *how = argc > 1 ? argv[1] : "dies", *mode = getenv("BRAID_TEST_MODE");
    const braid_exec_options options = { .mode = mode && strcmp(mode, "graph") == 0
                                                     ? BRAID_MODE_GRAPH
                                                     : BRAID_MODE_STREAMS };
    if (strcmp(how, "fails") == 0) {
        fail_calls(&options);
        fail_engine(&options);
        return EXIT_SUCCESS;
    }
    open_job(&job);
    if (strcmp(how, "connects") == 0) {
        lose_connection(&job, &options);
    } else if (strcmp(how, "vanishes") == 0) {
        vanish(&job, &options);
    } else if (strcmp(how, "refuses") == 0) {
        refuse(&job, &options);
    } else {
        bool notices = strcmp(how, "notices") == 0;
        braid_status status = braid_exec_create(job.device, job.graph, &options, &job.exec);
        if (notices && status && rank_of(job.ranks) != 1)
            expect(status, "remote process exited"); // rank 1 was done with it already
        else
            check_at(status, "braid_exec_create");
        if (notices && !status)
            notice(&job);
        else if (notices)
            job.exec = NULL;
        else
            lose_launch(&job, strcmp(how, "dies") == 0);
    }
    close_job(&job);
    printf("a rank was told\n");
    fflush(NULL);
    _exit(EXIT_SUCCESS); // what was aborted may still be there
}
