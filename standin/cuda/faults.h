// SPDX-License-Identifier: Apache-2.0
// Deliberate failures: the nth call of a function, or the nth work item, fails with a given code.
#ifndef BRAID_STANDIN_FAULTS_H
#define BRAID_STANDIN_FAULTS_H

#include <stdbool.h>

#include "cuda_abi.h"

// Both take NULL for "none", restart their count, and say false for text they cannot read.
bool faults_set_calls(const char *text); // function:nth=code[,function:nth=code...]
bool faults_set_work(const char *text);  // nth=code

// Calls the function at each counted call, with the plain name, which stays; NULL: none.
void faults_watch(void (*watch)(const char *function));

// The same behind the count and without a lock, so that the function may wait for other threads.
void faults_hold(void (*hold)(const char *function));

// Counts a call; the code it must fail with, or CUDA_SUCCESS.
CUresult faults_count_call(const char *function);

// Counts a work item (kernel, copy, fill or host function); the code it must fail with.
CUresult faults_count_work(void);

long faults_calls(const char *function); // "*": every call
long faults_work(void);

#endif
