// SPDX-License-Identifier: Apache-2.0
// The sources of all values of an entry and of the functions that it calls. Sets grow to a fixed
// point, without regard to the order of instructions (L. O. Andersen, 1994, for pointers of C).
// All of shared memory is one cell.
#include "accesses/flow.h"

#include <string.h>

#include "accesses/falls.h"
#include "base/host_memory.h"

// Sets grow at most along a chain of instructions that stand in reverse order, which is short. From
// some pass on, the address of a parameter that moves may point to any step in it.
enum { MOST_PASSES = 256, PASSES_WITH_OFFSETS = 8, WHOLE = 8 };

enum { HALF_BITS = 32 };

// The instruction at hand, and where its function's cells begin.
struct place {
    struct flow *flow;
    const struct code_function *function;
    const struct code_instruction *instruction;
    const struct code_operand *operands;
    uint32_t first_cell;
    uint32_t step; // a number that divides the result
    bool falls;    // the result may be a number below zero
};

static struct source_sets *sets_of(const struct place *place)
{
    return &place->flow->code->sets;
}

static uint32_t join(const struct place *place, uint32_t a, uint32_t b)
{
    return braid_sources_join(sets_of(place), a, b);
}

static uint32_t change(const struct place *place, enum source_change how, uint32_t a)
{
    return braid_sources_change(sets_of(place), how, a, 0);
}

static uint32_t make(const struct place *place, enum source_kind kind)
{
    return braid_sources_one(sets_of(place), source_make(kind, 0, 0));
}

uint32_t braid_flow_sources(const struct flow *flow, uint32_t first_cell,
                            const struct code_value *value)
{
    if (value->cell == CODE_NONE)
        return value->set;
    if (value->is_variable) // its address
        return braid_sources_one(&flow->code->sets,
                                 source_make(SOURCE_CELL, first_cell + value->cell, 0));
    return flow->values[first_cell + value->cell];
}

static uint32_t sources_of(const struct place *place, const struct code_value *value)
{
    return braid_flow_sources(place->flow, place->first_cell, value);
}

static uint32_t sources_of_operand(const struct place *place, const struct code_operand *operand)
{
    uint32_t set = 0;
    const struct code_value *values = code_values(place->function, operand);
    for (uint32_t i = 0; i < operand->num; i++)
        set = join(place, set, sources_of(place, &values[i]));
    const bool is_sum = operand->num > 1 && !operand->is_vector; // a name and a number behind it
    return is_sum ? change(place, SOURCE_MOVE_ANYHOW, set) : set;
}

static const struct code_operand *operand_at(const struct place *place, uint32_t index)
{
    static const struct code_operand none = { 0 };
    return index < place->instruction->num_operands ? &place->operands[index] : &none;
}

// ---- results ----

static void grow(const struct place *place, uint32_t *set, uint32_t more)
{
    const uint32_t grown = join(place, *set, more);
    place->flow->changed = place->flow->changed || grown != *set;
    *set = grown;
}

static void give_cell(const struct place *place, uint32_t cell, uint32_t set)
{
    uint32_t *step = &place->flow->steps[cell];
    bool *falls = &place->flow->falls[cell];
    const uint32_t common = source_divisor(*step, place->step);
    grow(place, &place->flow->values[cell], set);
    place->flow->changed = place->flow->changed || common != *step || (place->falls && !*falls);
    *step = common;
    place->flow->has_falls = place->flow->has_falls || place->falls;
    *falls = *falls || place->falls;
}

static void give_value(const struct place *place, const struct code_value *value, uint32_t set)
{
    if (value->cell != CODE_NONE)
        give_cell(place, place->first_cell + value->cell, set);
}

static uint32_t as_wide_as(const struct place *place, uint32_t set)
{
    const uint32_t bytes = place->instruction->bytes;
    if (bytes == 0)
        return set;
    return change(place, bytes < WHOLE ? SOURCE_NARROW : SOURCE_MEET, set);
}

static void give(const struct place *place, uint32_t set)
{
    const struct code_operand *to = operand_at(place, 0);
    for (uint32_t i = 0; i < to->num; i++)
        give_value(place, &code_values(place->function, to)[i], as_wide_as(place, set));
}

// ---- arithmetic ----

static uint32_t sources_from(const struct place *place, uint32_t first)
{
    uint32_t set = 0;
    for (uint32_t i = first; i < place->instruction->num_operands; i++)
        set = join(place, set, sources_of_operand(place, &place->operands[i]));
    return set;
}

static const struct code_value *number_of(const struct place *place, uint32_t index)
{
    const struct code_operand *operand = operand_at(place, index);
    const struct code_value *value = code_values(place->function, operand);
    return operand->num == 1 && value->is_number ? value : NULL;
}

static bool begins(const struct place *place, const char *name)
{
    return braid_ptx_word_begins(place->instruction->statement->word, name);
}

