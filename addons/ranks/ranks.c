// SPDX-License-Identifier: Apache-2.0
// Joining the other ranks, leaving them, and communicators.
#include "ranks/ranks.h"
#include "base/sized.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/host_memory.h"
#include "base/library.h"

// ---- finding the library that is the engine over MPI ----

#define LIBRARY "libbraid_mpi.so"

// Parts of MPI's own libraries look for its symbols in the whole process.
enum { FLAGS = RTLD_NOW | RTLD_GLOBAL };

// The loader's name of the shared library that contains Braid, "" if the program itself contains
// it. dladdr alone would tell argv[0] for a program, and the caller of a program chooses that.
static const char *find_own_path(void)
{
    Dl_info here;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)(uintptr_t)&braid_rank_library_open, &here, (void **)&map,
                 RTLD_DL_LINKMAP))
        return "";
    return map && map->l_name ? map->l_name : "";
}

// If the loader's name is relative, the program may have left the folder that it is relative to.
static void *open_beside(char *tried, size_t size)
{
    char path[512];
    const char *own = find_own_path(), *slash = strrchr(own, '/');
    int length = own[0] == '/' ? (int)(slash - own) + 1 : 0;
    if (!length || length > 400)
        return NULL;
    snprintf(path, sizeof(path), "%.*s" LIBRARY, length, own);
    return braid_library_open(path, FLAGS, tried, size);
}

static const struct rank_engine *find_engine(void *library)
{
    void *symbol = dlsym(library, RANK_ENGINE_SYMBOL);
    rank_engine_function *function;
    _Static_assert(sizeof(function) == sizeof(symbol), "POSIX: dlsym finds functions, too");
    memcpy(&function, &symbol, sizeof(function));
    const struct rank_engine *engine = symbol ? function() : NULL;
    return engine && engine->abi == RANK_ENGINE_ABI ? engine : NULL;
}

braid_status braid_rank_library_open(void **out_library, const struct rank_engine **out_engine)
{
    const char *given = secure_getenv("BRAID_MPI");
    char tried[600] = "";
    void *library = NULL;
    if (given && *given) {
        library = braid_library_open(given, FLAGS, tried, sizeof(tried));
    } else {
        library = open_beside(tried, sizeof(tried));
        if (!library)
            library = braid_library_open(LIBRARY, FLAGS, tried, sizeof(tried));
    }
    if (!library)
        return braid_error(BRAID_UNAVAILABLE, "mpi: %s", tried);
    const struct rank_engine *engine = find_engine(library);
    if (!engine) {
        dlclose(library);
        return braid_error(BRAID_UNAVAILABLE, "mpi: the library has no %s of version %d",
                           RANK_ENGINE_SYMBOL, RANK_ENGINE_ABI);
    }
    *out_library = library;
    *out_engine = engine;
    return BRAID_OK;
}

// ---- ranks ----

#define DEFAULT_TIMEOUT_NS 60000000000
#define MOST_TIMEOUT_NS (UINT64_MAX / 2)

static _Atomic uint32_t opener; // the number of the process that has ranks, as MPI is its; 0: none
static braid_ranks *_Atomic left_to_mpi; // closed after a failure; a leak checker finds them here

static bool make_barrier(braid_ranks *ranks)
{
    bool ended = false;
    const struct rank_transfer barrier = { .operation = RANK_OPERATION_BARRIER };
    return braid_rank_begin(ranks, &barrier, &ended) && braid_rank_progress_until(ranks, &ended);
}

static void open_engine(braid_ranks *ranks, struct rank_call *call)
{
    char why[RANK_WHY_BYTES];
    if (!ranks->engine->open(&ranks->rank, &ranks->num, why, sizeof(why))) {
        call->status = BRAID_DEVICE_ERROR;
        snprintf(call->message, sizeof(call->message), "mpi: %s", why);
        return;
    }
    ranks->answers = braid_allocate_zeroed(ranks->num, sizeof(*ranks->answers));
    ranks->told = braid_allocate_zeroed((size_t)ranks->num * RANK_NEWS_KINDS, sizeof(*ranks->told));
    if (!ranks->answers || !ranks->told) {
        call->status = BRAID_NO_MEMORY;
        snprintf(call->message, sizeof(call->message), "out of host memory for ranks");
        return;
    }
    (void)braid_rank_news_listen(ranks);
}

// Everybody has come, so nothing is said between ranks any more.
static void leave(braid_ranks *ranks, struct rank_call *call)
{
    (void)call;
    if (!make_barrier(ranks))
        return;
    ranks->engine->cancel(ranks->news_request);
    ranks->engine->close(true);
}

