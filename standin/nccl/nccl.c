// SPDX-License-Identifier: Apache-2.0
// A stand-in for NCCL over the stand-in driver: ranks are processes of one machine that share
// memory, and what a stream is given is a host function that moves bytes and waits for the others.
//
// It is strict: operations of one communicator that are at work at once, and two ends that do not
// belong together, end the process with a line that says so.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "standin/nccl/nccl_abi.h"
#include "standin/nccl/nccl_faults.h"

enum { MOST_RANKS = 8, CHUNK = 16384, VERSION = 22809 };
enum { WRONG = 97 }; // exit status

// What is on its way from one rank to another.
struct mailbox {
    _Atomic uint32_t full;
    uint32_t kind;
    uint64_t total, bytes;
    char data[CHUNK];
};

struct shared {
    _Atomic uint32_t arrived, connected;
    struct mailbox boxes[MOST_RANKS][MOST_RANKS]; // from, to
};

struct ncclComm {
    struct shared *shared;
    int rank, num;
    atomic_bool aborted, at_work;
    bool is_connected;
    _Atomic int error;       // asynchronous
    struct launch *launches; // all captures' and streams', freed with it
    pthread_mutex_t lock;
};

enum kind { SEND = 1, RECEIVE, BROADCAST, ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER };

struct operation {
    enum kind kind;
    const char *from;
    char *to;
    size_t count;
    int type, reduction, peer;
};

// What a stream is given at once.
struct launch {
    ncclComm_t comm;
    CUstream stream;
    struct operation *operations;
    int num;
    struct launch *next;
};

// One direction of an operation with one peer.
struct part {
    enum kind kind;
    bool sends;
    int peer;
    char *bytes;
    size_t total, done;
    bool ended;
};

static _Thread_local int depth;
static _Thread_local struct launch groups[MOST_RANKS]; // one a communicator
static _Thread_local int num_groups;
static _Thread_local int group_error; // a call in it failed so: then nothing of it is queued

// For calls that may stand in a group.
#define OPERATION_FAULT(function)                                                                  \
    do {                                                                                           \
        int fault = standin_nccl_fault(function);                                                  \
        group_error = depth && fault ? fault : group_error;                                        \
        if (fault)                                                                                 \
            return (ncclResult_t)fault;                                                            \
    } while (0)

static size_t type_bytes(int type)
{
    static const size_t bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8 };
    return bytes[type];
}

static void refuse(const struct ncclComm *comm, const char *why)
{
    fprintf(stderr, "stand-in nccl, rank %d: %s\n", comm->rank, why);
    _exit(WRONG);
}

static bool send_chunk(const struct ncclComm *comm, struct part *part)
{
    struct mailbox *box = &comm->shared->boxes[comm->rank][part->peer];
    if (atomic_load(&box->full))
        return false;
    size_t rest = part->total - part->done;
    box->kind = part->kind;
    box->total = part->total;
    box->bytes = rest < CHUNK ? rest : CHUNK;
    memcpy(box->data, part->bytes + part->done, box->bytes);
    part->done += box->bytes;
    atomic_store(&box->full, 1);
    return true;
}

static bool take_chunk(const struct ncclComm *comm, struct part *part)
{
    struct mailbox *box = &comm->shared->boxes[part->peer][comm->rank];
    if (!atomic_load(&box->full))
        return false;
    enum kind wanted = part->kind == RECEIVE ? SEND : part->kind;
    if (box->kind != (uint32_t)wanted || box->total != part->total)
        refuse(comm, "two ends do not belong together");
    memcpy(part->bytes + part->done, box->data, box->bytes);
    part->done += box->bytes;
    atomic_store(&box->full, 0);
    return true;
}

// A part waits for those before it with the same peer and direction.
static bool is_first(const struct part *parts, int index)
{
    for (int i = 0; i < index; i++) {
        if (!parts[i].ended && parts[i].peer == parts[index].peer &&
            parts[i].sends == parts[index].sends)
            return false;
    }
    return true;
}

