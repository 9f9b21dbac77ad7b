// SPDX-License-Identifier: Apache-2.0
// NCCL and RCCL as far as Braid calls them: declarations of our own, so that neither is needed to
// build it. tests/gpu/the_table_fits_nccl_h.cpp compares them with NCCL's.
#ifndef BRAID_RANKS_NCCL_H
#define BRAID_RANKS_NCCL_H

#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#include "base/work.h"

struct nccl_id {
    char bytes[128];
};

typedef struct nccl_handle *nccl_communicator;
typedef int nccl_result; // ncclResult_t

enum {
    NCCL_SUCCESS = 0,
    NCCL_IN_PROGRESS = 7, // no error
    NCCL_OLDEST = 21300,  // the first with ncclGetLastError
    NCCL_TOO_NEW = 30000,
};

// Slots stand in the order of the names in nccl_library.c.
struct nccl_api {
    nccl_result (*get_version)(int *out_version);
    nccl_result (*get_unique_id)(struct nccl_id *out_id);
    nccl_result (*init_rank)(nccl_communicator *out_communicator, int num, struct nccl_id id,
                             int rank);
    nccl_result (*destroy)(nccl_communicator communicator);
    nccl_result (*abort)(nccl_communicator communicator);
    nccl_result (*get_async_error)(nccl_communicator communicator, nccl_result *out_error);
    const char *(*get_error_string)(nccl_result result);
    const char *(*get_last_error)(nccl_communicator communicator);
    nccl_result (*group_start)(void);
    nccl_result (*group_end)(void);
    nccl_result (*send)(const void *from, size_t count, int type, int peer,
                        nccl_communicator communicator, void *stream);
    nccl_result (*receive)(void *to, size_t count, int type, int peer,
                           nccl_communicator communicator, void *stream);
    nccl_result (*broadcast)(const void *from, void *to, size_t count, int type, int root,
                             nccl_communicator communicator, void *stream);
    nccl_result (*all_reduce)(const void *from, void *to, size_t count, int type, int reduction,
                              nccl_communicator communicator, void *stream);
    nccl_result (*all_gather)(const void *from, void *to, size_t count, int type,
                              nccl_communicator communicator, void *stream);
    nccl_result (*reduce_scatter)(const void *from, void *to, size_t count, int type, int reduction,
                                  nccl_communicator communicator, void *stream);
    const char *name; // behind the slots: "nccl" or "rccl"
};

// Opens the library of a kind of device, once in a process; it stays open. BRAID_NCCL or BRAID_RCCL
// in the environment names another file. Errors: BRAID_UNAVAILABLE (no library, one without a
// function, another version; the message has the names that were tried).
braid_status braid_nccl_open(enum rank_engine_kind kind, const struct nccl_api **out_api);

// ncclDataType_t and ncclRedOp_t of braid_element and braid_reduction.
int braid_nccl_type(uint32_t element);
int braid_nccl_reduction(uint32_t reduction);

#endif
