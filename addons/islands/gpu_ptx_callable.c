// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that a kernel becomes a block of code inside of another kernel.
#include "islands/gpu_ptx_callable.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/host_memory.h"
#include "islands/gpu_ptx_meet.h"
#include "islands/gpu_ptx_symbols.h"

enum { PTX_NUM_SPECIALS = 12 }; // x, y and z of tid, ctaid, nctaid and ntid

// A parameter, or a variable in shared memory: where it is, and which registers have its address.
struct ptx_memory {
    struct ptx_word name;
    uint32_t align, bytes, offset;
    bool is_parameter, is_open, is_placed;
    bool is_used, is_wide; // its address is asked for; with 64 bits
};

struct ptx_block {
    const struct ptx_symbols *symbols;
    struct ptx_meeting out;
    struct ptx_reason *reason;
    struct array memory; // struct ptx_memory
    const struct ptx_function *function;
    bool is_entry; // it is the kernel, not a function that it calls
    bool reads[PTX_NUM_SPECIALS];
    bool asks_threads; // it reads how many its block has
    bool copies;       // has copies that end later
    bool loads_word;   // the statement at hand loads 32 or 64 bits of a parameter
    bool has_trapped;  // nothing comes to the statement at hand, which is behind a trap
    bool failed;
};

// ---- the block: special registers, memory and parameters ----

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

// Says why it cannot be a block, where nothing has before; the format takes the word as %.*s.
static void refuse(struct ptx_block *block, const char *format, struct ptx_word word)
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
        refuse(block, "'%.*s' of it is aligned too far, or too large", variable->name);
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
        refuse(block, "memory of it is too large: '%.*s'", memory->name);
}

static void add_parameter(struct ptx_block *block, const struct ptx_variable *variable,
                          uint32_t *at)
{
    struct ptx_callable *made = block->out.made;
    add_memory(block, variable, true);
    if (block->failed)
        return;
    if (made->num_args == PTX_MOST_PARAMETERS) {
        refuse(block, "it has too many parameters: '%.*s'", variable->name);
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
            refuse(block, "it has a parameter that Braid does not understand: '%.*s'", word);
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
        refuse(block, "it has shared memory that Braid does not understand: '%.*s'",
               (struct ptx_word){ begin, strcspn(begin, ";") });
}

// Finds the parameters and shared memory of an entry. False: it cannot, for the reason.
static bool begin_block(struct ptx_block *block, const struct ptx_function *function)
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

// Once all statements are written: how much shared memory they use.
static void end_block(struct ptx_block *block)
{
    uint32_t align = block->out.made->is_open ? PTX_MOST_SHARED_ALIGN : MOST_ALIGN;
    block->out.made->shared_bytes = (block->out.made->shared_bytes + align - 1) / align * align;
}

static void finish_block(struct ptx_block *block)
{
    braid_array_finish(&block->memory);
}

static struct ptx_memory *find_memory(const struct ptx_block *block, struct ptx_word name)
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
    struct ptx_callable *made = block->out.made;
    made->is_open |= memory->is_open;
    if (memory->is_placed || memory->is_open)
        return;
    memory->is_placed = true;
    memory->offset = (made->shared_bytes + memory->align - 1) / memory->align * memory->align;
    made->shared_bytes = memory->offset + memory->bytes;
    check_end(block, memory);
}

