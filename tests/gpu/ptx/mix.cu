// SPDX-License-Identifier: Apache-2.0
// A kernel of islands_run_as_ptx, given as PTX: what its source there does, with another barrier.
extern "C" __global__ void given(unsigned *cells, unsigned node, uint3 before, unsigned num)
{
    const unsigned cell = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    const unsigned next = cell - threadIdx.x + (threadIdx.x + 1) % blockDim.x;
    unsigned sum = cells[node * 64 + cell] * 31 + __ldg(&cells[node * 64 + next]) + 1;
    for (unsigned i = 0; i < num; i++)
        sum += cells[(i == 0 ? before.x : i == 1 ? before.y : before.z) * 64 + (cell + 1) % all];
    asm volatile("barrier.sync 5;" ::: "memory");
    cells[node * 64 + cell] = sum;
}
