// SPDX-License-Identifier: Apache-2.0
// Claims on code that a thread is about to make and load.
#include "backends/gpu/gpu_claim.h"

#include <stdbool.h>

#include "backends/gpu/gpu_backend.h"

// With claim_lock held.
static bool is_claimed(const struct gpu_backend *gpu, uint64_t what)
{
    const struct gpu_claim *claim = gpu->claims;
    while (claim && claim->what != what)
        claim = claim->next;
    return claim;
}

void braid_gpu_claim(struct gpu_backend *gpu, struct gpu_claim *claim, uint64_t what)
{
    pthread_mutex_lock(&gpu->claim_lock);
    while (is_claimed(gpu, what))
        pthread_cond_wait(&gpu->claim_ended, &gpu->claim_lock);
    *claim = (struct gpu_claim){ gpu->claims, what };
    gpu->claims = claim;
    pthread_mutex_unlock(&gpu->claim_lock);
}

void braid_gpu_end_claim(struct gpu_backend *gpu, struct gpu_claim *claim)
{
    pthread_mutex_lock(&gpu->claim_lock);
    struct gpu_claim **link = &gpu->claims;
    while (*link != claim)
        link = &(*link)->next;
    *link = claim->next;
    pthread_cond_broadcast(&gpu->claim_ended);
    pthread_mutex_unlock(&gpu->claim_lock);
}