static void move_all(const struct ncclComm *comm, struct part *parts, int num)
{
    for (int left = num; left && !atomic_load(&comm->aborted);) {
        bool moved = false;
        for (int i = 0; i < num; i++) {
            struct part *part = &parts[i];
            if (part->ended || !is_first(parts, i))
                continue;
            bool did = part->sends ? send_chunk(comm, part) : take_chunk(comm, part);
            part->ended = did && part->done == part->total;
            left -= part->ended;
            moved |= did;
        }
        if (!moved)
            usleep(20);
    }
}

#define REDUCE(type)                                                                               \
    for (size_t i = 0; i < operation->count; i++) {                                                \
        type a, b;                                                                                 \
        memcpy(&a, to + i * sizeof(a), sizeof(a));                                                 \
        memcpy(&b, from + i * sizeof(b), sizeof(b));                                               \
        a = operation->reduction == 0   ? (type)(a + b)                                            \
            : operation->reduction == 1 ? (type)(a * b)                                            \
            : operation->reduction == 2 ? (a > b ? a : b)                                          \
                                        : (a < b ? a : b);                                         \
        memcpy(to + i * sizeof(a), &a, sizeof(a));                                                 \
    }

static void reduce(const struct operation *operation, char *to, const char *from)
{
    switch (operation->type) {
    case 2:
        REDUCE(int32_t) break;
    case 3:
        REDUCE(uint32_t) break;
    case 4:
        REDUCE(int64_t) break;
    case 5:
        REDUCE(uint64_t) break;
    case 7:
        REDUCE(float) break;
    case 8:
        REDUCE(double) break;
    default:
        REDUCE(uint8_t) break;
    }
}

static struct part *add(struct part *next, const struct operation *operation, bool sends, int peer,
                        const char *bytes, size_t total)
{
    *next =
        (struct part){ operation->kind, sends, peer, (char *)(uintptr_t)bytes, total, 0, false };
    return next + 1;
}

// What every rank gives is received in rooms of its own, rank by rank.
static struct part *add_parts(const struct ncclComm *comm, const struct operation *operation,
                              char *rooms, struct part *next)
{
    size_t bytes = operation->count * type_bytes(operation->type);
    if (operation->kind == SEND)
        return add(next, operation, true, operation->peer, operation->from, bytes);
    if (operation->kind == RECEIVE)
        return add(next, operation, false, operation->peer, operation->to, bytes);
    for (int i = 0; i < comm->num; i++) {
        bool is_root = operation->peer == comm->rank;
        const char *from = operation->from;
        if (i == comm->rank)
            continue;
        if (operation->kind == REDUCE_SCATTER)
            from += (size_t)i * bytes;
        if (operation->kind != BROADCAST || is_root)
            next = add(next, operation, true, i, from, bytes);
        if (operation->kind != BROADCAST || i == operation->peer)
            next = add(next, operation, false, i, rooms + (size_t)i * bytes, bytes);
    }
    return next;
}

static void finish(const struct ncclComm *comm, const struct operation *operation, char *rooms)
{
    size_t bytes = operation->count * type_bytes(operation->type);
    const char *own = operation->from;
    if (operation->kind <= RECEIVE)
        return;
    if (operation->kind == REDUCE_SCATTER)
        own += (size_t)comm->rank * bytes;
    memcpy(rooms + (size_t)comm->rank * bytes, own, bytes);
    if (operation->kind == BROADCAST) {
        memmove(operation->to, rooms + (size_t)operation->peer * bytes, bytes);
    } else if (operation->kind == ALL_GATHER) {
        memcpy(operation->to, rooms, bytes * (size_t)comm->num);
    } else {
        for (int i = 1; i < comm->num; i++)
            reduce(operation, rooms, rooms + (size_t)i * bytes);
        memcpy(operation->to, rooms, bytes);
    }
}

