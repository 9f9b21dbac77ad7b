// SPDX-License-Identifier: Apache-2.0
// What Braid declares of NCCL against nccl.h, where that is installed.
#include <nccl.h>

#include "abi.hpp"

extern "C" {
#include "ranks/nccl.h"
#include <braid/rank.h>
}

#define CALL(slot, function)                                                                       \
    static_assert(abi::same_function<decltype(nccl_api::slot), decltype(&function)>::value,        \
                  #slot " has another shape than " #function)

CALL(get_version, ncclGetVersion);
CALL(get_unique_id, ncclGetUniqueId);
CALL(destroy, ncclCommDestroy);
CALL(abort, ncclCommAbort);
CALL(get_async_error, ncclCommGetAsyncError);
CALL(get_error_string, ncclGetErrorString);
CALL(get_last_error, ncclGetLastError);
CALL(group_start, ncclGroupStart);
CALL(group_end, ncclGroupEnd);
CALL(send, ncclSend);
CALL(receive, ncclRecv);
CALL(broadcast, ncclBroadcast);
CALL(all_reduce, ncclAllReduce);
CALL(all_gather, ncclAllGather);
CALL(reduce_scatter, ncclReduceScatter);

// The id is passed as it is: by its bytes.
static_assert(sizeof(nccl_id) == sizeof(ncclUniqueId) && alignof(nccl_id) == alignof(ncclUniqueId));
static_assert(std::is_same_v<decltype(&ncclCommInitRank),
                             ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int)>);
static_assert(std::is_same_v<decltype(nccl_api::init_rank),
                             nccl_result (*)(nccl_communicator *, int, nccl_id, int)>);
static_assert(NCCL_SUCCESS == ncclSuccess && NCCL_IN_PROGRESS == ncclInProgress);

int main()
{
    bool right = braid_nccl_type(BRAID_ELEMENT_BYTE) == ncclUint8 &&
                 braid_nccl_type(BRAID_ELEMENT_INT32) == ncclInt32 &&
                 braid_nccl_type(BRAID_ELEMENT_UINT32) == ncclUint32 &&
                 braid_nccl_type(BRAID_ELEMENT_INT64) == ncclInt64 &&
                 braid_nccl_type(BRAID_ELEMENT_UINT64) == ncclUint64 &&
                 braid_nccl_type(BRAID_ELEMENT_FLOAT) == ncclFloat32 &&
                 braid_nccl_type(BRAID_ELEMENT_DOUBLE) == ncclFloat64 &&
                 braid_nccl_reduction(BRAID_REDUCTION_SUM) == ncclSum &&
                 braid_nccl_reduction(BRAID_REDUCTION_PRODUCT) == ncclProd &&
                 braid_nccl_reduction(BRAID_REDUCTION_MAX) == ncclMax &&
                 braid_nccl_reduction(BRAID_REDUCTION_MIN) == ncclMin;
    std::printf("1..1\n%s 1 - types, reductions and calls are those of nccl.h\n",
                right ? "ok" : "not ok");
    return right ? 0 : 1;
}
