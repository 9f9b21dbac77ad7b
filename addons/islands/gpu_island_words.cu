// SPDX-License-Identifier: Apache-2.0
// The device functions of an island's walker: places, visible progress, and barriers of groups.

// The words of a group from which a kernel reads its position.
struct braid_island_words {
    uint3 block, grid, dim;
};
__shared__ braid_island_words braid_island_here[BRAID_GROUPS];
__align__(128) extern __shared__ uint4 braid_island_memory[];

static __device__ __forceinline__ unsigned braid_island_group()
{
    return BRAID_GROUPS == 1 ? 0u : threadIdx.x / BRAID_GROUP;
}

static __device__ __forceinline__ unsigned braid_island_index()
{
    return BRAID_GROUPS == 1 ? threadIdx.x : threadIdx.x % BRAID_GROUP;
}

// A thread's number in its lane.
static __device__ __forceinline__ unsigned braid_island_rank()
{
    return threadIdx.x % (BRAID_TEAM * BRAID_GROUP);
}

static __device__ __forceinline__ void braid_island_await(unsigned barrier, unsigned threads)
{
    if (BRAID_GROUP == 32)
        __syncwarp();
    else
        asm volatile("barrier.sync %0, %1;"
                     :
                     : "r"(barrier + braid_island_group()), "r"(threads)
                     : "memory");
}

static __device__ __forceinline__ void braid_island_gather()
{
    asm volatile("barrier.sync 0, %0;" : : "n"(BRAID_GROUPS * BRAID_GROUP) : "memory");
}

// A release or an acquire at a barrier's end covers the writes and reads of the group's other
// threads: causality goes through barriers.
static __device__ __forceinline__ unsigned braid_island_look(const unsigned *at)
{
    unsigned value;
    if (BRAID_BLOCKS == 1)
        asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                     : "=r"(value)
                     : "r"((unsigned)__cvta_generic_to_shared(at))
                     : "memory");
    else
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ void braid_island_tell(unsigned *at, unsigned value)
{
    if (BRAID_BLOCKS == 1)
        asm volatile("st.release.cta.shared.u32 [%0], %1;"
                     :
                     : "r"((unsigned)__cvta_generic_to_shared(at)), "r"(value)
                     : "memory");
    else
        asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
}

static __device__ __forceinline__ unsigned long long braid_island_now()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return now;
}

static __device__ __forceinline__ void braid_island_join()
{
    braid_island_await(1, BRAID_GROUP);
}

// Addresses in shared memory have 32 bits, and so have all operands of a call's marker.
static __device__ __forceinline__ unsigned braid_island_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}
