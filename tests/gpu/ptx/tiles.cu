// SPDX-License-Identifier: Apache-2.0
// Products of tiles by tensor cores.
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void tiles(float *to, const half *a, const half *b, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fc, to, n, wmma::mem_row_major);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + k, n);
        wmma::load_matrix_sync(fb, b + k, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(to, fc, n, wmma::mem_row_major);
}
