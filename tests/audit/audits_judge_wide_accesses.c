// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit judges the bytes of an access behind its first, which is declared.
#include "audit/audit_testing.h"

static void read_wide(void *at)
{
    (void)*(volatile uint64_t *)at;
}

static void write_wide(void *at)
{
    *(volatile uint64_t *)at = 5;
}

static void write_byte(void *at)
{
    *(volatile uint8_t *)at = 5;
}

typedef uint32_t vector __attribute__((vector_size(16)));

static void write_vector(void *at)
{
    *(volatile vector *)at = (vector){ 1, 2, 3, 4 };
}

static void add_call(braid_resource declared, braid_host_function *call, int at)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ declared, BRAID_EXCLUSIVE }), .call = call,
                            .user = (unsigned char *)audited.words + at },
        NULL));
}

static void bytes_behind_the_first_are_judged(void **state)
{
    static const char *const texts[] = {
        "node 2 'host call' reads bytes from 84 to 87 of 'words', which it does not declare",
        "node 5 'host call' writes bytes from 84 to 87 of 'words', which it does not declare",
        "node 7 'host call' writes bytes from 84 to 95 of 'words', which it does not declare",
    };
    braid_host_function *const calls[] = { read_wide, write_wide };
    braid_resource declared;
    (void)state;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 64, 20, &declared));
    for (int writes = 0; writes < 2; writes++)
        for (int at = 72; at <= 80; at += 4)
            add_call(declared, calls[writes], at);
    add_call(declared, write_vector, 64);
    add_call(declared, write_vector, 80);
    add_call(declared, write_byte, 83);
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < audited.findings.num && i < 3; i++)
        assert_string_equal(audited.findings.items[i].text, texts[i]);
    assert_int_equal(audited.findings.num, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(bytes_behind_the_first_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