static uint32_t shifted_left(const struct place *place, uint32_t set, int64_t bits)
{
    const bool is_known = bits >= 0 && bits < SOURCE_ANY_BITS;
    return braid_sources_change(sets_of(place), SOURCE_SHIFT_LEFT, set,
                                is_known ? (int32_t)bits : SOURCE_ANY_BITS);
}

static uint32_t shifted_right(const struct place *place, uint32_t set, int64_t bits)
{
    const bool is_known = bits > 0 && bits < HALF_BITS;
    return braid_sources_change(sets_of(place), SOURCE_SHIFT_RIGHT, set,
                                is_known ? (int32_t)bits : SOURCE_ANY_BITS);
}

// By the bits that an operand tells. Nobody knows whether these are none, if it is no number.
static uint32_t shifted_by(const struct place *place, uint32_t set, uint32_t index, bool left)
{
    const struct code_value *number = number_of(place, index);
    const int64_t bits = number ? number->number : SOURCE_ANY_BITS;
    const uint32_t shifted =
        left ? shifted_left(place, set, bits) : shifted_right(place, set, bits);
    return bits > 0 && number ? shifted : join(place, set, shifted);
}

// The least number has no other sign.
static int64_t negated(int64_t number)
{
    return (int64_t)(0 - (uint64_t)number);
}

// A power of two in a number, which may be below zero, shifts to the left. Another large number
// counts as one, but of 8 bytes it makes no address.
static uint32_t product_by(const struct place *place, uint32_t set, int64_t factor)
{
    const uint64_t size = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor;
    if (size >> HALF_BITS && (uint32_t)size)
        return shifted_left(place, change(place, SOURCE_MULTIPLY, set), HALF_BITS);
    if (!size || size % 2)
        return change(place, SOURCE_MULTIPLY, set);
    return shifted_left(place, set, __builtin_ctzll(size));
}

// By one, or by nearly the whole of 64 bits in the upper half.
static bool stays(int64_t factor, bool is_upper)
{
    const uint64_t size = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor;
    return is_upper ? factor < 0 && !(size >> HALF_BITS) : size == 1;
}

// The upper half of a product by a number is less than the other factor, as after a shift to the
// right. Divisions by a number are made of it.
static uint32_t product_with(const struct place *place, uint32_t set,
                             const struct code_value *factor)
{
    const bool is_upper =
        begins(place, "mul.hi") || begins(place, "mad.hi") || begins(place, "madc.hi");
    if (!factor)
        return change(place, SOURCE_MULTIPLY, set);
    if (stays(factor->number, is_upper))
        return set;
    return is_upper ? shifted_right(place, set, SOURCE_ANY_BITS)
                    : product_by(place, set, factor->number);
}

// By a power of two that is a number, it is a shift to the right.
static uint32_t quotient(const struct place *place)
{
    const struct code_value *by = number_of(place, 2);
    const uint64_t size = by ? (uint64_t)(by->number < 0 ? negated(by->number) : by->number) : 0;
    const uint32_t set = sources_of_operand(place, operand_at(place, 1));
    if (size == 1)
        return set;
    return !size || (size & (size - 1)) ? change(place, SOURCE_MULTIPLY, sources_from(place, 1))
                                        : shifted_right(place, set, __builtin_ctzll(size));
}

static uint32_t product(const struct place *place)
{
    uint32_t set = 0;
    if (begins(place, "div"))
        return quotient(place);
    for (uint32_t i = 1; i <= 2; i++)
        set = join(place, set,
                   product_with(place, sources_of_operand(place, operand_at(place, i)),
                                number_of(place, 3 - i)));
    return set;
}

// ---- steps ----
//
// A product by a number is a multiple of it. If it may overflow, it stays one of the power
// of two in the number. So the index of an array in a parameter moves an address by whole elements.

static uint32_t step_of_number(int64_t number, bool overflows)
{
    if (number > 0 && number <= SOURCE_MOST_STEP && !overflows)
        return (uint32_t)number;
    const uint64_t power = (uint64_t)number & (0 - (uint64_t)number);
    return power && power <= SOURCE_MOST_STEP ? (uint32_t)power : 1;
}

static uint32_t step_of_product(const struct place *place)
{
    const struct code_value *number =
        number_of(place, 1) ? number_of(place, 1) : number_of(place, 2);
    const bool is_wide = begins(place, "mul.wide") || begins(place, "mad.wide");
    const bool is_low = begins(place, "mul.lo") || begins(place, "mad.lo");
    return number && (is_wide || is_low) ? step_of_number(number->number, is_low) : 1;
}

static uint32_t step_of_result(const struct place *place)
{
    const struct code_value *bits = number_of(place, 2);
    if (place->instruction->operation == CODE_MULTIPLY)
        return step_of_product(place);
    const bool shifts = place->instruction->operation == CODE_SHIFT_LEFT && bits;
    return shifts && bits->number > 0 && bits->number < HALF_BITS
               ? step_of_number((int64_t)1 << bits->number, true)
               : 1;
}

