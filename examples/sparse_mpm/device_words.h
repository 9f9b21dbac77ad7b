// SPDX-License-Identifier: Apache-2.0
// On a GPU: the operations that many threads may do at once on one word (see bodies.h).

MPM_SHARED void mpm_append(const mpm_list *list, unsigned entry)
{
    list->entries[atomicAdd(list->length, 1u)] = entry;
}

MPM_SHARED unsigned mpm_take(const mpm_list *list)
{
    return list->entries[atomicSub(list->length, 1u) - 1u];
}

MPM_SHARED void mpm_add_fixed(mpm_fixed *sum, mpm_fixed value, int alone)
{
    (void)alone;
    atomicAdd((unsigned long long *)sum, (unsigned long long)value);
}

MPM_SHARED void mpm_add_foam(unsigned *foam, unsigned amount)
{
    atomicAdd(foam, amount);
}

MPM_SHARED void mpm_mark(unsigned *flag)
{
    atomicExch(flag, 1u);
}