// On the driver's thread.
static void run(void *user)
{
    struct launch *launch = user;
    struct ncclComm *comm = launch->comm;
    if (atomic_load(&comm->aborted))
        return;
    if (atomic_exchange(&comm->at_work, true))
        refuse(comm, "two operations of a communicator are at work at once");
    struct part *parts = calloc((size_t)launch->num * 2 * MOST_RANKS, sizeof(*parts)), *end = parts;
    char **rooms = calloc((size_t)launch->num, sizeof(*rooms));
    for (int i = 0; i < launch->num; i++) {
        const struct operation *operation = &launch->operations[i];
        size_t bytes = operation->count * type_bytes(operation->type) * (size_t)comm->num;
        rooms[i] = calloc(operation->kind > RECEIVE ? bytes : 1, 1);
        end = add_parts(comm, operation, rooms[i], end);
    }
    move_all(comm, parts, (int)(end - parts));
    for (int i = 0; i < launch->num; i++) {
        if (!atomic_load(&comm->aborted))
            finish(comm, &launch->operations[i], rooms[i]);
        free(rooms[i]);
    }
    free(rooms);
    free(parts);
    atomic_store(&comm->at_work, false);
}

static ncclResult_t queue(struct launch *launch)
{
    typedef CUresult launch_function(CUstream, void (*)(void *), void *);
    void *symbol = dlsym(RTLD_DEFAULT, "cuLaunchHostFunc");
    void *library = symbol ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    symbol = library ? dlsym(library, "cuLaunchHostFunc") : symbol;
    launch_function *function;
    memcpy(&function, &symbol, sizeof(function));
    struct launch *kept = malloc(sizeof(*kept));
    if (!function || !kept)
        return ncclSystemError;
    *kept = *launch;
    pthread_mutex_lock(&kept->comm->lock);
    kept->next = kept->comm->launches;
    kept->comm->launches = kept;
    pthread_mutex_unlock(&kept->comm->lock);
    return function(kept->stream, run, kept) ? ncclUnhandledCudaError : ncclSuccess;
}

// As NCCL does, whoever queues the first operation of all ranks waits in that call for the others,
// and an abort does not end that. A thread may have several ranks.
static void connect_ranks(void)
{
    for (int i = 0; i < num_groups; i++) {
        struct ncclComm *comm = groups[i].comm;
        if (groups[i].operations[0].kind > RECEIVE && !comm->is_connected)
            atomic_fetch_add(&comm->shared->connected, 1);
    }
    for (int i = 0; i < num_groups; i++) {
        struct ncclComm *comm = groups[i].comm;
        if (groups[i].operations[0].kind <= RECEIVE)
            continue;
        while (atomic_load(&comm->shared->connected) < (uint32_t)comm->num)
            usleep(100);
        comm->is_connected = true;
    }
}

static ncclResult_t end_group(void)
{
    ncclResult_t result = ncclSuccess;
    connect_ranks();
    for (int i = 0; i < num_groups && !result; i++)
        result = queue(&groups[i]);
    num_groups = 0;
    return result;
}

static struct launch *find_group(ncclComm_t comm, CUstream stream)
{
    for (int i = 0; i < num_groups; i++) {
        if (groups[i].comm == comm)
            return &groups[i];
    }
    groups[num_groups] = (struct launch){ .comm = comm, .stream = stream };
    return &groups[num_groups++];
}

static ncclResult_t begin(ncclComm_t comm, CUstream stream, struct operation operation)
{
    struct launch *group = find_group(comm, stream);
    if (group->stream != stream)
        refuse(comm, "a communicator has one stream in a group here");
    struct operation *more =
        realloc(group->operations, (size_t)(group->num + 1) * sizeof(*group->operations));
    if (!more)
        return ncclSystemError;
    more[group->num++] = operation;
    group->operations = more;
    return depth ? ncclSuccess : end_group();
}

NCCL_API ncclResult_t ncclGetVersion(int *version)
{
    const char *given = getenv("BRAID_STANDIN_NCCL_VERSION");
    NCCL_FAULT("ncclGetVersion");
    *version = given ? atoi(given) : VERSION;
    return ncclSuccess;
}

NCCL_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    NCCL_FAULT("ncclGetUniqueId");
    memset(id, 0, sizeof(*id));
    // Memory that others find by its number in this process: whoever is killed leaves no file.
    int file = memfd_create("braid-nccl", MFD_CLOEXEC);
    if (file < 0)
        return ncclSystemError;
    snprintf(id->internal, sizeof(id->internal), "/proc/%d/fd/%d", (int)getpid(), file);
    return ftruncate(file, sizeof(struct shared)) ? ncclSystemError : ncclSuccess;
}

