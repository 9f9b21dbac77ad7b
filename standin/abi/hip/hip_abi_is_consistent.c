// SPDX-License-Identifier: Apache-2.0
// The stand-in's own declarations satisfy the assertions. Compiling this file is the test.
#include "hip_abi.h"
#include "hip_abi_values.h"
