// SPDX-License-Identifier: Apache-2.0
// The library's version.
#include <braid/braid.h>

#define TEXT_OF(number) #number
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *braid_get_version(void)
{
    return VERSION(BRAID_VERSION_MAJOR, BRAID_VERSION_MINOR, BRAID_VERSION_PATCH);
}
