// SPDX-License-Identifier: Apache-2.0
// What of NCCL's interface the stand-in has, by NCCL's own names.
#ifndef BRAID_STANDIN_NCCL_ABI_H
#define BRAID_STANDIN_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>

#define NCCL_API __attribute__((visibility("default")))

typedef struct ncclComm *ncclComm_t;
typedef struct CUstream_st *CUstream;
typedef int CUresult;

typedef struct {
    char internal[128];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidUsage = 5,
} ncclResult_t;

NCCL_API ncclResult_t ncclGetVersion(int *version);
NCCL_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
NCCL_API ncclResult_t ncclCommInitRank(ncclComm_t *out, int num, ncclUniqueId id, int rank);
NCCL_API ncclResult_t ncclCommDestroy(ncclComm_t comm);
NCCL_API ncclResult_t ncclCommAbort(ncclComm_t comm);
NCCL_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
NCCL_API const char *ncclGetErrorString(ncclResult_t result);
NCCL_API const char *ncclGetLastError(ncclComm_t comm);
NCCL_API ncclResult_t ncclGroupStart(void);
NCCL_API ncclResult_t ncclGroupEnd(void);
NCCL_API ncclResult_t ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
                               CUstream stream);
NCCL_API ncclResult_t ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm,
                               CUstream stream);
NCCL_API ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                                    ncclComm_t comm, CUstream stream);
NCCL_API ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                                    ncclComm_t comm, CUstream stream);
NCCL_API ncclResult_t ncclAllGather(const void *from, void *to, size_t count, int type,
                                    ncclComm_t comm, CUstream stream);
NCCL_API ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                                        ncclComm_t comm, CUstream stream);

#endif
