// SPDX-License-Identifier: Apache-2.0
// What the stand-in exports is what the vendor's header declares. Compiled only where there is one.
//
// Three ways: the compiler compares every prototype, because the stand-in's are declared again
// after the vendor's; it compares every enumerator; and sizes and offsets are compared at run time.
#define __CUDA_API_VERSION_INTERNAL // the header then declares the older shapes too
#include <cuda.h>

#include <stdio.h>

#if CUDA_VERSION < 12060 // it lacks types that later shapes need

int main(void)
{
    printf("cuda.h is of CUDA %d; the comparison needs 12060 or later\n", CUDA_VERSION);
    return 77;
}

#else

#include "cuda_abi.h"
#include "old_abi.h"

#include "abi_facts.h"
#include "cuda_abi_constants.h"

#define SAME(name, number) _Static_assert((int)(name) == (number), #name);
#define SAME_ATTRIBUTE(name, number, answer) SAME(name, number)
CUDA_ABI_RESULTS(SAME)
CUDA_ABI_ATTRIBUTES(SAME_ATTRIBUTE)
CUDA_ABI_FUNCTION_ATTRIBUTES(SAME)
CUDA_ABI_NODE_TYPES(SAME)
CUDA_ABI_CONDITIONAL_TYPES(SAME)
CUDA_ABI_UPDATE_RESULTS(SAME)
CUDA_ABI_INSTANTIATE_RESULTS(SAME)
CUDA_ABI_LAUNCH_ATTRIBUTES(SAME)
CUDA_ABI_CAPTURE_MODES(SAME)
CUDA_ABI_CAPTURE_STATUSES(SAME)
CUDA_ABI_MEMORY_TYPES(SAME)
CUDA_ABI_POINTER_ATTRIBUTES(SAME)
CUDA_ABI_POOL_ATTRIBUTES(SAME)
CUDA_ABI_JIT_OPTIONS(SAME)
CUDA_ABI_PROC_RESULTS(SAME)
CUDA_ABI_FLAGS(SAME)

const struct abi_fact abi_facts_theirs[] = { ABI_SIZES(ABI_SIZE_FACT)
                                                 ABI_OFFSETS(ABI_OFFSET_FACT) };
const size_t abi_num_facts_theirs = sizeof(abi_facts_theirs) / sizeof(abi_facts_theirs[0]);

int main(void)
{
    int num_wrong = abi_num_facts_ours != abi_num_facts_theirs;
    for (size_t i = 0; num_wrong == 0 && i < abi_num_facts_ours; i++)
        if (abi_facts_ours[i].value != abi_facts_theirs[i].value) {
            printf("%s is %zu in the stand-in and %zu in cuda.h\n", abi_facts_ours[i].text,
                   abi_facts_ours[i].value, abi_facts_theirs[i].value);
            num_wrong++;
        }
    printf("summary: %zu sizes and offsets agree with CUDA %d\n",
           abi_num_facts_ours - (size_t)num_wrong, CUDA_VERSION);
    return num_wrong != 0;
}

#endif
