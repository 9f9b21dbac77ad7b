// SPDX-License-Identifier: Apache-2.0
// What the stand-in compiler exports is what the vendor's header declares: the compiler compares.
#include <nvrtc.h>

#include "nvrtc_abi.h"

#define SAME(name, number) _Static_assert((int)(name) == (number), #name);
NVRTC_ABI_RESULTS(SAME)

int main(void)
{
    return 0;
}
