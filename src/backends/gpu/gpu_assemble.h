// SPDX-License-Identifier: Apache-2.0
// Loading text that Braid wrote, as machine code where something beside the driver can assemble it.
//
// While CUDA's driver compiles text, it lets no other thread launch. nvJitLink compiles the same
// text without the driver, which then loads the machine code in milliseconds. Results are kept on
// disk, as the driver keeps its own.
#ifndef BRAID_BACKENDS_GPU_GPU_ASSEMBLE_H
#define BRAID_BACKENDS_GPU_GPU_ASSEMBLE_H

#include "backends/gpu/gpu_api.h"

struct gpu_backend;

// Loads `text` under a name for messages. The driver compiles it where nvJitLink is absent or
// refuses the text, and where the driver refuses the machine code. Then the log is told why. A
// driver that takes the text behind that is older than nvJitLink, and compiles all later texts of
// the device. The device is current. The result is that of gpu_api.module_load.
gpu_result braid_gpu_load_text(struct gpu_backend *gpu, const char *name, const char *text,
                               gpu_module *out_module);

#endif
