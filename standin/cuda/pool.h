// SPDX-License-Identifier: Apache-2.0
// Memory pools: attributes only; every pool of a device draws on the device's memory.
#ifndef BRAID_STANDIN_POOL_H
#define BRAID_STANDIN_POOL_H

#include "cuda_abi.h"

CUmemoryPool pool_of_device(CUdevice device); // its default pool

#endif