// The process that made the id closes it, once all have opened it.
static void close_id(const ncclUniqueId *id)
{
    int process, file;
    if (sscanf(id->internal, "/proc/%d/fd/%d", &process, &file) == 2 && process == (int)getpid())
        close(file);
}

NCCL_API ncclResult_t ncclCommInitRank(ncclComm_t *out, int num, ncclUniqueId id, int rank)
{
    NCCL_FAULT("ncclCommInitRank");
    int file = open(id.internal, O_RDWR);
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    if (file < 0 || !comm || num > MOST_RANKS)
        return ncclSystemError;
    comm->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (comm->shared == MAP_FAILED)
        return ncclSystemError;
    comm->rank = rank;
    comm->num = num;
    pthread_mutex_init(&comm->lock, NULL);
    atomic_fetch_add(&comm->shared->arrived, 1);
    while (atomic_load(&comm->shared->arrived) < (uint32_t)num)
        usleep(20);
    close_id(&id);
    *out = comm;
    return ncclSuccess;
}

static void destroy(ncclComm_t comm)
{
    while (comm->launches) {
        struct launch *launch = comm->launches;
        comm->launches = launch->next;
        free(launch->operations);
        free(launch);
    }
    munmap(comm->shared, sizeof(struct shared));
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

NCCL_API ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    NCCL_FAULT("ncclCommDestroy");
    destroy(comm);
    return ncclSuccess;
}

// What graphs hold of it may still be run, so its memory stays.
NCCL_API ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    atomic_store(&comm->aborted, true);
    NCCL_FAULT("ncclCommAbort");
    return ncclSuccess;
}

NCCL_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    int fault = standin_nccl_fault("ncclCommGetAsyncError");
    if (fault)
        atomic_store(&comm->error, fault);
    *error = (ncclResult_t)atomic_load(&comm->error);
    return ncclSuccess;
}

NCCL_API ncclResult_t ncclGroupStart(void)
{
    NCCL_FAULT("ncclGroupStart");
    depth++;
    return ncclSuccess;
}

NCCL_API ncclResult_t ncclGroupEnd(void)
{
    depth--;
    int fault = standin_nccl_fault("ncclGroupEnd");
    fault = group_error ? group_error : fault;
    group_error = 0;
    if (fault) {
        while (num_groups > 0)
            free(groups[--num_groups].operations);
        return (ncclResult_t)fault;
    }
    return depth ? ncclSuccess : end_group();
}

NCCL_API ncclResult_t ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
                               CUstream stream)
{
    OPERATION_FAULT("ncclSend");
    return begin(comm, stream, (struct operation){ SEND, from, NULL, count, type, 0, peer });
}

NCCL_API ncclResult_t ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm,
                               CUstream stream)
{
    OPERATION_FAULT("ncclRecv");
    return begin(comm, stream, (struct operation){ RECEIVE, NULL, to, count, type, 0, peer });
}

NCCL_API ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                                    ncclComm_t comm, CUstream stream)
{
    OPERATION_FAULT("ncclBroadcast");
    return begin(comm, stream, (struct operation){ BROADCAST, from, to, count, type, 0, root });
}

NCCL_API ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                                    ncclComm_t comm, CUstream stream)
{
    OPERATION_FAULT("ncclAllReduce");
    return begin(comm, stream, (struct operation){ ALL_REDUCE, from, to, count, type, op, 0 });
}

NCCL_API ncclResult_t ncclAllGather(const void *from, void *to, size_t count, int type,
                                    ncclComm_t comm, CUstream stream)
{
    OPERATION_FAULT("ncclAllGather");
    return begin(comm, stream, (struct operation){ ALL_GATHER, from, to, count, type, 0, 0 });
}

NCCL_API ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                                        ncclComm_t comm, CUstream stream)
{
    OPERATION_FAULT("ncclReduceScatter");
    return begin(comm, stream, (struct operation){ REDUCE_SCATTER, from, to, count, type, op, 0 });
}
