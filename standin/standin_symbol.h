// SPDX-License-Identifier: Apache-2.0
// How the stand-ins find the image of a __global__ function, which nvcc and hipcc register.
//
// The host function NAME of the running program has its image in the text NAME_image there, found
// as kernels are (standin_kernel.h).
#ifndef BRAID_STANDIN_SYMBOL_H
#define BRAID_STANDIN_SYMBOL_H

#include <dlfcn.h>
#include <stdio.h>

// The image, and the name of its entry; NULL: there is none.
static inline const char *standin_find_image(const void *symbol, const char **out_name)
{
    Dl_info info;
    char name[100];
    if (!symbol || !dladdr(symbol, &info) || !info.dli_sname || info.dli_saddr != symbol)
        return NULL;
    *out_name = info.dli_sname;
    snprintf(name, sizeof(name), "%s_image", info.dli_sname);
    return dlsym(RTLD_DEFAULT, name);
}

#endif
