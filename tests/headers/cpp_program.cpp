// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses the C interface: it links only if the headers declare C linkage.
#include <braid/braid.h>

#include <cstring>

int main()
{
    return std::strcmp(braid_status_name(BRAID_OK), "BRAID_OK") == 0 && braid_version() ? 0 : 1;
}
