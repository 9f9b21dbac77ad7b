// SPDX-License-Identifier: Apache-2.0
// Libraries: modules that are loaded into each context when a kernel of theirs is needed there.
#ifndef BRAID_STANDIN_LIBRARY_H
#define BRAID_STANDIN_LIBRARY_H

#include "cuda_abi.h"

// What a launch calls: a kernel of a library comes with a function's type, as the driver allows.
// The function of a kernel in this context. A plain function is itself, with no kernel. Expects the
// world's lock, and lets go of it while it loads.
CUresult library_resolve(CUfunction handle, CUcontext context, CUfunction *out_function,
                         CUkernel *out_kernel);

#endif
