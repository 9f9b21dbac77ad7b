// SPDX-License-Identifier: Apache-2.0
// Kernels of a recorded frame that compute the same values in each frame.
#ifndef BRAID_IMPORT_CONSTANTS_H
#define BRAID_IMPORT_CONSTANTS_H

#include "import/import.h"

// Counts proven kernels that read nothing which the frame changes. `leave`: takes those out of the
// frame whose results stay as they are. Orders are not found yet. Errors: BRAID_NO_MEMORY.
braid_status braid_import_find_constants(braid_import *import, bool leave);

#endif
