# SPDX-License-Identifier: Apache-2.0
"""Makes cupy_blend_80.ptx, with CuPy and NVRTC, from an elementwise kernel of CuPy: see README.md."""
import cupy
from cupy.cuda import nvrtc
from cupy._core import core

from braid.cupy import source_of

kernel = cupy.ElementwiseKernel("raw T table, S x, float32 factor", "T out",
                                "out += table[x] * factor + _ind.size() + table.size()",
                                "blend", preamble="// a preamble", loop_prep="T zero = 0", after_loop="zero = 1")
source = source_of(kernel, "float32*, int32*, float32, float32*")
program = nvrtc.createProgram(source, "blend.cu", (), ())
nvrtc.compileProgram(program, (*core.assemble_cupy_compiler_options(()), "-ftz=true", "-arch=compute_80"))
with open("cupy_blend.cu", "w") as file:
    file.write(source)
with open("cupy_blend_80.ptx", "w") as file:
    file.write(nvrtc.getPTX(program).decode().rstrip("\0").replace(".version 9.5", ".version 8.4"))