static uint32_t step_of(const struct place *place, uint32_t index)
{
    const struct code_operand *operand = operand_at(place, index);
    const struct code_value *value = code_values(place->function, operand);
    const bool is_register = operand->num == 1 && value->cell != CODE_NONE && !value->is_variable;
    const uint32_t step = is_register ? place->flow->steps[place->first_cell + value->cell] : 1;
    return step ? step : 1;
}

static uint32_t moved_by(const struct place *place, uint32_t set, uint32_t step)
{
    return braid_sources_change(sets_of(place), SOURCE_MOVE_STEPS, set, (int32_t)step);
}

static const bool *falling_cells(const struct place *place)
{
    return place->flow->falls + place->first_cell;
}

static bool operand_falls(const struct place *place, uint32_t index)
{
    return braid_falls_operand(place->function, place->instruction, index, falling_cells(place));
}

static uint32_t sunk_if(const struct place *place, bool falls, uint32_t set)
{
    return falls ? change(place, SOURCE_SINK, set) : set;
}

// In later passes, an address moves to a known place only if its register had been there before.
static bool moves_exactly(const struct place *place, uint32_t set, int32_t by)
{
    const struct code_operand *to = operand_at(place, 0);
    const struct code_value *value = code_values(place->function, to);
    if (place->flow->num_passes < PASSES_WITH_OFFSETS)
        return true;
    if (to->num != 1 || value->cell == CODE_NONE)
        return false;
    const uint32_t had = place->flow->values[place->first_cell + value->cell];
    const uint32_t moved = braid_sources_change(sets_of(place), SOURCE_MOVE, set, by);
    return join(place, had, as_wide_as(place, moved)) == had;
}

// An address that is subtracted goes to no known step.
static void add(const struct place *place)
{
    const struct code_value *number = number_of(place, 2);
    const bool subtracts = begins(place, "sub");
    const uint32_t first = sources_of_operand(place, operand_at(place, 1)),
                   second = sources_from(place, 2);
    const int64_t by = number ? (subtracts ? negated(number->number) : number->number) : 0;
    const bool sinks = subtracts || operand_falls(place, 2);
    if (number && by == (int32_t)by && moves_exactly(place, first, (int32_t)by))
        give(place, braid_sources_change(sets_of(place), SOURCE_MOVE, first, (int32_t)by));
    else if (number)
        give(place,
             sunk_if(place, by < 0,
                     moved_by(place, first, step_of_number(by < 0 ? negated(by) : by, false))));
    else
        give(place, join(place, sunk_if(place, sinks, moved_by(place, first, step_of(place, 2))),
                         sunk_if(place, subtracts || operand_falls(place, 1),
                                 moved_by(place, second, subtracts ? 1 : step_of(place, 1)))));
}

static void multiply_and_add(const struct place *place)
{
    const uint32_t products = change(place, SOURCE_MOVE_ANYHOW, product(place));
    const bool falls =
        braid_falls_product(place->function, place->instruction, falling_cells(place));
    give(place, join(place, products,
                     sunk_if(place, falls,
                             moved_by(place, sources_from(place, 3), step_of_product(place)))));
}

static void shift(const struct place *place, bool left)
{
    const struct code_value *number = number_of(place, 2);
    const bool is_far = number && number->number >= HALF_BITS;
    uint32_t set = sources_of_operand(place, operand_at(place, 1));
    set = change(place, SOURCE_MOVE_ANYHOW, set);
    if (is_far && !left && place->instruction->bytes == WHOLE)
        set = change(place, SOURCE_SHIFT_DOWN, set);
    else
        set = shifted_by(place, set, 2, left);
    give(place, set);
}

static uint32_t insertion(const struct place *place)
{
    uint32_t set =
        change(place, SOURCE_MOVE_ANYHOW, sources_of_operand(place, operand_at(place, 1)));
    return join(place, shifted_by(place, set, 3, true),
                change(place, SOURCE_MOVE_ANYHOW, sources_from(place, 2)));
}

// The most bits by which prmt brings a byte of an operand to the left. Each digit tells which byte
// of both comes to its place.
static int64_t most_to_left(const struct place *place, uint32_t index)
{
    const struct code_value *number = number_of(place, 3);
    const bool is_plain = braid_ptx_word_is(place->instruction->statement->word, "prmt.b32");
    int64_t most = 0;
    if (!number || !is_plain)
        return HALF_BITS - 8;
    for (int64_t to = 0; to < 4; to++) {
        const int64_t from = number->number >> 4 * to & 7;
        if (from / 4 + 1 == index && to - from % 4 > most)
            most = to - from % 4;
    }
    return 8 * most;
}

