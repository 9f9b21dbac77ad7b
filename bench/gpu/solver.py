# SPDX-License-Identifier: Apache-2.0
"""The systems of solver.c by CuPy's cg: the time of an iteration."""
import time

try:
    import cupy
    from cupyx.scipy.sparse import csr_matrix
    from cupyx.scipy.sparse.linalg import cg
    from scipy import sparse
except ImportError as missing:
    print(f"skipped: {missing}")
    raise SystemExit(77)

MOST, FRAMES = 500, 5


def matrix(side):
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    one = sparse.identity(side)
    return csr_matrix(sparse.csr_matrix(sparse.kron(line, one) + sparse.kron(one, line)))


print(f"CuPy {cupy.__version__}")
print("| unknowns | iterations | CuPy's cg |\n|---|---|---|")
for side in 32, 100, 316, 1000:
    a = matrix(side)
    right = cupy.sin(cupy.arange(side * side, dtype=cupy.float64))
    steps = []
    # solver.c compares the square of the residual: 1e-16 of the right side's.
    cg(a, right, rtol=1e-8, maxiter=MOST, callback=lambda x: steps.append(1))
    times = []
    for frame in range(FRAMES):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        cg(a, right, rtol=1e-8, maxiter=MOST)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    print(f"| {side * side} | {len(steps)} | {sorted(times)[FRAMES // 2] / len(steps) * 1e6:.2f} |", flush=True)
