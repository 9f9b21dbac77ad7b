// SPDX-License-Identifier: Apache-2.0
// A kernel as a block inside of another: its special registers, memory, parameters and barriers.
#include "islands/gpu_ptx_block.h"

#include <ctype.h>
#include <string.h>

#include "islands/gpu_ptx_variable.h"

enum { MOST_ALIGN = 16, TID = 0, CTAID = 3, NTID = 9 };

// In the order in which all but the first three stand in memory.
static const struct {
    const char *special, *name;
} specials[PTX_NUM_SPECIALS] = {
    { "%tid.x", "tid_x" },       { "%tid.y", "tid_y" },       { "%tid.z", "tid_z" },
    { "%ctaid.x", "ctaid_x" },   { "%ctaid.y", "ctaid_y" },   { "%ctaid.z", "ctaid_z" },
    { "%nctaid.x", "nctaid_x" }, { "%nctaid.y", "nctaid_y" }, { "%nctaid.z", "nctaid_z" },
    { "%ntid.x", "ntid_x" },     { "%ntid.y", "ntid_y" },     { "%ntid.z", "ntid_z" },
};

void braid_ptx_block_refuse(struct ptx_block *block, const char *format, struct ptx_word word)
{
    if (!block->failed)
        snprintf(block->reason->text, sizeof(block->reason->text), format,
                 word.length < 60 ? (int)word.length : 60, word.at);
    block->failed = true;
}

// ---- parameters and shared memory ----

static void add_memory(struct ptx_block *block, const struct ptx_variable *variable,
                       bool is_parameter)
{
    const uint32_t most = is_parameter ? MOST_ALIGN : PTX_MOST_SHARED_ALIGN;
    struct ptx_memory *slot = braid_array_append(&block->memory, 1, sizeof(*slot));
    block->failed |= !slot;
    if (!slot)
        return;
    *slot = (struct ptx_memory){ .name = variable->name,
                                 .align = variable->align,
                                 .bytes = (uint32_t)variable->bytes,
                                 .is_parameter = is_parameter,
                                 .is_open = variable->is_open };
    if (variable->align > most || variable->bytes > INT32_MAX)
        braid_ptx_block_refuse(block, "'%.*s' of it is aligned too far, or too large",
                               variable->name);
}

// As island_arg_offset has it.
static uint32_t place_argument(uint32_t at, uint32_t bytes)
{
    uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    return (at + align - 1) / align * align;
}

// All of them together are too large as well, so that no sum of places overflows.
static void check_end(struct ptx_block *block, const struct ptx_memory *memory)
{
    if ((uint64_t)memory->offset + memory->bytes > INT32_MAX)
        braid_ptx_block_refuse(block, "memory of it is too large: '%.*s'", memory->name);
}

static void add_parameter(struct ptx_block *block, const struct ptx_variable *variable,
                          uint32_t *at)
{
    struct ptx_callable *made = block->made;
    add_memory(block, variable, true);
    if (block->failed)
        return;
    if (made->num_args == PTX_MOST_PARAMETERS) {
        braid_ptx_block_refuse(block, "it has too many parameters: '%.*s'", variable->name);
        return;
    }
    struct ptx_memory *memory = (struct ptx_memory *)block->memory.items + block->memory.num - 1;
    memory->offset = place_argument(*at, memory->bytes);
    made->arg_bytes[made->num_args++] = memory->bytes;
    *at = memory->offset + memory->bytes;
    check_end(block, memory);
}

static void add_parameters(struct ptx_block *block, const struct ptx_function *function)
{
    const char *at = function->parameters, *end = function->parameters_end;
    uint32_t bytes = 0;
    while (at && at < end && !block->failed) {
        struct ptx_variable variable;
        struct ptx_word word = braid_ptx_next_word(&at);
        if (word.at >= end)
            return;
        if (!braid_ptx_read_variable(at, end + 1, &variable) || variable.is_open) {
            word.length = strcspn(word.at, ",)");
            braid_ptx_block_refuse(
                block, "it has a parameter that Braid does not understand: '%.*s'", word);
            return;
        }
        add_parameter(block, &variable, &bytes);
        at = variable.rest + (*variable.rest == ',');
    }
}

