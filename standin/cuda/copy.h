// SPDX-License-Identifier: Apache-2.0
// From the driver's descriptions of copies and fills to work.
#ifndef BRAID_STANDIN_COPY_H
#define BRAID_STANDIN_COPY_H

#include "work.h"

CUresult copy_from_2d(const CUDA_MEMCPY2D *copy, struct work *out_work);
CUresult copy_from_3d(const CUDA_MEMCPY3D *copy, struct work *out_work);
// The other way round. Offsets are in the addresses.
void copy_to_3d(const struct copy *copy, CUDA_MEMCPY3D *out_copy);
CUresult fill_from_node(const CUDA_MEMSET_NODE_PARAMS *fill, struct work *out_work);

#endif
