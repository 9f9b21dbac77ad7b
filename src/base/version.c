// SPDX-License-Identifier: Apache-2.0
// The library's version.
#include <braid/braid.h>

const char *braid_version(void)
{
    return BRAID_BUILD_VERSION;
}