static void add_shared(struct ptx_block *block, const char *begin, const char *end)
{
    struct ptx_variable variable;
    if (braid_ptx_read_variable(begin, end, &variable) && *variable.rest == ';')
        add_memory(block, &variable, false);
    else
        braid_ptx_block_refuse(block, "it has shared memory that Braid does not understand: '%.*s'",
                               (struct ptx_word){ begin, strcspn(begin, ";") });
}

bool braid_ptx_block_begin(struct ptx_block *block, const struct ptx_function *function)
{
    const struct ptx *ptx = block->symbols->ptx;
    add_parameters(block, function);
    for (size_t i = 0; i < ptx->declarations.num && !block->failed; i++) {
        const struct ptx_declaration *declaration = &ptx_declarations(ptx)[i];
        if (braid_ptx_word_is(declaration->space, ".shared"))
            add_shared(block, declaration->space.at + declaration->space.length, declaration->end);
    }
    block->function = function;
    for (size_t i = 0; i < function->num && !block->failed; i++) {
        const struct ptx_statement *statement = &ptx_statements(ptx, function)[i];
        if (statement->kind == PTX_DIRECTIVE && (statement->facts & PTX_SHARED))
            add_shared(block, statement->word.at + statement->word.length, statement->end);
    }
    return !block->failed;
}

void braid_ptx_block_end(struct ptx_block *block)
{
    uint32_t align = block->made->is_open ? PTX_MOST_SHARED_ALIGN : MOST_ALIGN;
    block->made->shared_bytes = (block->made->shared_bytes + align - 1) / align * align;
}

void braid_ptx_block_finish(struct ptx_block *block)
{
    braid_array_finish(&block->memory);
}

struct ptx_memory *braid_ptx_block_find_memory(const struct ptx_block *block, struct ptx_word name)
{
    struct ptx_memory *items = block->memory.items;
    for (size_t i = 0; i < block->memory.num; i++) {
        if (ptx_same_word(items[i].name, name))
            return &items[i];
    }
    return NULL;
}

// In the order of their use, so that a kernel has no room for memory that only others use.
static void place_shared(struct ptx_block *block, struct ptx_memory *memory)
{
    struct ptx_callable *made = block->made;
    made->is_open |= memory->is_open;
    if (memory->is_placed || memory->is_open)
        return;
    memory->is_placed = true;
    memory->offset = (made->shared_bytes + memory->align - 1) / memory->align * memory->align;
    made->shared_bytes = memory->offset + memory->bytes;
    check_end(block, memory);
}

bool braid_ptx_block_put_memory(struct ptx_block *block, struct ptx_word word, bool is_wide)
{
    struct ptx_memory *memory = braid_ptx_block_find_memory(block, word);
    if (!memory || (memory->is_parameter && !block->is_entry))
        return false;
    if (!block->is_entry) {
        braid_ptx_block_refuse(block, "a function of it uses the shared memory '%.*s'", word);
        return true;
    }
    if (memory->is_parameter)
        block->made->is_plain &= block->loads_word;
    else
        place_shared(block, memory);
    memory->is_wide |= is_wide;
    memory->is_used = true;
    fprintf(block->file, "%%braid_m%s%zu", is_wide ? "d" : "",
            (size_t)(memory - (struct ptx_memory *)block->memory.items));
    return true;
}

// ---- special registers ----

// Whether the register tells of the whole launch, of which the kernel is a part only.
static bool is_of_launch(struct ptx_word word)
{
    static const char *const names[] = { "%tid",        "%ntid",        "%ctaid",
                                         "%nctaid",     "%warpid",      "%nwarpid",
                                         "%gridid",     "%envreg",      "%cluster_",
                                         "%clusterid",  "%ncluster",    "%is_explicit_cluster",
                                         "%nclusterid", "%total_smem",  "%dynamic_smem",
                                         "%aggr_smem",  "%reserved_sm", NULL };
    for (const char *const *name = names; *name; name++) {
        size_t length = strlen(*name);
        if (!braid_ptx_word_begins(word, *name))
            continue;
        bool is_register = strcmp(*name, "%envreg") && word.length > length &&
                           isdigit((unsigned char)word.at[length]); // %tid3 of the program's own
        if (!is_register)
            return true;
    }
    return false;
}

