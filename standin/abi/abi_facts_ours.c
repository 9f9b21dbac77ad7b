// SPDX-License-Identifier: Apache-2.0
// The sizes and offsets that the stand-in's own types have.
#include "abi_facts.h"
#include "cuda_abi_types.h"

const struct abi_fact abi_facts_ours[] = { ABI_SIZES(ABI_SIZE_FACT) ABI_OFFSETS(ABI_OFFSET_FACT) };
const size_t abi_num_facts_ours = sizeof(abi_facts_ours) / sizeof(abi_facts_ours[0]);
