// SPDX-License-Identifier: Apache-2.0
// Calls of the stand-in NCCL that fail on demand.
#ifndef BRAID_STANDIN_NCCL_FAULTS_H
#define BRAID_STANDIN_NCCL_FAULTS_H

// BRAID_STANDIN_NCCL_FAIL is `function:nth=code`: the nth call of a function, counted from when the
// variable was given that value, fails with a result and does nothing. 0: this call does not. With
// a negative code it kills the process with that signal.
int standin_nccl_fault(const char *function);

#define NCCL_FAULT(function)                                                                       \
    do {                                                                                           \
        int fault = standin_nccl_fault(function);                                                  \
        if (fault)                                                                                 \
            return (ncclResult_t)fault;                                                            \
    } while (0)

#endif
