// SPDX-License-Identifier: Apache-2.0
// Whether an object was made by this process, or by one that this process is a fork of.
#include "base/process.h"

#include <pthread.h>

#include "base/error.h"
#include "base/own_threads.h"

// The number is state of the process, since a fork is: no object could learn of it otherwise. To
// ask the system for the process at each launch would cost a call of it. A child is written to by
// its only thread.
static uint32_t number = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int refusal; // the handler's; constant after once

static void count_fork(void)
{
    number++;
    braid_own_threads_forget();
}

static void watch(void)
{
    refusal = pthread_atfork(NULL, NULL, count_fork);
}

braid_status braid_process_watch(void)
{
    pthread_once(&once, watch);
    return refusal ? braid_error_no_memory("the handler of forks") : BRAID_OK;
}

uint32_t braid_process_number(void)
{
    return number;
}