// shf shifts the second operand to the left, and fills it up with the first.
static uint32_t turned(const struct place *place)
{
    const struct code_value *number = number_of(place, 3);
    const bool is_funnel = begins(place, "shf"), is_right = begins(place, "shf.r");
    int64_t bits = number ? number->number : HALF_BITS - 1;
    bits = number && is_right ? HALF_BITS - bits : bits;
    uint32_t set = 0;
    for (uint32_t i = 1; i <= 2; i++) {
        const uint32_t one =
            change(place, SOURCE_MOVE_ANYHOW, sources_of_operand(place, operand_at(place, i)));
        const int64_t left = is_funnel ? bits % HALF_BITS : most_to_left(place, i);
        set = join(place, set, shifted_left(place, one, left));
    }
    return set;
}

// Whether some source is an address in local memory, or is none.
static bool has_local(const struct place *place, uint32_t set, bool is_local)
{
    uint32_t num, i = 0;
    const uint64_t *members = braid_sources_members(sets_of(place), set, &num);
    while (i < num && (source_kind(members[i]) == SOURCE_LOCAL) != is_local)
        i++;
    return i < num;
}

// cvta.local and cvta.shared make an address of any number.
static uint32_t located(const struct place *place, uint32_t set)
{
    const struct code_instruction *instruction = place->instruction;
    const bool is_local = instruction->space == CODE_LOCAL;
    if (!braid_ptx_word_begins(instruction->statement->word, "cvta") ||
        (!is_local && instruction->space != CODE_SHARED))
        return set;
    if (is_local && set && !has_local(place, set, false))
        return set;
    return join(place, set, make(place, is_local ? SOURCE_LOCAL : SOURCE_SHARED));
}

// The last element of a vector comes to stand the farthest to the left.
static uint32_t packed(const struct place *place, uint32_t set)
{
    const uint32_t bits = 8u * place->instruction->bytes, num = operand_at(place, 1)->num;
    set = change(place, SOURCE_WIDEN, set);
    return bits < 2 * HALF_BITS && num ? shifted_left(place, set, bits - bits / num) : set;
}

// A vector is taken apart or put together.
static void move(const struct place *place)
{
    const struct code_operand *to = operand_at(place, 0);
    const bool packs = operand_at(place, 1)->is_vector;
    uint32_t set = sources_from(place, 1);
    if (!to->is_vector) {
        give(place, located(place, packs ? packed(place, set) : set));
        return;
    }
    for (uint32_t i = 0; i < to->num; i++) {
        const uint32_t bytes = place->instruction->bytes / to->num;
        const enum source_change how = bytes >= WHOLE              ? SOURCE_WIDEN
                                       : bytes < 4 || to->num != 2 ? SOURCE_NARROW
                                       : i == 0                    ? SOURCE_LOWER
                                                                   : SOURCE_UPPER;
        give_value(place, &code_values(place->function, to)[i], change(place, how, set));
    }
}

// ---- memory ----

static uint32_t bytes_of_parameter(const struct flow *flow, uint32_t item)
{
    const struct flow_function *entry = flow->functions.items;
    const struct array *parameters = &flow->code->functions[entry->function].parameters;
    return ((const struct code_parameter *)parameters->items)[item].bytes;
}

// Bytes of a parameter of the entry.
static uint32_t read_parameter(const struct place *place, uint32_t item, uint32_t offset)
{
    const uint32_t bytes = place->instruction->bytes;
    struct source_sets *sets = sets_of(place);
    if (bytes == 0)
        return braid_sources_one(sets, source_make(SOURCE_WORD, item, SOURCE_ANYWHERE_IN_HALVES));
    if (bytes < WHOLE / 2)
        return braid_sources_one(sets, source_make(SOURCE_BYTES, item, offset & ~3u));
    if (offset == SOURCE_ANYWHERE)
        return braid_sources_one(
            sets, bytes < WHOLE ? source_make(SOURCE_HALF, item, SOURCE_ANYWHERE_IN_HALVES)
                                : source_make(SOURCE_WORD, item, SOURCE_ANYWHERE));
    if (bytes < WHOLE)
        return braid_sources_one(sets, source_make(SOURCE_HALF, item, offset));
    uint32_t set = 0;
    for (uint32_t i = 0; i < bytes; i += WHOLE)
        set = join(place, set, braid_sources_one(sets, source_make(SOURCE_WORD, item, offset + i)));
    return set;
}

// A load is as wide as the instruction says. It may put stored parts together.
static uint32_t as_loaded(const struct place *place, uint32_t set)
{
    return change(place, place->instruction->bytes < WHOLE ? SOURCE_NARROW : SOURCE_WIDEN, set);
}

static uint32_t from_device(const struct place *place)
{
    const bool is_whole = place->instruction->bytes >= WHOLE;
    return make(place, is_whole ? SOURCE_LOADED : SOURCE_PART);
}

