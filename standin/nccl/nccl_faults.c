// SPDX-License-Identifier: Apache-2.0
// Calls of the stand-in NCCL that fail on demand, and the words of errors.
#include "standin/nccl/nccl_faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin/nccl/nccl_abi.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char known[96]; // lock; the rule that calls are counted for
static long num_calls; // lock

int standin_nccl_fault(const char *function)
{
    const char *rule = getenv("BRAID_STANDIN_NCCL_FAIL");
    char name[64];
    long nth;
    int code = 0, fault = 0;
    if (!rule || sscanf(rule, "%63[^:]:%ld=%d", name, &nth, &code) != 3)
        return 0;
    pthread_mutex_lock(&lock);
    if (strcmp(known, rule) != 0) {
        snprintf(known, sizeof(known), "%s", rule);
        num_calls = 0;
    }
    if (strcmp(name, function) == 0 && ++num_calls == nth)
        fault = code;
    pthread_mutex_unlock(&lock);
    if (fault < 0)
        (void)raise(-fault);
    return fault;
}

NCCL_API const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const words[] = { "no error",
                                         "unhandled cuda error",
                                         "unhandled system error",
                                         "internal error",
                                         "invalid argument",
                                         "invalid usage",
                                         "remote process exited or there was a network error",
                                         "operation in progress" };
    return (unsigned)result < sizeof(words) / sizeof(*words) ? words[result]
                                                             : "unknown result code";
}

NCCL_API const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}