static braid_status start_thread(braid_ranks *ranks)
{
    int error = braid_own_thread_start(&ranks->thread, "braid-ranks", braid_rank_thread, ranks);
    if (error)
        return braid_error(BRAID_NO_MEMORY, "ranks: no thread for communication: %s",
                           strerror(error));
    return BRAID_OK;
}

static void stop_thread(braid_ranks *ranks)
{
    rank_lock(ranks);
    ranks->stop = true;
    pthread_cond_signal(&ranks->changed);
    rank_unlock(ranks);
    braid_own_thread_join(&ranks->thread);
}

// Naps end by the clock that the thread's times are of.
static void init_conditions(braid_ranks *ranks)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ranks->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&ranks->done, NULL);
}

// The library stays loaded: MPI's own threads and handlers may still be there. After a failure MPI
// may still receive news into the ranks, and send some.
static void free_ranks(braid_ranks *ranks)
{
    while (ranks->communicators) {
        braid_communicator *communicator = ranks->communicators;
        braid_rank_link_close(communicator->link);
        ranks->communicators = communicator->next;
        braid_free(communicator->members);
        braid_free(communicator);
    }
    pthread_mutex_destroy(&ranks->lock);
    pthread_cond_destroy(&ranks->changed);
    pthread_cond_destroy(&ranks->done);
    braid_free(ranks->waiting);
    braid_free(ranks->answers);
    if (ranks->failed) {
        ranks->next_left = atomic_exchange(&left_to_mpi, ranks);
        return;
    }
    braid_free(ranks->told);
    braid_free(ranks);
}

static braid_status start(braid_ranks *ranks)
{
    struct rank_call call = { .make = open_engine, .what = "braid_ranks_open" };
    braid_status status = braid_rank_library_open(&ranks->library, &ranks->engine);
    if (!status)
        status = start_thread(ranks);
    if (status)
        return status;
    status = braid_rank_call(ranks, &call);
    if (status)
        stop_thread(ranks);
    return status;
}

static braid_status check_options(const braid_ranks_options *options, braid_ranks **out_ranks)
{
    if (!out_ranks)
        return braid_error_null("braid_ranks_open", "out_ranks");
    if (options && options->timeout_ns > MOST_TIMEOUT_NS)
        return braid_error_invalid("braid_ranks_open: a timeout of %llu ns",
                                   (unsigned long long)options->timeout_ns);
    return BRAID_OK;
}

static braid_status ranks_open(const braid_ranks_options *options, braid_ranks **out_ranks)
{
    braid_status status = check_options(options, out_ranks);
    if (!status)
        status = braid_process_watch();
    if (status)
        return status;
    uint32_t had = 0;
    if (!atomic_compare_exchange_strong(&opener, &had, braid_process_number()))
        return braid_error(BRAID_WRONG_STATE, "braid_ranks_open: ranks %s",
                           had == braid_process_number()
                               ? "are open in this process"
                               : "were opened before a fork, by another process");
    braid_ranks *ranks = braid_allocate_pages(sizeof(*ranks));
    if (!ranks) {
        atomic_store(&opener, 0);
        return braid_error_no_memory("ranks");
    }
    ranks->timeout_ns = options && options->timeout_ns ? options->timeout_ns : DEFAULT_TIMEOUT_NS;
    ranks->process = braid_process_number();
    pthread_mutex_init(&ranks->lock, NULL);
    init_conditions(ranks);
    status = start(ranks);
    if (status) {
        free_ranks(ranks);
        atomic_store(&opener, 0);
        return status;
    }
    *out_ranks = ranks;
    return BRAID_OK;
}

braid_status braid_ranks_open_sized(const braid_ranks_options *options, braid_ranks **out_ranks,
                                    size_t size)
{
    braid_ranks_options own;
    braid_status status =
        braid_sized_take("braid_ranks_open: options", options, size, &own, sizeof(own));
    return status ? status : ranks_open(&own, out_ranks);
}

static braid_status check_unused(braid_ranks *ranks)
{
    const char *name = NULL;
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it && !name; it = it->next)
        name = it->num_users ? it->name : NULL;
    rank_unlock(ranks);
    if (!name)
        return BRAID_OK;
    return braid_error(BRAID_IN_USE, "braid_ranks_close: graphs or execs have communicator '%s'",
                       name);
}

