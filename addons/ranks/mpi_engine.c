// SPDX-License-Identifier: Apache-2.0
// The engine over MPI: libbraid_mpi.so, compiled where mpicc is and opened at run time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks/engine.h"

static MPI_Comm world = MPI_COMM_NULL; // Braid's own, from which split makes communicators
static bool is_ours;                   // MPI was initialised here
static MPI_Request *requests;          // by number; MPI_REQUEST_NULL: free
static int *ended_indices;
static MPI_Status *ended_statuses;
static int num_requests;

struct mpi_communicator {
    MPI_Comm comm;
    struct mpi_communicator *next;
};

static struct mpi_communicator *communicators;

static bool explain(int error, const char *call, char *why, size_t size)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (error == MPI_SUCCESS)
        return true;
    MPI_Error_string(error, text, &length);
    snprintf(why, size, "%s: %.*s", call, length, text);
    return false;
}

static bool refuse(const char *reason, char *why, size_t size)
{
    snprintf(why, size, "%s", reason);
    return false;
}

static bool initialise(char *why, size_t size)
{
    int is_initialised = 0, is_finalised = 0, level = 0;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_finalised)
        return refuse("MPI has been finalised in this process, and cannot begin again", why, size);
    if (!is_initialised) {
        is_ours = true;
        return explain(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread",
                       why, size);
    }
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE)
        return refuse("the program has initialised MPI without MPI_THREAD_MULTIPLE", why, size);
    return true;
}

