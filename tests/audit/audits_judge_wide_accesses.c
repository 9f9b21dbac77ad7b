// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit judges all bytes of an access, of which a fault tells one.
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

// Audits a call with two buffers in one page, behind each other, and a mode of each; 0: none.
static void audit_call(braid_host_function *call, int first, int second)
{
    static const char *const names[] = { "first", "second" };
    const int modes[] = { first, second };
    braid_access accesses[2];
    uint32_t num = 0;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < 2; i++) {
        braid_resource buffer;
        check_ok(braid_graph_add_buffer(graph, names[i], audited.words + 16 * i, 64, &buffer));
        if (modes[i])
            accesses[num++] = (braid_access){ buffer, (braid_access_mode)modes[i] };
    }
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .node = { .accesses = accesses, .num_accesses = num },
                            .call = call,
                            .user = audited.words },
        NULL));
    audit(audited.device, graph, &audited.findings);
    braid_graph_destroy(graph);
}

static void expect_texts(const char *const *texts)
{
    size_t num = 0;
    for (; texts[num] && num < audited.findings.num; num++)
        assert_string_equal(audited.findings.items[num].text, texts[num]);
    assert_null(texts[num]);
    if (audited.findings.num > num)
        fail_msg("%s", audited.findings.items[num].text);
}
#define EXPECT_TEXTS(call, first, second, ...)                                                     \
    do {                                                                                           \
        audit_call(call, first, second);                                                           \
        expect_texts((const char *const[]){ __VA_ARGS__, NULL });                                  \
    } while (0)

static void write_last_and_read_next(void *words)
{
    ((volatile uint8_t *)words)[63] = 5;
    (void)((volatile uint8_t *)words)[64];
}

static void read_last(void *words)
{
    (void)((volatile uint8_t *)words)[63];
}

static void an_access_right_before_a_buffer_is_none_of_it(void **state)
{
    (void)state;
    EXPECT_TEXTS(write_last_and_read_next, 0, BRAID_WRITE,
                 "node 0 'host call' reads byte 0 of 'second', which it does not declare",
                 "node 0 'host call' writes byte 63 of 'first', which it does not declare",
                 "node 0 'host call' declares to write 'second', and in this frame never does");
    EXPECT_TEXTS(read_last, BRAID_READ, BRAID_READ,
                 "node 0 'host call' declares to read 'second', and in this frame never does");
}

static void read_both(void *words)
{
    (void)*(volatile uint64_t *)((unsigned char *)words + 60);
}

static void bytes_behind_the_first_may_be_only_written(void **state)
{
    (void)state;
    EXPECT_TEXTS(
        read_both, BRAID_READ, BRAID_WRITE,
        "node 0 'host call' reads bytes from 0 to 3 of 'second', which it does not declare",
        "node 0 'host call' declares to write 'second', and in this frame never does");
}

#if defined(__x86_64__)

static void read_long_double(void *words)
{
    __asm__ volatile("fldt %0\n\tfstp %%st(0)" : : "m"(*((const char(*)[10])words + 6)));
}

static void compare_integers(void *words)
{
    __asm__ volatile("pcmpeqb %0, %%xmm0"
                     :
                     : "m"(*(const vector *)((unsigned char *)words + 48))
                     : "xmm0");
}

// A mask leaves out the vector's first eight bytes, which are of the first buffer.
static void write_masked(void *words)
{
    static const vector mask = { 0, 0, ~0u, ~0u };
    __asm__ volatile("maskmovdqu %0, %%xmm0"
                     :
                     : "x"(mask), "D"((unsigned char *)words + 56)
                     : "memory");
}

// The processor chooses of which place it faults first.
static void compare_places(void *words)
{
    unsigned char *first = words, *second = first + 64;
    __asm__ volatile("cmpsb" : "+S"(first), "+D"(second) : : "cc", "memory");
}

// 512 bytes, by a fault at the last.
static void save_vectors(void *words)
{
    __asm__ volatile("fxsave (%0)" : : "r"(words) : "memory");
}

// Two bytes, where the same instruction mostly writes eight.
static void push_short(void *words)
{
    __asm__ volatile("movq %%rsp, %%r12\n\tmovq %0, %%rsp\n\tpushw $5\n\tmovq %%r12, %%rsp"
                     :
                     : "r"((unsigned char *)words + 64)
                     : "r12", "memory");
}

// Two bytes: a prefix of wide operands counts right before the opcode only.
static void write_behind_dead_prefix(void *words)
{
    __asm__ volatile(".byte 0x48, 0x66, 0x89, 0x03" : : "b"((char *)words + 62) : "memory");
}