static bool put_memory(struct ptx_block *block, struct ptx_word word, bool is_wide)
{
    struct ptx_memory *memory = find_memory(block, word);
    if (!memory || (memory->is_parameter && !block->is_entry))
        return false;
    if (!block->is_entry) {
        refuse(block, "a function of it uses the shared memory '%.*s'", word);
        return true;
    }
    if (memory->is_parameter)
        block->out.made->is_plain &= block->loads_word;
    else
        place_shared(block, memory);
    memory->is_wide |= is_wide;
    memory->is_used = true;
    fprintf(block->out.file, "%%braid_m%s%zu", is_wide ? "d" : "",
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

// Each writes the replacement of a word, if it is such a one.
static bool put_special(struct ptx_block *block, struct ptx_word word)
{
    if (word.at[0] != '%')
        return false;
    for (int i = 0; i < PTX_NUM_SPECIALS; i++) {
        if (!braid_ptx_word_is(word, specials[i].special))
            continue;
        if (!block->is_entry)
            refuse(block, "a function of it reads '%.*s'", word);
        block->reads[i] = true;
        fprintf(block->out.file, "%%braid_%s", specials[i].name);
        return true;
    }
    if (is_of_launch(word))
        refuse(block, "it reads '%.*s'", word);
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
    if (block->out.site->flat)
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
    bool divides = reads_thread && !block->out.site->flat;
    for (int i = CTAID; i < PTX_NUM_SPECIALS; i++) {
        if (reads[i] || (i >= NTID && (block->out.asks_threads || divides)))
            put_load(specials[i].name, i - CTAID, to);
    }
    if (reads_thread)
        put_thread(block, to);
    if (block->out.asks_threads)
        fputs("\t.reg .b32 %braid_threads;\n"
              "\tmul.lo.u32 %braid_threads, %braid_ntid_x, %braid_ntid_y;\n"
              "\tmul.lo.u32 %braid_threads, %braid_threads, %braid_ntid_z;\n",
              to);
}

static void put_addresses(const struct ptx_block *block, FILE *to)
{
    const struct ptx_memory *items = block->memory.items;
    for (size_t i = 0; i < block->memory.num; i++) {
        uint32_t offset = items[i].is_open ? block->out.made->shared_bytes : items[i].offset;
        if (items[i].is_used)
            fprintf(to, "\t.reg .b32 %%braid_m%zu;\n\tadd.u32 %%braid_m%zu, %%braid_%s, %u;\n", i,
                    i, items[i].is_parameter ? "args" : "shared", offset);
        if (items[i].is_wide)
            fprintf(to, "\t.reg .b64 %%braid_md%zu;\n\tcvt.u64.u32 %%braid_md%zu, %%braid_m%zu;\n",
                    i, i, i);
    }
}

// Threads of a warp may come here one by one, and instructions of the whole warp would not wait.
// Writes the text in front of the kernel's statements, once these are written.
static void put_start(const struct ptx_block *block, FILE *to)
{
    if (block->out.made->warps)
        fputs("\tbar.warp.sync 0xffffffff;\n", to);
    put_specials(block, to);
    put_addresses(block, to);
    braid_ptx_put_meeting_places(&block->out, to);
}

// ---- operands ----

// [name + number]; its word is the name of a parameter.
static struct ptx_memory *find_address(const struct ptx_block *block, struct ptx_word operand,
                                       uint32_t *out_offset)
{
    const char *at = operand.at;
    if (!braid_ptx_word_is(braid_ptx_next_word(&at), "["))
        return NULL;
    struct ptx_memory *memory = find_memory(block, braid_ptx_next_word(&at));
    if (!memory || !memory->is_parameter)
        return NULL;
    struct ptx_word sign = braid_ptx_next_word(&at);
    bool has_number = braid_ptx_word_is(sign, "+");
    uint32_t number = has_number ? braid_ptx_read_number(braid_ptx_next_word(&at), 0, 0) : 0;
    *out_offset = memory->offset + number;
    return number < memory->bytes && (has_number || braid_ptx_word_is(sign, "]")) ? memory : NULL;
}

// Whether a statement loads from the entry's parameters.
static bool reads_parameter(const struct ptx_block *block, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    if (braid_ptx_word_begins(statement->word, "cvta.param"))
        return true;
    if (!braid_ptx_word_begins(statement->word, "ld.param"))
        return false;
    struct ptx_word word = braid_ptx_next_word(&at);
    while (word.at < statement->end && !braid_ptx_word_is(word, "["))
        word = braid_ptx_next_word(&at);
    word = braid_ptx_next_word(&at);
    const struct ptx_memory *memory = find_memory(block, word);
    return word.at[0] == '%' || (memory && memory->is_parameter);
}

// 32 of %r5, by how it is declared; 0: it is not.
static uint32_t bits_of_register(const struct ptx_block *block, struct ptx_word word)
{
    struct ptx_word type = braid_ptx_type_of(block->symbols->ptx, block->function, word);
    return braid_ptx_read_number(type, 2, 10);
}

// A load of one register of 32 or 64 bits from a parameter.
static bool loads_word(const struct ptx_block *block, const struct ptx_statement *statement,
                       struct ptx_word operands[PTX_MOST_OPERANDS], uint32_t *out_offset,
                       uint32_t *out_bits)
{
    const struct ptx_word word = statement->word;
    if (!braid_ptx_word_begins(word, "ld.param") ||
        braid_ptx_split_operands(statement, operands) != 2 ||
        !find_address(block, operands[1], out_offset) || *out_offset % 4)
        return false;
    const char *type = word.at + word.length - 2;
    *out_bits = memcmp(type, "32", 2) == 0 ? 32 : memcmp(type, "64", 2) == 0 ? 64 : 0;
    return *out_bits && operands[0].at[0] == '%' &&
           bits_of_register(block, operands[0]) == *out_bits;
}

// Where arguments are in registers, writes the replacement of a load of one.
static bool put_small(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_word operands[PTX_MOST_OPERANDS];
    uint32_t offset = 0, bits = 0;
    block->loads_word = loads_word(block, statement, operands, &offset, &bits);
    if (!block->loads_word || !block->out.site->small)
        return false;
    braid_ptx_put_guard(&block->out, statement);
    fprintf(block->out.file, "mov.b%u %.*s, ", bits, (int)operands[0].length, operands[0].at);
    if (bits == 32)
        fprintf(block->out.file, "%%braid_w%u;", offset / 4);
    else
        fprintf(block->out.file, "{%%braid_w%u, %%braid_w%u};", offset / 4, offset / 4 + 1);
    return true;
}

// ---- the needs of an instruction ----

// Copies to shared memory that the thread itself waits for.
static bool is_plain_copy(struct ptx_word instruction)
{
    static const char *const names[] = { "cp.async.ca.",      "cp.async.cg.",
                                         "cp.async.commit",   "cp.async.wait_group",
                                         "cp.async.wait_all", NULL };
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(instruction, *name))
            return true;
    }
    return false;
}

