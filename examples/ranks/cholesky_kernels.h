// SPDX-License-Identifier: Apache-2.0
// The kernels of a tiled Cholesky factorisation, as plain as they can be; cells are by columns.
#ifndef EXAMPLES_CHOLESKY_KERNELS_H
#define EXAMPLES_CHOLESKY_KERNELS_H

#include <math.h>

// The matrix to factor, of n rows: its diagonal outweighs the rest.
static inline double cholesky_cell(int n, int row, int column)
{
    double distance = row > column ? row - column : column - row;
    return row == column ? n : 1.0 / (1.0 + distance);
}

// a = l with l * transpose(l) = a
static inline void cholesky_factor(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        a[k * n + k] = sqrt(a[k * n + k]);
        for (int i = k + 1; i < n; i++)
            a[k * n + i] /= a[k * n + k];
        for (int j = k + 1; j < n; j++) {
            for (int i = j; i < n; i++)
                a[j * n + i] -= a[k * n + i] * a[k * n + j];
        }
    }
}

// b = b / transpose(l)
static inline void cholesky_solve(double *restrict b, const double *restrict l, int n)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < n; i++)
            b[k * n + i] /= l[k * n + k];
        for (int j = k + 1; j < n; j++) {
            for (int i = 0; i < n; i++)
                b[j * n + i] -= b[k * n + i] * l[k * n + j];
        }
    }
}

// c = c - a * transpose(b); a and b may be one
static inline void cholesky_update(double *restrict c, const double *a, const double *b, int n)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < n; k++) {
            double factor = b[k * n + j];
            for (int i = 0; i < n; i++)
                c[j * n + i] -= a[k * n + i] * factor;
        }
    }
}

#endif