// It returns from an interrupt of its own making, whose 40 bytes are in both buffers.
static void read_all_of_an_interrupt(void *words)
{
    __asm__ volatile("movq %%rsp, %%r12\n\tleaq 40(%0), %%rsp\n\tmovq %%ss, %%rax\n\t"
                     "pushq %%rax\n\tpushq %%r12\n\tpushfq\n\tmovq %%cs, %%rax\n\t"
                     "pushq %%rax\n\tleaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tiretq\n"
                     "1:\tmovq %%r12, %%rsp"
                     :
                     : "r"((unsigned char *)words + 24)
                     : "r12", "rax", "memory", "cc");
}

// Findings tell of the undeclared access, or that some are not seen, or both.
static void expect_kind(braid_host_function *call, int first, int second, braid_audit_kind kind)
{
    audit_call(call, first, second);
    assert_in_range(audited.findings.num, 1, 2);
    for (size_t i = 0; i < audited.findings.num; i++) {
        braid_audit_kind found = audited.findings.items[i].told.kind;
        if (found != kind && found != BRAID_AUDIT_UNSEEN)
            fail_msg("%s", audited.findings.items[i].text);
    }
}

static void instructions_are_known_or_told_of(void **state)
{
    (void)state;
    EXPECT_TEXTS(
        read_long_double, BRAID_READ, 0,
        "node 0 'host call' reads bytes from 0 to 5 of 'second', which it does not declare");
    EXPECT_TEXTS(compare_integers, BRAID_READ, 0, NULL);
    expect_kind(compare_places, BRAID_READ, BRAID_READ, BRAID_AUDIT_UNSEEN);
    expect_kind(compare_places, BRAID_READ, 0, BRAID_AUDIT_READS);
    expect_kind(compare_places, 0, BRAID_READ, BRAID_AUDIT_READS);
    expect_kind(write_masked, 0, BRAID_READ_WRITE, BRAID_AUDIT_UNSEEN);
    expect_kind(write_masked, BRAID_READ_WRITE, 0, BRAID_AUDIT_WRITES);
    EXPECT_TEXTS(save_vectors, BRAID_READ_WRITE, BRAID_READ_WRITE, NULL);
    expect_kind(save_vectors, BRAID_WRITE, 0, BRAID_AUDIT_WRITES);
    expect_kind(push_short, BRAID_READ_WRITE, BRAID_READ_WRITE, BRAID_AUDIT_UNSEEN);
    EXPECT_TEXTS(write_behind_dead_prefix, BRAID_WRITE, 0, NULL);
    EXPECT_TEXTS(
        read_all_of_an_interrupt, BRAID_READ_WRITE, BRAID_READ,
        "node 0 'host call' is not audited: an instruction may reach further than its first byte "
        "tells");
}

static void add_to_word(void *words)
{
    __asm__ volatile("addl $1, 16(%0)" : : "r"(words) : "memory", "cc");
}

static void negate_word(void *words)
{
    __asm__ volatile("negl (%0, %1, 4)" : : "r"(words), "r"(4L) : "memory", "cc");
}

// Compilers mostly exchange. The thread sanitizer stores an atomic word under a lock of its own.
static void store_in_order(void *words)
{
    uint32_t stored = 4;
    __asm__ volatile("xchgl %0, (%1)" : "+r"(stored) : "r"(words) : "memory");
}

// Compilers mostly store so where code is to be short.
static void store_in_short(void *words)
{
    __asm__ volatile("andl $0, (%0)\n\torq $-1, 8(%0)\n\tandw $0, 16(%0, %1, 4)\n\t"
                     "orl $-1, 512(%2)"
                     :
                     : "r"(words), "r"(1L), "r"((unsigned char *)words - 480)
                     : "memory", "cc");
}

static void clear_bits(void *words)
{
    __asm__ volatile("andl $1, 16(%0)" : : "r"(words) : "memory", "cc");
}

static void write_and_add_to_word(void *words)
{
    ((volatile uint32_t *)words)[3] = 1;
    add_to_word(words);
}

static void an_update_reads_what_is_only_written(void **state)
{
    (void)state;
    EXPECT_TEXTS(
        add_to_word, BRAID_WRITE, 0,
        "node 0 'host call' reads bytes from 16 to 19 of 'first', which it does not declare");
    EXPECT_TEXTS(
        negate_word, BRAID_WRITE, 0,
        "node 0 'host call' reads bytes from 16 to 19 of 'first', which it does not declare");
    EXPECT_TEXTS(
        clear_bits, BRAID_WRITE, 0,
        "node 0 'host call' reads bytes from 16 to 19 of 'first', which it does not declare");
    EXPECT_TEXTS(store_in_order, BRAID_WRITE, 0, NULL);
    EXPECT_TEXTS(store_in_short, BRAID_WRITE, 0, NULL);
    EXPECT_TEXTS(write_and_add_to_word, BRAID_WRITE, 0, NULL);
    EXPECT_TEXTS(add_to_word, BRAID_READ_WRITE, 0, NULL);
}