braid_status braid_ranks_close(braid_ranks *ranks)
{
    struct rank_call call = { .make = leave, .what = "braid_ranks_close" };
    if (!ranks || !ranks_are_here(ranks))
        return BRAID_OK;
    braid_status status = check_unused(ranks);
    if (status)
        return status;
    status = braid_rank_call(ranks, &call);
    stop_thread(ranks);
    free_ranks(ranks);
    atomic_store(&opener, 0);
    return status;
}

void braid_ranks_get_info_sized(const braid_ranks *ranks, braid_ranks_info *out_info, size_t size)
{
    braid_ranks_info info = { 0 };
    if (ranks)
        info = (braid_ranks_info){ ranks->rank, ranks->num };
    braid_sized_give(&info, sizeof(info), out_info, size);
}

braid_status braid_ranks_check(braid_ranks *ranks)
{
    if (!ranks)
        return braid_error_null("braid_ranks_check", "ranks");
    if (!ranks_are_here(ranks))
        return braid_error(BRAID_WRONG_STATE,
                           "braid_ranks_check: the ranks were opened before a fork");
    rank_lock(ranks);
    bool failed = ranks->failed;
    rank_unlock(ranks);
    return failed ? braid_error(BRAID_DEVICE_ERROR, "ranks: %s", ranks->why) : BRAID_OK;
}

struct split {
    uint32_t color;
    braid_communicator *communicator;
};

static void find_members(braid_ranks *ranks, braid_communicator *communicator)
{
    for (uint32_t i = 0; i < communicator->num; i++)
        communicator->members[i] = ranks->engine->find_member(communicator->engine, i);
}

// Behind a barrier, since splitting itself cannot be given up.
static void make_split(braid_ranks *ranks, struct rank_call *call)
{
    struct split *split = call->arguments;
    braid_communicator *communicator = split->communicator;
    char why[RANK_WHY_BYTES];
    if (!make_barrier(ranks))
        return;
    if (!ranks->engine->split(split->color, &communicator->engine, &communicator->rank,
                              &communicator->num, why, sizeof(why))) {
        braid_rank_fail(ranks, why, true);
        return;
    }
    communicator->number = ranks->num_communicators++;
    find_members(ranks, communicator);
    rank_lock(ranks);
    if (ranks->tail)
        ranks->tail->next = communicator;
    else
        ranks->communicators = communicator;
    ranks->tail = communicator;
    rank_unlock(ranks);
}

braid_status braid_communicator_create(braid_ranks *ranks, const char *name, uint32_t color,
                                       braid_communicator **out_communicator)
{
    if (!ranks || !name || !out_communicator)
        return braid_error_null("braid_communicator_create", !ranks  ? "ranks"
                                                             : !name ? "name"
                                                                     : "out_communicator");
    if (!*name || color > INT32_MAX)
        return braid_error_invalid("braid_communicator_create: %s",
                                   *name ? "a color over 2^31 - 1" : "a communicator needs a name");
    braid_communicator *communicator = braid_allocate_zeroed(1, sizeof(*communicator));
    uint32_t *members = braid_allocate_zeroed(ranks->num, sizeof(*members));
    if (!communicator || !members) {
        braid_free(communicator);
        braid_free(members);
        return braid_error_no_memory("a communicator");
    }
    communicator->ranks = ranks;
    communicator->members = members;
    snprintf(communicator->name, sizeof(communicator->name), "%s", name);
    struct split split = { color, communicator };
    struct rank_call call = { .make = make_split,
                              .what = "braid_communicator_create",
                              .arguments = &split };
    braid_status status = braid_rank_call(ranks, &call);
    if (status) {
        braid_free(members);
        braid_free(communicator);
        return status;
    }
    *out_communicator = communicator;
    return BRAID_OK;
}

void braid_communicator_get_info_sized(const braid_communicator *communicator,
                                       braid_ranks_info *out_info, size_t size)
{
    braid_ranks_info info = { 0 };
    if (communicator)
        info = (braid_ranks_info){ communicator->rank, communicator->num };
    braid_sized_give(&info, sizeof(info), out_info, size);
}

void braid_communicator_retain(braid_communicator *communicator)
{
    if (!ranks_are_here(communicator->ranks))
        return;
    rank_lock(communicator->ranks);
    communicator->num_users++;
    rank_unlock(communicator->ranks);
}

void braid_communicator_release(braid_communicator *communicator)
{
    if (!ranks_are_here(communicator->ranks))
        return;
    rank_lock(communicator->ranks);
    communicator->num_users--;
    rank_unlock(communicator->ranks);
}