static bool open_mpi(uint32_t *out_rank, uint32_t *out_num, char *why, size_t size)
{
    int rank = 0, num = 0;
    if (!initialise(why, size))
        return false;
    if (!explain(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup", why, size))
        return false;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &num);
    *out_rank = (uint32_t)rank;
    *out_num = (uint32_t)num;
    return true;
}

static void close_mpi(bool clean)
{
    if (clean && is_ours)
        MPI_Finalize();
    while (communicators) {
        struct mpi_communicator *communicator = communicators;
        communicators = communicator->next;
        free(communicator);
    }
    free(requests);
    free(ended_indices);
    free(ended_statuses);
    requests = NULL;
    ended_indices = NULL;
    ended_statuses = NULL;
    num_requests = 0;
}

// Communicators are few and MPI frees them at its end.
static bool split(uint32_t color, void **out_communicator, uint32_t *out_rank, uint32_t *out_num,
                  char *why, size_t size)
{
    struct mpi_communicator *made = malloc(sizeof(*made));
    int rank = 0, num = 0;
    if (!made)
        return refuse("out of host memory for a communicator", why, size);
    if (!explain(MPI_Comm_split(world, (int)color, 0, &made->comm), "MPI_Comm_split", why, size)) {
        free(made);
        return false;
    }
    MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(made->comm, &rank);
    MPI_Comm_size(made->comm, &num);
    made->next = communicators;
    communicators = made;
    *out_communicator = made;
    *out_rank = (uint32_t)rank;
    *out_num = (uint32_t)num;
    return true;
}

static uint32_t find_member(void *communicator, uint32_t rank)
{
    MPI_Group some, all;
    int from = (int)rank, to = 0;
    MPI_Comm_group(((struct mpi_communicator *)communicator)->comm, &some);
    MPI_Comm_group(world, &all);
    MPI_Group_translate_ranks(some, 1, &from, all, &to);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return (uint32_t)to;
}

static bool grow(void)
{
    int num = num_requests ? 2 * num_requests : 64;
    MPI_Request *more = realloc(requests, (size_t)num * sizeof(*more));
    if (more)
        requests = more;
    int *indices = realloc(ended_indices, (size_t)num * sizeof(*indices));
    if (indices)
        ended_indices = indices;
    MPI_Status *statuses = realloc(ended_statuses, (size_t)num * sizeof(*statuses));
    if (statuses)
        ended_statuses = statuses;
    if (!more || !indices || !statuses)
        return false;
    for (int i = num_requests; i < num; i++)
        requests[i] = MPI_REQUEST_NULL;
    num_requests = num;
    return true;
}

// The ended requests that MPI told of and the caller had no room for.
static int num_ended, next_ended;
static bool some_failed;

static bool is_untold(int number)
{
    for (int i = next_ended; i < num_ended; i++) {
        if (ended_indices[i] == number)
            return true;
    }
    return false;
}

// -1: no memory.
static int find_free(void)
{
    for (int i = 0; i < num_requests; i++) {
        if (requests[i] == MPI_REQUEST_NULL && !is_untold(i))
            return i;
    }
    int first = num_requests;
    return grow() ? first : -1;
}

static MPI_Datatype type_of(uint32_t element)
{
    switch (element) {
    case BRAID_ELEMENT_INT32:
        return MPI_INT32_T;
    case BRAID_ELEMENT_UINT32:
        return MPI_UINT32_T;
    case BRAID_ELEMENT_INT64:
        return MPI_INT64_T;
    case BRAID_ELEMENT_UINT64:
        return MPI_UINT64_T;
    case BRAID_ELEMENT_FLOAT:
        return MPI_FLOAT;
    case BRAID_ELEMENT_DOUBLE:
        return MPI_DOUBLE;
    default:
        return MPI_BYTE;
    }
}

static MPI_Op op_of(uint32_t reduction)
{
    switch (reduction) {
    case BRAID_REDUCTION_MIN:
        return MPI_MIN;
    case BRAID_REDUCTION_MAX:
        return MPI_MAX;
    case BRAID_REDUCTION_PRODUCT:
        return MPI_PROD;
    default:
        return MPI_SUM;
    }
}

static int begin_mpi(const struct rank_transfer *transfer, MPI_Comm comm, MPI_Request *request)
{
    int count = (int)transfer->count, tag = (int)transfer->tag;
    int peer = transfer->peer == RANK_ANY ? MPI_ANY_SOURCE : (int)transfer->peer;
    MPI_Datatype type = type_of(transfer->element);
    const void *from = transfer->from == transfer->to ? MPI_IN_PLACE : transfer->from;
    switch (transfer->operation) {
    case BRAID_RANK_SEND:
        return MPI_Isend(transfer->from, count, type, peer, tag, comm, request);
    case BRAID_RANK_RECEIVE:
        return MPI_Irecv(transfer->to, count, type, peer, tag, comm, request);
    case BRAID_RANK_BROADCAST:
        return MPI_Ibcast(transfer->to, count, type, peer, comm, request);
    case BRAID_RANK_ALL_REDUCE:
        return MPI_Iallreduce(from, transfer->to, count, type, op_of(transfer->reduction), comm,
                              request);
    case BRAID_RANK_ALL_GATHER:
        return MPI_Iallgather(transfer->from, count, type, transfer->to, count, type, comm,
                              request);
    case BRAID_RANK_REDUCE_SCATTER:
        return MPI_Ireduce_scatter_block(transfer->from, transfer->to, count, type,
                                         op_of(transfer->reduction), comm, request);
    default:
        return MPI_Ibarrier(comm, request);
    }
}

static bool begin(const struct rank_transfer *transfer, uint32_t *out_request, char *why,
                  size_t size)
{
    const struct mpi_communicator *some = transfer->communicator;
    int number = find_free();
    if (number < 0)
        return refuse("out of host memory for a request", why, size);
    int error = begin_mpi(transfer, some ? some->comm : world, &requests[number]);
    *out_request = (uint32_t)number;
    return explain(error, "MPI", why, size);
}

static uint32_t poll_mpi(struct rank_ended *out_ended, uint32_t most)
{
    uint32_t num = 0;
    if (next_ended == num_ended && num_requests) {
        int error = MPI_Testsome(num_requests, requests, &num_ended, ended_indices, ended_statuses);
        next_ended = 0;
        num_ended = num_ended == MPI_UNDEFINED ? 0 : num_ended;
        some_failed = error == MPI_ERR_IN_STATUS;
    }
    for (; next_ended < num_ended && num < most; next_ended++)
        out_ended[num++] = (struct rank_ended){
            .request = (uint32_t)ended_indices[next_ended],
            .failed = some_failed && ended_statuses[next_ended].MPI_ERROR != MPI_SUCCESS,
        };
    return num;
}

static void cancel(uint32_t request)
{
    MPI_Status status;
    MPI_Cancel(&requests[request]);
    MPI_Wait(&requests[request], &status);
}

static const struct rank_engine engine = {
    .abi = RANK_ENGINE_ABI,
    .name = "mpi",
    .open = open_mpi,
    .close = close_mpi,
    .split = split,
    .find_member = find_member,
    .begin = begin,
    .poll = poll_mpi,
    .cancel = cancel,
};

__attribute__((visibility("default"))) const struct rank_engine *braid_rank_engine(void);

const struct rank_engine *braid_rank_engine(void)
{
    return &engine;
}