static void read_across_pages(void *words)
{
    (void)*(volatile uint64_t *)((unsigned char *)words + PAGE - 4);
}

static void read_first_of_page(void *words)
{
    (void)*(volatile uint32_t *)((unsigned char *)words + PAGE);
}

// A fault tells of the first byte in each page.
static void each_page_of_an_access_is_judged(void **state)
{
    static const int begins[] = { PAGE - 4, PAGE, PAGE + 4 };
    braid_host_function *const calls[] = { read_across_pages, read_first_of_page };
    void *pages = map_pages(2);
    braid_resource buffer, parts[3];
    (void)state;
    check_ok(braid_graph_add_buffer(audited.graph, "two", pages, 2 * PAGE, &buffer));
    for (int i = 0; i < 3; i++)
        check_ok(braid_graph_add_range(audited.graph, buffer, (uint64_t)begins[i], 4, &parts[i]));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(
            audited.graph,
            &(braid_host_call){ BRAID_ACCESSES({ parts[0], BRAID_READ }, { parts[1], BRAID_READ },
                                               { parts[2], BRAID_READ }),
                                .call = calls[i], .user = pages },
            NULL));
    audit(audited.device, audited.graph, &audited.findings);
    expect_texts((const char *const[]){
        "node 0 'host call' declares to read 'two[4100, 4104)', and in this frame never does",
        "node 1 'host call' declares to read 'two[4092, 4096)', and in this frame never does",
        "node 1 'host call' declares to read 'two[4100, 4104)', and in this frame never does",
        NULL });
    munmap(pages, 2 * PAGE);
}

// Each uses so many bytes, the last of which is the last of the first buffer, or one behind it.
#define INSTRUCTIONS(OF)                                                                           \
    OF(movss, 4, "movss %0, %%xmm0")                                                               \
    OF(movsd, 8, "movsd %0, %%xmm0")                                                               \
    OF(movlps, 8, "movlps %0, %%xmm0")                                                             \
    OF(movhps, 8, "movhps %0, %%xmm0")                                                             \
    OF(movlps_to, 8, "movlps %%xmm0, %0")                                                          \
    OF(movhps_to, 8, "movhps %%xmm0, %0")                                                          \
    OF(movups, 16, "movups %0, %%xmm0")                                                            \
    OF(movdqu_to, 16, "movdqu %%xmm0, %0")                                                         \
    OF(cvtsi2ssl, 4, "cvtsi2ssl %0, %%xmm0")                                                       \
    OF(cvtsi2sdq, 8, "cvtsi2sdq %0, %%xmm0")                                                       \
    OF(cvttss2si, 4, "cvttss2si %0, %%eax")                                                        \
    OF(cvtsd2si, 8, "cvtsd2si %0, %%eax")                                                          \
    OF(ucomiss, 4, "ucomiss %0, %%xmm0")                                                           \
    OF(ucomisd, 8, "ucomisd %0, %%xmm0")                                                           \
    OF(cvtps2pd, 8, "cvtps2pd %0, %%xmm0")                                                         \
    OF(cvtss2sd, 4, "cvtss2sd %0, %%xmm0")                                                         \
    OF(cvtsd2ss, 8, "cvtsd2ss %0, %%xmm0")                                                         \
    OF(movd, 4, "movd %0, %%xmm0")                                                                 \
    OF(movd_to, 4, "movd %%xmm0, %0")                                                              \
    OF(movq, 8, "movq %0, %%xmm0")                                                                 \
    OF(movq_to, 8, "movq %%xmm0, %0")                                                              \
    OF(movzwl, 2, "movzwl %0, %%eax")                                                              \
    OF(movsbl, 1, "movsbl %0, %%eax")                                                              \
    OF(movslq, 4, "movslq %0, %%rax")                                                              \
    OF(movw_segment_to, 2, "movw %%ds, %0")                                                        \
    OF(seta, 1, "seta %0")                                                                         \
    OF(cmpxchgl, 4, "cmpxchgl %%eax, %0")                                                          \
    OF(xaddq, 8, "xaddq %%rax, %0")                                                                \
    OF(btsl, 4, "btsl $3, %0")                                                                     \
    OF(cmovzl, 4, "cmovzl %0, %%eax")