static bool can_be_inside(const struct ptx_block *block, const struct ptx_statement *statement)
{
    static const char *const names[] = { "alloca",     "stacksave",      "stackrestore",
                                         "setmaxnreg", "isspacep.param", NULL };
    unsigned facts = 0, forbidden = PTX_TEXTURE | PTX_CLUSTER | PTX_GRID_CONTROL | PTX_ASYNC;
    const struct ptx_word word = statement->word;
    braid_ptx_facts_of(word, &facts);
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(word, *name))
            return false;
    }
    if (!block->is_entry &&
        ((facts & PTX_BARRIER) || (braid_ptx_word_is(word, "exit") && !block->has_trapped)))
        return false;
    if (is_plain_copy(word) || braid_ptx_word_begins(word, "fence."))
        return true;
    return !(facts & forbidden) && !braid_ptx_has_part(word, ".async") &&
           !braid_ptx_has_part(word, "mbarrier");
}

static void note_facts(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_callable *made = block->out.made;
    if (statement->kind != PTX_INSTRUCTION)
        return;
    made->barriers |= (statement->facts & PTX_BARRIER) != 0;
    made->warps |= (statement->facts & PTX_WARP) != 0;
    made->fences |= (statement->facts & PTX_VOLATILE) != 0;
    block->copies |= is_plain_copy(statement->word);
    if (!can_be_inside(block, statement))
        refuse(block,
               block->is_entry ? "it has the instruction '%.*s', which islands do not have"
                               : "a function of it has the instruction '%.*s', which "
                                 "functions in islands do not have",
               statement->word);
}

// ---- writing ----

static void put_word(struct ptx_block *block, struct ptx_word word)
{
    fwrite(word.at, 1, word.length, block->out.file);
}

// Drops the parts that load past the caches, and loads parameters from their new space.
static void put_opcode(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_word word = statement->word;
    const bool is_uniform = braid_ptx_word_begins(word, "ldu.");
    size_t at = is_uniform ? 3 : 0;
    if (block->is_entry && (statement->facts & PTX_EXIT)) {
        fputs("bra braid_end", block->out.file);
        return;
    }
    if (is_uniform)
        fputs("ld", block->out.file);
    bool is_read = block->is_entry && reads_parameter(block, statement);
    while (at < word.length) {
        size_t part = at + 1;
        while (part < word.length && word.at[part] != '.')
            part++;
        struct ptx_word piece = { word.at + at, part - at };
        if (is_read &&
            (braid_ptx_word_is(piece, ".param") || braid_ptx_word_is(piece, ".param::entry")))
            fputs(".shared", block->out.file);
        else if (!braid_ptx_word_is(piece, ".nc"))
            put_word(block, piece);
        at = part;
    }
}