bool braid_ptx_block_put_special(struct ptx_block *block, struct ptx_word word)
{
    if (word.at[0] != '%')
        return false;
    for (int i = 0; i < PTX_NUM_SPECIALS; i++) {
        if (!braid_ptx_word_is(word, specials[i].special))
            continue;
        if (!block->is_entry)
            braid_ptx_block_refuse(block, "a function of it reads '%.*s'", word);
        block->reads[i] = true;
        fprintf(block->file, "%%braid_%s", specials[i].name);
        return true;
    }
    if (is_of_launch(word))
        braid_ptx_block_refuse(block, "it reads '%.*s'", word);
    return block->failed;
}

// ---- the start ----

static void put_load(const char *name, int word, FILE *to)
{
    fprintf(to, "\t.reg .b32 %%braid_%s;\n\tld.shared.u32 %%braid_%s, [%%braid_here+%d];\n", name,
            name, 4 * word);
}

static void put_thread(const struct ptx_block *block, FILE *to)
{
    fputs("\t.reg .b32 %braid_tid_x, %braid_tid_y, %braid_tid_z;\n", to);
    if (block->site->flat)
        fputs("\tmov.u32 %braid_tid_x, %braid_index;\n\tmov.u32 %braid_tid_y, 0;\n"
              "\tmov.u32 %braid_tid_z, 0;\n",
              to);
    else
        fputs("\trem.u32 %braid_tid_x, %braid_index, %braid_ntid_x;\n"
              "\tdiv.u32 %braid_tid_z, %braid_index, %braid_ntid_x;\n"
              "\trem.u32 %braid_tid_y, %braid_tid_z, %braid_ntid_y;\n"
              "\tdiv.u32 %braid_tid_z, %braid_tid_z, %braid_ntid_y;\n",
              to);
}

static void put_specials(const struct ptx_block *block, FILE *to)
{
    const bool *reads = block->reads;
    bool reads_thread = reads[TID] || reads[TID + 1] || reads[TID + 2];
    bool divides = reads_thread && !block->site->flat;
    for (int i = CTAID; i < PTX_NUM_SPECIALS; i++) {
        if (reads[i] || (i >= NTID && (block->asks_threads || divides)))
            put_load(specials[i].name, i - CTAID, to);
    }
    if (reads_thread)
        put_thread(block, to);
    if (block->asks_threads)
        fputs("\t.reg .b32 %braid_threads;\n"
              "\tmul.lo.u32 %braid_threads, %braid_ntid_x, %braid_ntid_y;\n"
              "\tmul.lo.u32 %braid_threads, %braid_threads, %braid_ntid_z;\n",
              to);
}

static void put_addresses(const struct ptx_block *block, FILE *to)
{
    const struct ptx_memory *items = block->memory.items;
    for (size_t i = 0; i < block->memory.num; i++) {
        uint32_t offset = items[i].is_open ? block->made->shared_bytes : items[i].offset;
        if (items[i].is_used)
            fprintf(to, "\t.reg .b32 %%braid_m%zu;\n\tadd.u32 %%braid_m%zu, %%braid_%s, %u;\n", i,
                    i, items[i].is_parameter ? "args" : "shared", offset);
        if (items[i].is_wide)
            fprintf(to, "\t.reg .b64 %%braid_md%zu;\n\tcvt.u64.u32 %%braid_md%zu, %%braid_m%zu;\n",
                    i, i, i);
    }
}

// Each number of all kernels' barriers is one for each lane.
static void put_barriers(const struct ptx_block *block, FILE *to)
{
    const struct ptx_site *site = block->site;
    uint32_t at = 0;
    for (unsigned i = 0; i < PTX_NUM_BARRIERS; i++) {
        if (block->made->numbers >> i & 1)
            fprintf(to, "\t.reg .b32 %%braid_b%u;\n\tadd.u32 %%braid_b%u, %%braid_barrier, %u;\n",
                    i, i, at);
        at += site->numbers >> i & 1 ? site->num_groups : 0;
    }
}

// Threads of a warp may come here one by one, and instructions of the whole warp would not wait.
void braid_ptx_block_put_start(const struct ptx_block *block, FILE *to)
{
    if (block->made->warps)
        fputs("\tbar.warp.sync 0xffffffff;\n", to);
    put_specials(block, to);
    put_addresses(block, to);
    put_barriers(block, to);
}
