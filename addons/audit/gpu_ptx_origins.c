// SPDX-License-Identifier: Apache-2.0
// Registers of a function that have an address, and the register from which each is computed.
#include "audit/gpu_ptx_origins.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

// A vector has several registers, each of which has a slot.
enum { MOST_RESULTS = 4 };

// At least twice as many as so many statements have results.
static size_t count_slots(size_t num_statements)
{
    size_t num = 16;
    while (num < 2 * MOST_RESULTS * num_statements)
        num *= 2;
    return num;
}

bool braid_ptx_origins_create(const struct ptx *ptx, struct ptx_origins *out_origins)
{
    size_t num = count_slots(ptx->statements.num);
    out_origins->slots = braid_allocate_zeroed(num, sizeof(struct ptx_origin));
    out_origins->num_slots = num;
    return out_origins->slots != NULL;
}

void braid_ptx_origins_finish(struct ptx_origins *origins)
{
    free(origins->slots);
}

// The slot of the name, or the free one where it goes.
static struct ptx_origin *find_slot(const struct ptx_origins *origins, struct ptx_word name)
{
    size_t at = hash_bytes(name.at, name.length) & (origins->num_slots - 1);
    while (origins->slots[at].name.length && !ptx_same_word(origins->slots[at].name, name))
        at = (at + 1) & (origins->num_slots - 1);
    return &origins->slots[at];
}

struct ptx_word braid_ptx_origin_of(const struct ptx_origins *origins, struct ptx_word name)
{
    const struct ptx_origin *slot = find_slot(origins, name);
    return slot->name.length ? slot->origin : name;
}

// The first origin stays.
static void set(struct ptx_origins *origins, struct ptx_word name, struct ptx_word origin)
{
    struct ptx_origin *slot = find_slot(origins, name);
    if (!slot->name.length && braid_ptx_word_begins(name, "%"))
        *slot = (struct ptx_origin){ name, origin };
}

static bool is_one_of(struct ptx_word opcode, const char *const *names)
{
    for (; *names; names++) {
        if (braid_ptx_word_begins(opcode, *names))
            return true;
    }
    return false;
}

// Addresses that nothing else in the function tells of: of parameters, of memory, of variables.
static void begin_origins(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word word = braid_ptx_next_word(&at);
    bool is_vector = braid_ptx_word_is(word, "{");
    for (int i = 0; i < MOST_RESULTS && at < statement->end; i++) {
        word = is_vector ? braid_ptx_next_word(&at) : word;
        set(origins, word, word);
        if (!is_vector || braid_ptx_word_is(braid_ptx_next_word(&at), "}"))
            return;
    }
}

// The origin of the first operand from `skipped` on that has one; length 0: there is none.
static struct ptx_word find_source(const struct ptx_origins *origins,
                                   const struct ptx_statement *statement, int skipped)
{
    const char *at = statement->word.at + statement->word.length;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && at < statement->end;
         word = braid_ptx_next_word(&at)) {
        const struct ptx_origin *slot = find_slot(origins, word);
        skipped -= braid_ptx_word_is(word, ",");
        if (skipped <= 0 && slot->name.length)
            return slot->origin;
    }
    return (struct ptx_word){ 0 };
}

static void follow(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    static const char *const begins[] = { "ld.", "ldu.", "mov.", NULL };
    static const char *const sums[] = { "add.", "sub.", "mov.", "cvta.", "selp.", "or.", NULL };
    const struct ptx_word opcode = statement->word;
    if (opcode.length < 2 || memcmp(opcode.at + opcode.length - 2, "64", 2) != 0)
        return;
    const char *at = opcode.at + opcode.length;
    struct ptx_word source = { 0 };
    if (is_one_of(opcode, sums))
        source = find_source(origins, statement, 1);
    if (source.length)
        set(origins, braid_ptx_next_word(&at), source);
    else if (is_one_of(opcode, begins))
        begin_origins(origins, statement);
}

// A product is no address. An address may be added to it.
static void follow_product(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word source = find_source(origins, statement, 3);
    if (source.length)
        set(origins, braid_ptx_next_word(&at), source);
}

void braid_ptx_origins_find(struct ptx_origins *origins, const struct ptx_statement *statements,
                            size_t num)
{
    origins->num_slots = count_slots(num); // few, for a text of many small functions
    memset(origins->slots, 0, origins->num_slots * sizeof(*origins->slots));
    for (size_t i = 0; i < num; i++) {
        if (statements[i].kind != PTX_INSTRUCTION)
            continue;
        if (braid_ptx_word_begins(statements[i].word, "mad."))
            follow_product(origins, &statements[i]);
        else
            follow(origins, &statements[i]);
    }
}
