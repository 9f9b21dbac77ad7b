// SPDX-License-Identifier: Apache-2.0
// How a test gives a kernel a body when no GPU is there: the signature both stand-ins call.
//
// A module image names its entries (`.entry add` in PTX); the stand-in looks up the host function
// braid_standin_add in the running program (dlsym with RTLD_DEFAULT, so an executable must be
// linked with its symbols exported: `export_dynamic: true` in meson). One call runs the whole
// grid. args[i] points at the bytes of the i-th parameter, as in cuLaunchKernel.
#ifndef BRAID_STANDIN_KERNEL_H
#define BRAID_STANDIN_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*standin_kernel)(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args);

#ifdef __cplusplus
}
#endif

#endif