// A name of the module, of shared memory or of a parameter, or a special register.
static void put_operand(struct ptx_block *block, const struct ptx_statement *statement,
                        struct ptx_word word, bool is_address)
{
    if (word.length == 0 || put_special(block, word))
        return;
    if (block->failed)
        return;
    // An address in brackets may have 32 bits; a value has those of the instruction.
    bool is_wide = !is_address && statement->word.length > 2 &&
                   memcmp(statement->word.at + statement->word.length - 2, "64", 2) == 0;
    if (put_memory(block, word, is_wide))
        return;
    struct ptx_symbol *symbol = braid_ptx_find_symbol(block->symbols, word);
    if (symbol)
        symbol->is_needed = true;
    if (symbol && !braid_ptx_is_of_driver(block->symbols, symbol))
        fputs(block->out.site->prefix, block->out.file);
    put_word(block, word);
}

// Without the mask, which stands there already.
static void put_words(struct ptx_block *block, const struct ptx_statement *statement,
                      struct ptx_word mask)
{
    const char *from = statement->begin, *at = from;
    int brackets = 0;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        fwrite(from, 1, (size_t)(word.at - from), block->out.file);
        brackets += braid_ptx_word_is(word, "[") - braid_ptx_word_is(word, "]");
        if (word.at == statement->word.at) {
            put_opcode(block, statement);
        } else if (mask.length && word.at == mask.at) {
            fputs("%braid_live", block->out.file);
            at = word.at + mask.length;
        } else {
            put_operand(block, statement, word, brackets > 0);
        }
        from = at;
    }
}

static void put_statement(struct ptx_block *block, const struct ptx_statement *statement)
{
    note_facts(block, statement);
    bool is_left_out =
        statement->kind == PTX_DIRECTIVE &&
        (braid_ptx_word_is(statement->word, ".shared") ||
         braid_ptx_word_is(statement->word, ".loc") || braid_ptx_word_is(statement->word, ".file"));
    if (block->failed || is_left_out)
        return;
    fputc('\t', block->out.file);
    if (statement->kind != PTX_INSTRUCTION) {
        fwrite(statement->begin, 1, (size_t)(statement->end - statement->begin), block->out.file);
    } else if (statement->facts & PTX_BARRIER) {
        if (!braid_ptx_put_barrier(&block->out, statement))
            refuse(
                block, "the number of its barrier is not written in '%.*s'",
                (struct ptx_word){ statement->begin, (size_t)(statement->end - statement->begin) });
    } else if (!block->is_entry || !put_small(block, statement)) {
        put_words(block, statement, braid_ptx_put_live_mask(&block->out, statement));
    }
    if (statement->kind != PTX_DIRECTIVE)
        block->has_trapped =
            statement->begin == statement->word.at && braid_ptx_word_is(statement->word, "trap");
    fputc('\n', block->out.file);
}

static const struct ptx_function *find_entry(const struct ptx *ptx, const char *name)
{
    for (size_t i = 0; i < ptx->functions.num; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        if (function->is_entry && function->body && braid_ptx_word_is(function->name, name))
            return function;
    }
    return NULL;
}

static void put_body(struct ptx_block *block, const struct ptx_function *function)
{
    const struct ptx *ptx = block->symbols->ptx;
    for (size_t i = 0; i < function->num && !block->failed; i++)
        put_statement(block, &ptx_statements(ptx, function)[i]);
}

// The head of a function without its linkage, with another name.
static void put_head(struct ptx_block *block, const struct ptx_function *function)
{
    const char *end = function->body ? function->body : function->end;
    fwrite(function->begin, 1, (size_t)(function->name.at - function->begin), block->out.file);
    fputs(block->out.site->prefix, block->out.file);
    fwrite(function->name.at, 1, (size_t)(end - function->name.at), block->out.file);
    fputc('\n', block->out.file);
}

static void put_function(struct ptx_block *block, const struct ptx_function *function)
{
    put_head(block, function);
    if (function->body) {
        put_body(block, function);
        fputs("}\n", block->out.file);
    }
}

static void put_variable(struct ptx_block *block, const struct ptx_declaration *declaration)
{
    const char *from = declaration->begin, *at = from;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < declaration->end;
         word = braid_ptx_next_word(&at)) {
        fwrite(from, 1, (size_t)(word.at - from), block->out.file);
        if (braid_ptx_find_symbol(block->symbols, word))
            fputs(block->out.site->prefix, block->out.file);
        put_word(block, word);
        from = at;
    }
    fputc('\n', block->out.file);
}

