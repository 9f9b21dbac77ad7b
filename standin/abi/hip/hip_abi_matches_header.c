// SPDX-License-Identifier: Apache-2.0
// AMD's declarations satisfy the same assertions, and each function has AMD's prototype: after
// AMD's headers, hip_abi.h declares every function a second time. Compiling this file is the test.
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "hip_abi.h"
#include "hip_abi_values.h"
