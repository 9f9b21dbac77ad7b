// SPDX-License-Identifier: Apache-2.0
// Tiny libraries for the loader's tests. STUB says which: 0 is another library altogether, 1 lacks
// a required symbol, 2 is old (no optional symbol, and an old name), 3 has everything.
#if STUB == 0
int stub_other(void);
int stub_other(void)
{
    return 0;
}
#endif

#if STUB >= 1
int stub_open(void);
int stub_open(void)
{
    return STUB;
}
#endif

#if STUB == 2
int stub_close(void);
int stub_close(void)
{
    return 20;
}
#endif

#if STUB == 3
int stub_close_v2(void);
int stub_close_v2(void)
{
    return 30;
}

int stub_extra(void);
int stub_extra(void)
{
    return 31;
}
#endif
