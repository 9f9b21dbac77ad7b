// SPDX-License-Identifier: Apache-2.0
// Stands where a stranger could put a libbraid_mpi.so: it says that it was loaded.
#include <stdio.h>

__attribute__((constructor)) static void tell(void)
{
    puts("the foreign library was loaded");
    fflush(stdout);
}