// Bytes so far behind the address that a pointer is. Other instructions than ld scatter them.
static uint32_t from_behind(const struct place *place, uint64_t pointer, int64_t behind)
{
    const uint32_t bytes = place->instruction->bytes;
    uint32_t set = 0;
    if (bytes < WHOLE || !begins(place, "ld"))
        return from_device(place);
    for (uint32_t i = 0; i < bytes; i += WHOLE) {
        const uint32_t more = braid_sources_behind(sets_of(place), pointer, behind + i);
        set = join(place, set, more ? more : from_device(place));
    }
    return set;
}

// From memory of the device, at an address of these sources.
static uint32_t load_global(const struct place *place, uint32_t from, int64_t behind)
{
    uint32_t num, set = 0;
    braid_sources_members(sets_of(place), from, &num);
    for (uint32_t i = 0; i < num; i++) {
        const uint64_t source = braid_sources_members(sets_of(place), from, &num)[i];
        if (!source_is_pointer(source))
            return from_device(place);
        set = join(place, set, from_behind(place, source, behind));
    }
    return num ? set : from_device(place);
}

static uint32_t load_at_steps(const struct place *place, uint32_t item, uint32_t offset,
                              int64_t behind)
{
    const uint32_t step = source_step(offset), bytes = bytes_of_parameter(place->flow, item);
    uint32_t at = source_first((offset & SOURCE_MOST_STEP) + behind, step), set = 0;
    for (; at + place->instruction->bytes <= bytes; at += step)
        set = join(place, set, read_parameter(place, item, at));
    return set;
}

// An address that moves in a loop leaves the parameter until it may point to any step in it.
// Another one does not leave it.
static uint32_t load_parameter(const struct place *place, uint32_t item, uint32_t offset,
                               int64_t behind)
{
    struct flow *flow = place->flow;
    const uint32_t at = offset + (uint32_t)behind;
    if (offset == SOURCE_ANYWHERE)
        return read_parameter(place, item, offset);
    if (source_step(offset))
        return load_at_steps(place, item, offset, behind);
    if ((uint64_t)at + place->instruction->bytes <= bytes_of_parameter(flow, item))
        return read_parameter(place, item, at);
    if (flow->num_passes > PASSES_WITH_OFFSETS)
        return make(place, SOURCE_UNKNOWN);
    flow->changed = true; // later passes tell
    return 0;
}

static struct local_place local_place(const struct place *place, uint64_t address, int64_t behind)
{
    return (struct local_place){ address, behind, place->instruction->bytes };
}

// The sources that a load finds at a source's address, so many bytes behind it.
static uint32_t load_from(const struct place *place, uint64_t source, int64_t behind)
{
    const uint32_t item = source_item(source), offset = source_offset(source);
    struct flow *flow = place->flow;
    switch (source_kind(source)) {
    case SOURCE_PARAMETER:
        return load_parameter(place, item, offset, behind);
    case SOURCE_CELL:
        return as_loaded(place, flow->values[item]);
    case SOURCE_LOCAL:
        return as_loaded(place, braid_local_memory_load(&flow->local, sets_of(place),
                                                        local_place(place, source, behind)));
    case SOURCE_SHARED:
        return as_loaded(place, flow->shared);
    case SOURCE_HALF:
    case SOURCE_HIGH:
    case SOURCE_BYTES:
    case SOURCE_PART:
    case SOURCE_SHIFTED:
        return 0; // no addresses
    case SOURCE_WORD:
    case SOURCE_POINTED:
        return place->instruction->space == CODE_PARAM ? 0 : from_behind(place, source, behind);
    default:
        return place->instruction->space == CODE_PARAM ? 0 : from_device(place);
    }
}

// Whether a place in a parameter is among others in it.
static bool is_among(uint32_t offset, uint32_t others)
{
    const uint32_t step = source_step(others);
    return others == SOURCE_ANYWHERE ||
           (step && !source_step(offset) &&
            source_first((int32_t)offset, step) == (others & SOURCE_MOST_STEP));
}

// The same source, or more places in its parameter, if the set has these.
static uint64_t moves(uint64_t source, const uint64_t *members, uint32_t num)
{
    for (uint32_t i = 0; i < num && source_kind(source) == SOURCE_PARAMETER; i++) {
        if (source_kind(members[i]) == SOURCE_PARAMETER &&
            source_item(members[i]) == source_item(source) &&
            is_among(source_offset(source), source_offset(members[i])))
            source = members[i];
    }
    return source;
}

