// SPDX-License-Identifier: Apache-2.0
// The test kernels for GPUs: CUDA C that is also HIP C++. kernels.c says the same in C.
typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__HIP__)
__device__ u64 now_ns()
{
#if __has_builtin(__builtin_readsteadycounter)
    return __builtin_readsteadycounter() * 10; // 100 MHz
#else
    return __builtin_amdgcn_s_memrealtime() * 10;
#endif
}
#else
__device__ u64 now_ns()
{
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}
#endif

__device__ void wait_ns(u64 ns)
{
    u64 start = now_ns();
    while (now_ns() - start < ns) {
    }
}

__device__ u32 thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ u32 num_threads()
{
    return gridDim.x * blockDim.x;
}

extern "C" __global__ void test_axpy(u32 *to, const u32 *from, u32 factor, u32 addend, u32 num)
{
    for (u32 i = thread_index(); i < num; i += num_threads())
        to[i] = from[i] * factor + addend;
}

extern "C" __global__ void test_add(u32 *to, const u32 *a, const u32 *b, u32 num)
{
    for (u32 i = thread_index(); i < num; i += num_threads())
        to[i] = a[i] + b[i];
}

extern "C" __global__ void test_busy(u64 *interval, u64 ns)
{
    if (thread_index() != 0)
        return;
    interval[0] = now_ns();
    wait_ns(ns);
    interval[1] = now_ns();
}

extern "C" __global__ void test_handshake(u32 *flags, u32 *met, u32 me, u32 other, u64 timeout_ns)
{
    if (thread_index() != 0)
        return;
    u64 start = now_ns();
    __threadfence();
    atomicExch(&flags[me], 1u);
    while (!atomicAdd(&flags[other], 0u)) {
        if (now_ns() - start > timeout_ns) {
            met[me] = 2;
            return;
        }
    }
    if (met[me] != 2)
        met[me] = 1;
}

extern "C" __global__ void test_meet(u32 *arrived, u32 *met, u64 timeout_ns)
{
    if (threadIdx.x != 0)
        return;
    u64 start = now_ns();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
        if (now_ns() - start > timeout_ns) {
            atomicAdd(&met[1], 1u);
            return;
        }
    }
    atomicAdd(&met[0], 1u);
}

extern "C" __global__ void test_gate(const u32 *open, u32 *report, u64 timeout_ns)
{
    if (thread_index() != 0)
        return;
    volatile u32 *state = report;
    *state = 1;
    __threadfence_system();
    u64 start = now_ns();
    u32 passed = 2;
    while (!*(const volatile u32 *)open) {
        if (now_ns() - start > timeout_ns) {
            passed = 3;
            break;
        }
    }
    *state = passed;
    __threadfence_system();
}

extern "C" __global__ void test_stamp(u32 *counter, u32 *stamps, u32 index, u64 delay_ns)
{
    if (thread_index() != 0)
        return;
    stamps[2 * index] = atomicAdd(counter, 1u) + 1;
    wait_ns(delay_ns);
    stamps[2 * index + 1] = atomicAdd(counter, 1u) + 1;
}

extern "C" __global__ void test_keep(u32 *scratch, u32 *to, u32 value, u32 num, u64 delay_ns)
{
    if (blockIdx.x != 0)
        return;
    for (u32 i = threadIdx.x; i < num; i += blockDim.x)
        scratch[i] = value + i;
    wait_ns(delay_ns);
    for (u32 i = threadIdx.x; i < num; i += blockDim.x)
        to[i] = scratch[i];
}

extern "C" __global__ void test_expect(const u32 *seen, u32 *wrong, u32 value, u32 factor, u32 addend,
                                       u32 num)
{
    for (u32 i = thread_index(); i < num; i += num_threads())
        if (seen[i] != (value + i) * factor + addend)
            atomicAdd(wrong, 1u);
}

__device__ u64 mix_values(u64 a, u64 b)
{
    u64 value = (a ^ (b + 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
    return (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ull;
}

extern "C" __global__ void test_mix(u64 *cells, u64 *outputs, const u32 *words, u32 first_word,
                                    u32 node, const u32 *frame, u64 salt, u64 delay_ns)
{
    if (thread_index() != 0)
        return;
    const u32 *word = words + first_word;
    u64 value = mix_values(salt, *frame);
    for (u32 left = *word++; left; left--)
        value = mix_values(value, outputs[*word++]);
    for (u32 left = *word++; left; left--)
        value = mix_values(value, cells[*word++]);
    wait_ns(delay_ns);
    for (u32 left = *word++; left; left--, word++)
        cells[*word] = mix_values(value, *word);
    outputs[node] = value;
}

extern "C" __global__ void test_clear_list(u32 *list)
{
    if (thread_index() == 0)
        list[0] = 0;
}

extern "C" __global__ void test_generate_list(u32 *list, const u32 *mask, u32 num)
{
    for (u32 i = thread_index(); i < num; i += num_threads())
        if (mask[i])
            list[1 + atomicAdd(list, 1u)] = i;
}

extern "C" __global__ void test_generate_from_parent(u32 *list, const u32 *parent, const u32 *mask,
                                                     u32 cells_per_parent)
{
    for (u32 i = thread_index(); i < parent[0] * cells_per_parent; i += num_threads()) {
        u32 cell = parent[1 + i / cells_per_parent] * cells_per_parent + i % cells_per_parent;
        if (mask[cell])
            list[1 + atomicAdd(list, 1u)] = cell;
    }
}

extern "C" __global__ void test_loop_over_list(const u32 *list, u32 *to, u32 addend)
{
    for (u32 i = thread_index(); i < list[0]; i += num_threads())
        to[list[1 + i]] += addend;
}

extern "C" __global__ void test_count_blocks(u32 *counts, u32 *grid)
{
    if (threadIdx.x != 0)
        return;
    u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    counts[block]++;
    if (block != 0)
        return;
    grid[0] = gridDim.x;
    grid[1] = gridDim.y;
    grid[2] = gridDim.z;
}
