// SPDX-License-Identifier: Apache-2.0
// Half of each lane meets at a barrier of its own. Then the lane meets twice, around a write.
// All reads are ordered behind the write, and racecheck still reports some.
enum { LANES = 3, LANE = 128, HALF = 64 };

static __device__ void meet(unsigned barrier, unsigned threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__global__ void half_then_whole(unsigned *out)
{
    __shared__ unsigned words[LANES], parts[LANES][HALF];
    const unsigned lane = threadIdx.x / LANE, index = threadIdx.x % LANE;
    for (unsigned i = 0; i < 3; i++) {
        if (index < HALF) {
            parts[lane][index] = index;
            meet(1 + LANES + lane, HALF);
            out[threadIdx.x] += parts[lane][HALF - 1 - index];
        }
        meet(1 + lane, LANE);
        if (index == 0)
            words[lane] = i;
        meet(1 + lane, LANE);
        out[threadIdx.x] += words[lane];
        meet(1 + lane, LANE);
    }
}

int main()
{
    unsigned *out;
    if (cudaMalloc(&out, LANES * LANE * sizeof(*out)) != cudaSuccess)
        return 1;
    half_then_whole<<<1, LANES * LANE>>>(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