// Sources of an address in local memory that are none tell an index. If an address was stored
// elsewhere, they may be that one. An address of no known variable may be any. A function's own
// parameter, whose address it takes, is in local memory.
static uint32_t in_local_memory(const struct place *place, uint32_t set)
{
    const bool is_any = !has_local(place, set, true) ||
                        (place->flow->local_escapes && has_local(place, set, false));
    uint32_t num, only = is_any ? make(place, SOURCE_LOCAL) : 0;
    braid_sources_members(sets_of(place), set, &num);
    for (uint32_t i = 0; i < num; i++) {
        const uint64_t source = braid_sources_members(sets_of(place), set, &num)[i];
        const enum source_kind kind = source_kind(source);
        if (kind == SOURCE_LOCAL || kind == SOURCE_CELL)
            only = join(place, only, braid_sources_one(sets_of(place), source));
        if (kind == SOURCE_CELL || kind == SOURCE_VARIABLE)
            only = join(place, only, make(place, SOURCE_LOCAL));
    }
    return only;
}

static uint32_t load(const struct place *place, const struct code_operand *address, int64_t behind)
{
    const struct flow *flow = place->flow;
    uint32_t num, set = 0, from = sources_of_operand(place, address);
    switch (place->instruction->space) {
    case CODE_LOCAL:
        from = in_local_memory(place, from);
        braid_sources_members(sets_of(place), from, &num);
        break;
    case CODE_SHARED:
        return as_loaded(place, flow->shared);
    case CODE_GLOBAL:
        return load_global(place, from, behind);
    default:
        braid_sources_members(sets_of(place), from, &num);
    }
    bool is_known = place->instruction->space != CODE_PARAM;
    for (uint32_t i = 0; i < num; i++) {
        const uint64_t *members = braid_sources_members(sets_of(place), from, &num);
        const uint64_t source = members[i];
        set = join(place, set, load_from(place, moves(source, members, num), behind));
        is_known = is_known || source_kind(source) == SOURCE_PARAMETER ||
                   source_kind(source) == SOURCE_CELL;
    }
    return is_known ? set : join(place, set, make(place, SOURCE_UNKNOWN));
}

// A number from memory of the device counts as at least zero.
static bool loads_falling(const struct place *place)
{
    const struct flow *flow = place->flow;
    uint32_t num, from = sources_of_operand(place, operand_at(place, 1));
    const bool is_local = place->instruction->space == CODE_LOCAL;
    if (place->instruction->space == CODE_SHARED || (is_local && flow->stored_falls))
        return flow->stored_falls;
    if (place->instruction->space == CODE_GLOBAL)
        return false;
    const uint64_t *members = braid_sources_members(sets_of(place), from, &num);
    bool falls = false;
    for (uint32_t i = 0; i < num && !falls; i++) {
        const enum source_kind kind = source_kind(members[i]);
        falls = kind == SOURCE_CELL
                    ? flow->falls[source_item(members[i])]
                    : (kind == SOURCE_LOCAL || kind == SOURCE_SHARED) && flow->stored_falls;
    }
    return falls;
}

// Elements of a vector stand one behind the other. It has several registers, or one of its own
// kind.
static void load_all(const struct place *place)
{
    const struct code_operand *to = operand_at(place, 0), *address = operand_at(place, 1);
    const struct code_value *values = code_values(place->function, to);
    const uint32_t elements = place->instruction->num_elements;
    const uint32_t num = to->num > 1 || elements < to->num ? to->num : elements;
    for (uint32_t i = 0; i < num && to->num; i++) {
        const int64_t behind = address->offset + (int64_t)i * place->instruction->bytes;
        give_value(place, &values[to->num > 1 ? i : 0], load(place, address, behind));
    }
}

static void store_falling(const struct place *place)
{
    struct flow *flow = place->flow;
    flow->changed = flow->changed || (place->falls && !flow->stored_falls);
    flow->stored_falls = flow->stored_falls || place->falls;
}

static void let_escape(const struct place *place, uint32_t set)
{
    struct flow *flow = place->flow;
    if (flow->local_escapes || !has_local(place, set, true))
        return;
    flow->local_escapes = flow->changed = true;
}

static void store_shared(const struct place *place, uint32_t set)
{
    let_escape(place, set);
    grow(place, &place->flow->shared, set);
    store_falling(place);
}

static void store_at(const struct place *place, uint64_t source, int64_t behind, uint32_t set)
{
    struct flow *flow = place->flow;
    switch (source_kind(source)) {
    case SOURCE_CELL:
        give_cell(place, source_item(source), set);
        break;
    case SOURCE_LOCAL:
        flow->changed |= braid_local_memory_store(&flow->local, sets_of(place),
                                                  local_place(place, source, behind), set);
        store_falling(place);
        break;
    case SOURCE_SHARED:
        store_shared(place, set);
        break;
    default: // what is stored in memory of the device is loaded from there
        let_escape(place, set);
    }
}

static void store(const struct place *place, const struct code_operand *address, int64_t behind,
                  uint32_t set)
{
    uint32_t num, to = sources_of_operand(place, address);
    if (place->instruction->space == CODE_SHARED) {
        store_shared(place, set);
        return;
    }
    if (place->instruction->space == CODE_GLOBAL) {
        let_escape(place, set);
        return;
    }
    if (place->instruction->space == CODE_LOCAL)
        to = in_local_memory(place, to);
    braid_sources_members(sets_of(place), to, &num);
    for (uint32_t i = 0; i < num; i++)
        store_at(place, braid_sources_members(sets_of(place), to, &num)[i], behind, set);
}