static void put_needed(struct ptx_block *block)
{
    for (size_t i = 0; i < block->symbols->items.num && !block->failed; i++) {
        const struct ptx_symbol *symbol = &ptx_symbols_of(block->symbols)[i];
        if (!symbol->is_needed)
            continue;
        if (braid_ptx_is_of_driver(block->symbols, symbol))
            fprintf(
                block->out.file, ".extern %.*s\n", // keeps its name; several modules may declare it
                (int)(symbol->function->end - symbol->function->begin), symbol->function->begin);
        else if (symbol->function)
            put_function(block, symbol->function);
        else if (!braid_ptx_word_is(symbol->declaration->space, ".shared"))
            put_variable(block, symbol->declaration);
    }
}

// ---- reading and writing ----

static void read_parts(struct ptx_block *block, const char *entry)
{
    const struct ptx *ptx = block->symbols->ptx;
    const struct ptx_function *function = find_entry(ptx, entry);
    if (!function || braid_ptx_target(ptx) < 70) {
        braid_ptx_refuse(block->reason, function ? "it is for a device before sm_70"
                                                 : "its module does not have it");
        block->failed = true;
        return;
    }
    if (begin_block(block, function)) {
        put_body(block, function);
        end_block(block);
        if (!block->failed && (function->facts & PTX_CLUSTER)) {
            braid_ptx_refuse(block->reason, "it has clusters");
            block->failed = true;
        }
    }
    if (!block->failed)
        block->failed = !braid_ptx_note_leaving(ptx_statements(ptx, function), function->num,
                                                function->facts, block->out.made, block->reason);
    block->failed = block->failed || !braid_ptx_close_symbols(block->symbols, block->reason);
    block->is_entry = false;
    if (!block->failed)
        put_needed(block);
}

bool braid_ptx_read_callable(const struct ptx_symbols *symbols, const char *entry,
                             struct ptx_callable *out_callable, struct ptx_reason *out_reason)
{
    static const struct ptx_site nowhere = { .prefix = "" };
    struct ptx_callable made = { .is_plain = true };
    struct ptx_block block = { .symbols = symbols,
                               .out = { .site = &nowhere, .made = &made },
                               .reason = out_reason,
                               .is_entry = true };
    char *text = NULL;
    size_t bytes = 0;
    *out_reason = (struct ptx_reason){ 0 };
    block.out.file = braid_open_text(&text, &bytes);
    if (!block.out.file)
        return false;
    read_parts(&block, entry);
    if (fclose(block.out.file) != 0)
        block.failed = true;
    braid_free(text);
    finish_block(&block);
    *out_callable = made;
    return !block.failed;
}

bool braid_ptx_write_callable(const struct ptx_symbols *symbols, const char *entry,
                              const struct ptx_callable *needs, const struct ptx_site *site,
                              FILE *to)
{
    struct ptx_callable made = { .leaves = needs->leaves, .counts = needs->counts };
    struct ptx_reason reason = { 0 };
    struct ptx_block block = { .symbols = symbols,
                               .out = { .site = site, .made = &made },
                               .reason = &reason,
                               .is_entry = true };
    const struct ptx_function *function = find_entry(symbols->ptx, entry);
    char *text = NULL;
    size_t bytes = 0;
    block.out.file = braid_open_text(&text, &bytes);
    if (!block.out.file)
        return false;
    if (begin_block(&block, function))
        put_body(&block, function);
    if (fclose(block.out.file) != 0)
        block.failed = true;
    end_block(&block);
    if (!block.failed) {
        put_start(&block, to);
        fprintf(to, "\t{\n%s\t}\n", text);
        braid_ptx_put_end(&block.out, to);
        fputs(block.copies ? "\tcp.async.wait_all;\n" : "", to);
    }
    braid_free(text);
    finish_block(&block);
    return !block.failed;
}

void braid_ptx_write_needed(const struct ptx_symbols *symbols, const char *prefix, FILE *to)
{
    const struct ptx_site site = { .prefix = prefix };
    struct ptx_callable made = { 0 };
    struct ptx_reason reason = { 0 };
    struct ptx_block block = { .symbols = symbols,
                               .out = { .site = &site, .made = &made, .file = to },
                               .reason = &reason };
    put_needed(&block);
}
