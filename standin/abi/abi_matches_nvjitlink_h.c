// SPDX-License-Identifier: Apache-2.0
// What the stand-in nvJitLink exports is what the vendor's header declares: the compiler compares.
#include <nvJitLink.h>

#include "nvjitlink_abi.h"

#define SAME(name, number) _Static_assert((int)(name) == (number), #name);
NVJITLINK_ABI_NUMBERS(SAME)
_Static_assert(NVJITLINK_INPUT_PTX == NVJITLINK_ABI_INPUT_PTX, "PTX");

int main(void)
{
    return 0;
}