// An atomic operation may move an address in local memory that it finds.
static uint32_t combined(const struct place *place, const struct code_operand *address,
                         uint32_t set)
{
    const uint32_t found = load(place, address, address->offset);
    return has_local(place, found, true)
               ? join(place, set, change(place, SOURCE_MOVE_ANYHOW, found))
               : set;
}

// Elements of a vector stand one behind the other. A register of a vector's kind has them all.
static void store_all(const struct place *place)
{
    const struct code_operand *address = operand_at(place, 0), *from = operand_at(place, 1);
    const uint32_t num = place->instruction->num_elements;
    const bool combines = begins(place, "red");
    const bool is_each = from->num == num && place->instruction->num_operands == 2 && !combines;
    uint32_t set = sources_from(place, 1);
    set = combines ? combined(place, address, set) : set;
    for (uint32_t i = 0; i < num; i++)
        store(place, address, address->offset + (int64_t)i * place->instruction->bytes,
              is_each ? sources_of(place, &code_values(place->function, from)[i]) : set);
}

// ---- calls ----

static void refuse(struct flow *flow, const char *why, const char *at)
{
    if (!flow->why) {
        flow->why = why;
        flow->at = at;
    }
}

// The value in a variable of .param or in a register.
static uint32_t passed(const struct place *place, const struct code_value *value)
{
    return value->cell == CODE_NONE ? value->set
                                    : place->flow->values[place->first_cell + value->cell];
}

static void call(const struct place *place)
{
    struct flow *flow = place->flow;
    const struct code_operand *results = operand_at(place, 0), *arguments = operand_at(place, 2);
    const struct code_value *callee = code_values(place->function, operand_at(place, 1));
    const uint32_t first = flow->cell_of[callee->function];
    const struct code_function *function = &flow->code->functions[callee->function];
    const struct code_parameter *to = function->parameters.items, *from = function->results.items;
    if (first == CODE_NONE) // it has no body
        return;
    if (results->num != function->results.num || arguments->num != function->parameters.num) {
        refuse(flow, "it passes other arguments than a function has",
               place->instruction->statement->begin);
        return;
    }
    struct place each = *place;
    for (uint32_t i = 0; i < arguments->num; i++) {
        const struct code_value *argument = &code_values(place->function, arguments)[i];
        each.falls = argument->cell == CODE_NONE ? argument->is_number && argument->number < 0
                                                 : falling_cells(place)[argument->cell];
        give_cell(&each, first + to[i].cell, passed(place, argument));
    }
    for (uint32_t i = 0; i < results->num; i++) {
        each.falls = flow->falls[first + from[i].cell];
        give_value(&each, &code_values(place->function, results)[i],
                   flow->values[first + from[i].cell]);
    }
}

// Its results may be any pointers.
static void call_by_address(const struct place *place)
{
    const struct code_operand *results = operand_at(place, 0);
    for (uint32_t i = 0; i < results->num; i++)
        give_value(place, &code_values(place->function, results)[i], make(place, SOURCE_LOADED));
    if (!place->flow->by_address)
        place->flow->by_address = place->instruction->statement->begin;
}

// ---- passes ----

static void run(const struct place *place)
{
    const struct code_operand *second = operand_at(place, 1);
    switch ((enum code_operation)place->instruction->operation) {
    case CODE_NOTHING:
        if (place->falls)
            give(place, 0);
        break;
    case CODE_FLOW:
        give(place, change(place, SOURCE_MOVE_ANYHOW, sources_from(place, 1)));
        break;
    case CODE_MOVE:
        move(place);
        break;
    case CODE_MULTIPLY:
        give(place, change(place, SOURCE_MOVE_ANYHOW, product(place)));
        break;
    case CODE_MULTIPLY_ADD:
        multiply_and_add(place);
        break;
    case CODE_ADD:
        add(place);
        break;
    case CODE_SHIFT_LEFT:
    case CODE_SHIFT_RIGHT:
    case CODE_EXTRACT:
        shift(place, place->instruction->operation == CODE_SHIFT_LEFT);
        break;
    case CODE_TURN:
        give(place, turned(place));
        break;
    case CODE_INSERT:
        give(place, insertion(place));
        break;
    case CODE_CONVERT:
        give(place, change(place, SOURCE_CONVERT, sources_from(place, 1)));
        break;
    case CODE_LOCATE:
        give(place, make(place, SOURCE_LOCAL));
        break;
    case CODE_LOAD:
        load_all(place);
        break;
    case CODE_STORE:
        store_all(place);
        break;
    case CODE_FETCH:
        load_all(place);
        store(place, second, second->offset, combined(place, second, sources_from(place, 2)));
        break;
    case CODE_COPY:
        grow(place, &place->flow->shared, make(place, SOURCE_LOADED));
        break;
    case CODE_CALL:
        call(place);
        break;
    case CODE_REFUSED:
        if (place->instruction->calls_by_address) {
            call_by_address(place);
            break;
        }
        refuse(place->flow, place->instruction->why, place->instruction->statement->begin);
    }
}