#define VECTOR_INSTRUCTIONS(OF)                                                                    \
    OF(vmovss, 4, "vmovss %0, %%xmm0")                                                             \
    OF(vmovups, 32, "vmovups %0, %%ymm0")                                                          \
    OF(vmovddup, 32, "vmovddup %0, %%ymm0")                                                        \
    OF(vbroadcastss, 4, "vbroadcastss %0, %%ymm0")                                                 \
    OF(vpbroadcastb, 1, "vpbroadcastb %0, %%ymm0")                                                 \
    OF(vpbroadcastw, 2, "vpbroadcastw %0, %%ymm0")                                                 \
    OF(vfmadd231ss, 4, "vfmadd231ss %0, %%xmm0, %%xmm0")                                           \
    OF(vfmadd231sd, 8, "vfmadd231sd %0, %%xmm0, %%xmm0")                                           \
    OF(vfmadd231pd, 32, "vfmadd231pd %0, %%ymm0, %%ymm0")

static int num_behind;

#define FUNCTION_OF(name, bytes, text)                                                             \
    static void use_##name(void *words)                                                            \
    {                                                                                              \
        char(*at)[bytes] = (char(*)[bytes])((char *)words + 64 - (bytes) + num_behind);            \
        __asm__ volatile(text : "+m"(*at) : : "xmm0", "rax", "cc");                                \
    }
INSTRUCTIONS(FUNCTION_OF)
VECTOR_INSTRUCTIONS(FUNCTION_OF)

#define ROW_OF(name, bytes, text) { #name, use_##name },
struct instruction {
    const char *name;
    braid_host_function *use;
};

static void check_widths(const struct instruction *instructions, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        for (num_behind = 0; num_behind < 2; num_behind++) {
            audit_call(instructions[i].use, BRAID_EXCLUSIVE, 0);
            if (audited.findings.num != (size_t)num_behind)
                fail_msg("%s: %zu findings of %d bytes behind", instructions[i].name,
                         audited.findings.num, num_behind);
            if (num_behind)
                assert_non_null(strstr(audited.findings.items[0].text, " byte 0 of 'second'"));
        }
    }
}

static void each_instruction_has_its_width(void **state)
{
    static const struct instruction all[] = { INSTRUCTIONS(ROW_OF) };
    (void)state;
    check_widths(all, sizeof(all) / sizeof(all[0]));
}

// Words of both buffers. A fault tells of one.
static void gather_words(void *words)
{
    static const int32_t places[8] = { 0, 1, 2, 3, 16, 17, 18, 19 };
    __asm__ volatile("vmovdqu (%1), %%ymm0\n\tvpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\t"
                     "vpgatherdd %%ymm1, (%0, %%ymm0, 4), %%ymm2"
                     :
                     : "r"(words), "r"(places)
                     : "memory", "xmm0", "xmm1", "xmm2");
}

static void longer_vectors_have_their_width(void **state)
{
    static const struct instruction all[] = { VECTOR_INSTRUCTIONS(ROW_OF) };
    (void)state;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        skip_because("this processor has no AVX2");
    check_widths(all, sizeof(all) / sizeof(all[0]));
    expect_kind(gather_words, BRAID_READ, 0, BRAID_AUDIT_READS);
    expect_kind(gather_words, BRAID_READ, BRAID_READ, BRAID_AUDIT_UNSEEN);
}

#else

static void instructions_are_known_or_told_of(void **state)
{
    (void)state;
    skip_because("it has instructions of x86-64");
}

static void an_update_reads_what_is_only_written(void **state)
{
    (void)state;
    skip_because("it has instructions of x86-64");
}

static void each_page_of_an_access_is_judged(void **state)
{
    (void)state;
    skip_because("it has instructions of x86-64");
}

static void each_instruction_has_its_width(void **state)
{
    (void)state;
    skip_because("it has instructions of x86-64");
}

static void longer_vectors_have_their_width(void **state)
{
    (void)state;
    skip_because("it has instructions of x86-64");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(bytes_behind_the_first_are_judged),
        AUDITED_TEST(an_access_right_before_a_buffer_is_none_of_it),
        AUDITED_TEST(bytes_behind_the_first_may_be_only_written),
        AUDITED_TEST(instructions_are_known_or_told_of),
        AUDITED_TEST(an_update_reads_what_is_only_written),
        AUDITED_TEST(each_page_of_an_access_is_judged),
        AUDITED_TEST(each_instruction_has_its_width),
        AUDITED_TEST(longer_vectors_have_their_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
