// SPDX-License-Identifier: Apache-2.0
// The work of an island between calls: waits, tests, and times of scopes.
//
// gpu_island_walker.cu says how lanes, scopes and a cancelled frame work.
//
// The load of a condition is weak, so it may hit the first cache. Nodes inside write the word. In
// one block, a barrier comes between a write and the load: the write happens before the load. In
// several blocks, the writer's lane releases its number at the scope of the device. A thread of
// lane 0 acquires that number, and a barrier follows. Nobody begins the next step before the test.

#define BRAID_LEARNS (BRAID_CANCELS && (!BRAID_CHAIN || BRAID_LOOPS))
enum { BRAID_OFF = 1 << 30 };
__shared__ unsigned braid_island_off[BRAID_GROUPS + 2]; // by lane, then the block, and as it began
struct braid_island_shape {
    unsigned entry, threads, blocks, varies;
    uint3 grid, dim;
    unsigned unused[2];
};

static __device__ __forceinline__ void braid_island_meet()
{
    if (BRAID_TEAM == 1)
        braid_island_join();
    else if (BRAID_TEAM == BRAID_GROUPS)
        __syncthreads();
    else
        asm volatile("barrier.sync %0, %1;"
                     :
                     : "r"(15 - braid_island_group() / BRAID_TEAM), "n"(BRAID_TEAM * BRAID_GROUP)
                     : "memory");
}

static __device__ __forceinline__ unsigned braid_island_ask(const unsigned *cancelled)
{
    unsigned answer;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(answer) : "l"(cancelled));
    return answer;
}

static __device__ __forceinline__ void braid_island_drop(uint4 *task, bool drops)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p st.shared.u16 [%0], 0; }"
                 :
                 : "r"(braid_island_address(task)), "r"((unsigned)drops)
                 : "memory");
}

static __device__ __forceinline__ bool braid_island_is_off(unsigned reached, unsigned number)
{
    return BRAID_CANCELS && (int)(reached - number) >= BRAID_OFF / 2;
}

static __device__ __forceinline__ uint3 braid_island_place(unsigned b, uint3 grid)
{
    return b < grid.x ? make_uint3(b, 0, 0)
                      : make_uint3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
}

static __device__ __forceinline__ unsigned braid_island_see(unsigned seen, unsigned num, uint4 task,
                                                            const unsigned *waits, unsigned base,
                                                            const unsigned *done, bool &is_off)
{
    const unsigned index = braid_island_index();
    for (unsigned i = index; i < (num + 31) / 32 * 32; i += 32) {
        const unsigned wait = num <= 2 ? (i ? task.w : task.z) : i < num ? waits[task.z + i] : 0u;
        const unsigned number = base + (wait & 0xfffff);
        unsigned reached = __shfl_sync(~0u, seen, wait >> 20);
        while (!__all_sync(~0u, i >= num || (int)(reached - number) >= 0)) {
            seen = braid_island_look(done + index);
            __syncwarp();
            reached = __shfl_sync(~0u, seen, wait >> 20);
        }
        if (BRAID_CANCELS && !__all_sync(~0u, i >= num || !braid_island_is_off(reached, number)))
            is_off = true;
    }
    return seen;
}
#if BRAID_LOOPS
static __device__ __forceinline__ bool braid_island_has_ended(unsigned reached, unsigned number)
{
    return (int)(reached - number - (braid_island_is_off(reached, number) ? BRAID_OFF : 0)) >= 0;
}
struct braid_island_scope {
    const unsigned *condition;
    unsigned long long most, *total, *counter;
    unsigned kind, unused[3];
    unsigned long long left, sum;
};

static __device__ __forceinline__ void braid_island_count(const braid_island_scope *scope)
{
    *(volatile unsigned long long *)scope->counter =
        scope->sum + (scope->kind & 2 ? *scope->total : 0);
}

static __device__ __forceinline__ bool braid_island_test(unsigned test, braid_island_scope *scope,
                                                         bool is_cancelled)
{
    if (test == 0)
        return true;
    if (test == 1)
        scope->left = scope->most;
    if (test == 2) {
        scope->left--;
        scope->sum++;
    }
    bool goes_on = test == 3 || (scope->left > 0 && !is_cancelled);
    if (goes_on && scope->condition && (test > 1 || scope->kind & 1))
        goes_on = *scope->condition != 0;
    if (test == 3)
        scope->sum += goes_on;
    if (BRAID_CANCELS) {
        braid_island_count(scope);
        *(volatile unsigned long long *)(scope->counter + 1) = scope->most - scope->left;
    }
    return goes_on;
}

static __device__ __forceinline__ unsigned
braid_island_decide(unsigned *progress, unsigned lane, unsigned number, unsigned turn,
                    unsigned test, braid_island_scope *scope, bool is_cancelled)
{
    __shared__ unsigned answers[2];
    const unsigned rank = braid_island_rank();
    if (BRAID_BLOCKS > 1 && lane == 0) {
        for (unsigned i = rank; i < BRAID_LANES; i += BRAID_TEAM * BRAID_GROUP) {
            unsigned reached;
            do
                reached = braid_island_look(progress + i * 32);
            while (!braid_island_has_ended(reached, number));
            if (braid_island_is_off(reached, number))
                braid_island_off[BRAID_GROUPS] = 1;
        }
        braid_island_meet();
    }
    if (lane == 0 && rank == 0) {
        is_cancelled |= BRAID_CANCELS && *(volatile unsigned *)(braid_island_off + BRAID_GROUPS);
        const bool goes_on = braid_island_test(test, scope, is_cancelled);
        *(BRAID_BLOCKS > 1 ? progress + 1 : answers + turn) = goes_on + 2u * is_cancelled;
        if (BRAID_BLOCKS > 1)
            braid_island_tell(progress + 2, number + 1);
    }
    if (BRAID_BLOCKS > 1) {
        while ((int)(braid_island_look(progress + 2) - number) < 1)
            ;
        const unsigned answer = *(volatile unsigned *)(progress + 1);
        braid_island_meet();
        return answer;
    }
    if (BRAID_CHAIN)
        braid_island_meet();
    else
        braid_island_gather();
    return answers[turn];
}
struct braid_island_tally {
    unsigned long long frame, num, sum, begun;
};

static __device__ __forceinline__ void
braid_island_add_up(braid_island_tally *tally, unsigned long long frame, unsigned long long ns)
{
    const bool is_first = tally->frame != frame;
    tally->num = (is_first ? 0 : tally->num) + 1;
    tally->sum = (is_first ? 0 : tally->sum) + ns;
    tally->frame = frame;
}

static __device__ __forceinline__ void braid_island_time(braid_island_tally *tally, unsigned test,
                                                         bool goes_on, unsigned long long frame)
{
    const unsigned long long now = braid_island_now();
    if (test & 1)
        tally->begun = now;
    if (test == 0 || (test < 3 && !goes_on))
        braid_island_add_up(tally, frame, now > tally->begun ? now - tally->begun : 0);
}
#endif