static void run_function(struct flow *flow, const struct flow_function *reached)
{
    const struct code_function *function = &flow->code->functions[reached->function];
    const struct code_instruction *instructions = function->instructions.items;
    for (size_t i = 0; i < function->instructions.num && !flow->why; i++) {
        struct place place = {
            .flow = flow,
            .function = function,
            .instruction = &instructions[i],
            .operands = code_operands(function, &instructions[i]),
            .first_cell = reached->first_cell,
        };
        place.step = step_of_result(&place);
        const bool loads =
            instructions[i].operation == CODE_LOAD || instructions[i].operation == CODE_FETCH;
        place.falls = braid_falls(function, &instructions[i], falling_cells(&place)) ||
                      (loads && loads_falling(&place));
        run(&place);
    }
}

static bool reach(struct flow *flow, uint32_t function)
{
    if (flow->cell_of[function] != CODE_NONE || !flow->code->functions[function].ptx->body)
        return true;
    const struct flow_function reached = { .function = function, .first_cell = flow->num_cells };
    if (!braid_code_read_function(flow->code, function) ||
        !braid_array_put(&flow->functions, &reached, sizeof(reached)))
        return false;
    flow->cell_of[function] = reached.first_cell;
    flow->num_cells += flow->code->functions[function].num_cells;
    return true;
}

static bool reach_callees(struct flow *flow, uint32_t index)
{
    const struct code_function *function = &flow->code->functions[index];
    const struct code_instruction *instructions = function->instructions.items;
    for (size_t i = 0; i < function->instructions.num; i++) {
        if (instructions[i].operation != CODE_CALL)
            continue;
        const struct code_operand *callee = &code_operands(function, &instructions[i])[1];
        if (!reach(flow, code_values(function, callee)->function))
            return false;
    }
    return true;
}

static bool reach_all(struct flow *flow, uint32_t entry)
{
    if (!reach(flow, entry))
        return false;
    for (size_t i = 0; i < flow->functions.num; i++) {
        const struct flow_function *functions = flow->functions.items;
        if (!reach_callees(flow, functions[i].function))
            return false;
    }
    flow->values = braid_allocate_zeroed(flow->num_cells, sizeof(*flow->values));
    flow->steps = braid_allocate_zeroed(flow->num_cells, sizeof(*flow->steps));
    flow->falls = braid_allocate_zeroed(flow->num_cells, sizeof(*flow->falls));
    return flow->values && flow->steps && flow->falls;
}

static void run_all(struct flow *flow, uint32_t entry)
{
    const struct flow_function *functions = flow->functions.items;
    flow->num_passes = 0;
    do {
        flow->changed = false;
        for (size_t i = 0; i < flow->functions.num; i++)
            run_function(flow, &functions[i]);
        if (++flow->num_passes == MOST_PASSES)
            refuse(flow, "its values depend on each other in too long a chain",
                   flow->code->functions[entry].ptx->begin);
    } while (flow->changed && !flow->why && !flow->code->sets.failed);
}

bool braid_flow_find(struct kernel_code *code, uint32_t entry, struct flow *out_flow)
{
    *out_flow = (struct flow){ .code = code };
    out_flow->cell_of = braid_allocate_zeroed(code->num_functions, sizeof(*out_flow->cell_of));
    for (uint32_t i = 0; out_flow->cell_of && i < code->num_functions; i++)
        out_flow->cell_of[i] = CODE_NONE;
    if (!out_flow->cell_of || !reach_all(out_flow, entry)) {
        braid_flow_finish(out_flow);
        return false;
    }
    run_all(out_flow, entry);
    // The sets have addresses that numbers moved before these were known to fall.
    if (out_flow->has_falls && !out_flow->why) {
        memset(out_flow->values, 0, out_flow->num_cells * sizeof(*out_flow->values));
        braid_local_memory_finish(&out_flow->local);
        out_flow->shared = 0;
        run_all(out_flow, entry);
    }
    if (code->sets.failed)
        braid_flow_finish(out_flow);
    return !code->sets.failed;
}

void braid_flow_finish(struct flow *flow)
{
    braid_array_finish(&flow->functions);
    braid_local_memory_finish(&flow->local);
    braid_free(flow->cell_of);
    braid_free(flow->values);
    braid_free(flow->steps);
    braid_free(flow->falls);
    *flow = (struct flow){ 0 };
}
