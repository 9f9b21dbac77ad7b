// SPDX-License-Identifier: Apache-2.0
// What the example cublas_node calls of cuBLAS, on the stand-in driver: products made by the host.
#include <stdlib.h>
#include <string.h>

#include "standin/cuda/cuda_abi.h"

struct handle {
    CUstream stream;
};

struct product {
    int side;
    const float *a, *b;
    float *c;
};

__attribute__((visibility("default"))) int cublasCreate_v2(struct handle **out_handle);
__attribute__((visibility("default"))) int cublasDestroy_v2(struct handle *handle);
__attribute__((visibility("default"))) int cublasSetStream_v2(struct handle *handle,
                                                              CUstream stream);
__attribute__((visibility("default"))) int cublasSgemm_v2(struct handle *handle, int transpose_a,
                                                          int transpose_b, int m, int n, int k,
                                                          const float *alpha, const float *a,
                                                          int lda, const float *b, int ldb,
                                                          const float *beta, float *c, int ldc);

int cublasCreate_v2(struct handle **out_handle)
{
    *out_handle = calloc(1, sizeof(**out_handle));
    return *out_handle ? 0 : 3;
}

int cublasDestroy_v2(struct handle *handle)
{
    free(handle);
    return 0;
}

int cublasSetStream_v2(struct handle *handle, CUstream stream)
{
    handle->stream = stream;
    return 0;
}

// Columns stand one behind the other. The graph may run it again, so the product is not freed.
// Sanitizers see how the matrices are copied, and do not look at each of an element's uses.
static void multiply(void *user)
{
    const struct product *product = user;
    size_t side = (size_t)product->side, num = side * side;
    float *a = calloc(3 * num, sizeof(*a)), *b = a + num, *c = b + num;
    if (!a)
        abort();
    memcpy(a, product->a, num * sizeof(*a));
    memcpy(b, product->b, num * sizeof(*b));
    for (size_t column = 0; column < side; column++)
        for (size_t k = 0; k < side; k++)
            for (size_t i = 0; i < side; i++)
                c[column * side + i] += a[k * side + i] * b[column * side + k];
    memcpy(product->c, c, num * sizeof(*c));
    free(a);
}

int cublasSgemm_v2(struct handle *handle, int transpose_a, int transpose_b, int m, int n, int k,
                   const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc)
{
    static struct product products[64];
    static int num_products;
    if (transpose_a || transpose_b || m != n || n != k || lda != m || ldb != m || ldc != m ||
        *alpha != 1 || *beta != 0 || num_products == 64)
        return 7; // CUBLAS_STATUS_INVALID_VALUE
    products[num_products] = (struct product){ m, a, b, c };
    return cuLaunchHostFunc(handle->stream, multiply, &products[num_products++]) ? 13 : 0;
}
