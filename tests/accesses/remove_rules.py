#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Removes one rule of the analysis of accesses at a time, and shows that a test notices.

usage: remove_rules.py [NUMBER...], in the root of the tree, behind a build in build/. It prints the tests that notice;
exit status 1 where none does. A number tries that rule only. All take some minutes.
"""
import glob
import os
import subprocess
import sys
import tempfile

# By file of addons/accesses: a text of it, and what stands in its place without the rule.
RULES = {
    "sources.c": [
        ("        put_halves(sets, change, item, offset);\n        break;", "        break;"),
        ("    if (change != SOURCE_UPPER)\n        put(sets, SOURCE_HALF, item, offset);\n", ""),
        ("    if (change != SOURCE_LOWER)\n        put(sets, SOURCE_HALF, item, moved(offset, 4));\n", ""),
        ("        put_loaded(sets, SOURCE_PART, source_left(source));\n        break;", "        break;"),
        ("    if (kind == SOURCE_PART)\n"
         "        put(sets, SOURCE_LOADED, 0, 0);\n"
         "    else if (kind == SOURCE_BYTES)",
         "    if (kind == SOURCE_BYTES)"),
        ("    else if (kind == SOURCE_BYTES)\n        put(sets, SOURCE_UNKNOWN, 0, 0);\n", ""),
        ("    else if (kind == SOURCE_HALF)\n        meet(sets, members, num, source, SOURCE_HALF);", ""),
        ("    return left ? (left + by + 7) & ~7u : by;", "    return by;"),
        ("        put_loaded(sets, SOURCE_LOADED, left_of_whole(left, by));\n", ""),
        ("    if (by > least)\n        put_loaded(sets, SOURCE_LOADED, by);\n", ""),
        ("    if (by >= least && (by <= most || !is_known))\n        put_loaded(sets, SOURCE_LOADED, 0);\n", ""),
        ("(by <= most || !is_known)", "by == most"),
        ("    if (by < most || !is_known)\n        put_shifted(", "    if (!is_known)\n        put_shifted("),
        ("is_known && least > by ? least - by : 1", "least"),
        ("is_known ? most - by : most", "is_known ? least : most"),
        ("(source_offset(source) + least) & ~7u", "source_offset(source) + least + 7"),
        ("        put_shifted(sets, is_pointed || !source_left(source) ? least : 1, by);", "        put_shifted(sets, least, by);"),
        ("by < UPPER || by == SOURCE_ANY_BITS ? left : 0", "left"),
        ("        if (change != SOURCE_UPPER)\n            put_source(sets, source);\n", ""),
        ("        if (is_upper)\n            put_loaded(sets, SOURCE_LOADED, 0);\n", ""),
        ("        if (left > UPPER)\n            put_loaded(sets, SOURCE_LOADED, left - UPPER);\n", ""),
        ("        if (is_upper)\n            put(sets, SOURCE_HIGH, source_item(source), source_offset(source));\n", ""),
        ("        if (left >= UPPER / 2)\n            put(sets, SOURCE_UNKNOWN, 0, 0);\n", ""),
        ("    if (is_loaded)\n        put_shifted(", "    if (is_loaded && by == SOURCE_ANY_BITS)\n        put_shifted("),
        ("    if (is_loaded && !is_pointed && source_left(source))\n        put_loaded(sets, SOURCE_LOADED, 0);\n", ""),
        ("    if (!is_pointed && (!is_loaded || source_left(source)))\n", "    if (!is_loaded)\n"),
        ("        if (source_at_left(members[i], 0) == source)", "        if (members[i] == source)"),
        ("        narrow(sets, SOURCE_UPPER, source);", "        ;"),
        ("        if (kind == SOURCE_HALF)\n            meet(sets, members, num, source, SOURCE_HIGH);", ""),
        ("        if (kind != SOURCE_LOADED && kind != SOURCE_POINTED && kind != SOURCE_SHIFTED)\n", ""),
        ("            put(sets, kind, item, moved_address(offset, by));", "            put(sets, kind, item, offset);"),
        ("            put(sets, kind, item, SOURCE_ANYWHERE);", "            put(sets, kind, item, offset);"),
        ("source_first((int64_t)(offset & SOURCE_MOST_STEP) + by, step)", "(offset & SOURCE_MOST_STEP)"),
        ("step = source_divisor(by, before);", "step = by;"),
    ],
    "code_constants.c": [
        ("        *from = constants->known[from->cell];", "        ;"),
        ("    forget_results(constants, operands);\n", ""),
        ("        forget_results(constants, code_operands(constants->function, instruction));", "        ;"),
        ("            constants.now++;", "            ;"),
        (" && !value->is_part", ""),
        ("*instruction->statement->begin == '@' || ", ""),
    ],
    "flow.c": [
        ("begins(place, \"mul.hi\") || begins(place, \"mad.hi\")", "false"),
        ("is_upper ? shifted_right(place, set, SOURCE_ANY_BITS)", "is_upper ? set"),
        ("    if (stays(factor->number, is_upper))\n        return set;\n", ""),
        (' || begins(place, "madc.hi")', ""),
        ("    if (size >> HALF_BITS && (uint32_t)size)", "    if (0)"),
        ("size >> HALF_BITS && (uint32_t)size", "size >> HALF_BITS"),
        ("shifted_left(place, change(place, SOURCE_MULTIPLY, set), HALF_BITS)", "shifted_left(place, set, HALF_BITS)"),
        ("    return shifted_left(place, set, __builtin_ctzll(size));", "    return change(place, SOURCE_MULTIPLY, set);"),
        ("factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor", "(uint64_t)(factor < 0 ? 0 : factor)"),
        ("is_known ? (int32_t)bits : SOURCE_ANY_BITS);\n}\n\nstatic uint32_t shifted_right", "is_known ? (int32_t)bits : 0);\n}\n\nstatic uint32_t shifted_right"),
        ("bits > 0 && bits < HALF_BITS", "false"),
        ("        set = shifted_by(place, set, 2, left);", "        ;"),
        ("    return bits > 0 && number ? shifted : join(place, set, shifted);", "    return shifted;"),
        ("    if (begins(place, \"div\"))\n        return quotient(place);\n", ""),
        ("    if (size == 1)\n        return set;\n    return !size", "    return !size"),
        ("from / 4 + 1 == index && ", ""),
        ("        return HALF_BITS - 8;", "        return 0;"),
        ("number && is_right ? HALF_BITS - bits : bits", "bits"),
        ("number ? number->number : HALF_BITS - 1", "number ? number->number : 0"),
        ("set = join(place, set, shifted_left(place, one, left));", "set = join(place, set, one);"),
        ("    case CODE_EXTRACT:\n", ""),
        ("    return join(place, shifted_by(place, set, 3, true),", "    return join(place, set,"),
        ("                change(place, SOURCE_MOVE_ANYHOW, sources_from(place, 2)));", "                0);"),
        ("subtracts ? negated(number->number) : number->number", "number->number"),
        ("subtracts ? 1 : step_of(place, 1)", "step_of(place, 1)"),
        ("number > 0 && number <= SOURCE_MOST_STEP && !overflows", "number > 0 && number <= SOURCE_MOST_STEP"),
        ("number && (is_wide || is_low) ?", "number ?"),
        ("    *step = common;\n", "    *step = *step ? *step : common;\n"),
        ("    if (number && by == (int32_t)by && place->flow->num_passes < PASSES_WITH_OFFSETS)",
         "    if (number)"),
        ("return join(place, set, make(place, is_local ? SOURCE_LOCAL : SOURCE_SHARED));", "return set;"),
        ("packs ? packed(place, set) : set)", "set)"),
        ("bits < 2 * HALF_BITS && num ? shifted_left(place, set, bits - bits / num) : set", "set"),
        ("    if (bytes < WHOLE / 2)\n"
         "        return braid_sources_one(sets, source_make(SOURCE_BYTES, item, offset & ~3u));\n",
         ""),
        ("place->instruction->bytes < WHOLE ? SOURCE_NARROW : SOURCE_WIDEN, set)", "SOURCE_NARROW, set)"),
        ("place->instruction->bytes < WHOLE ? SOURCE_NARROW : SOURCE_WIDEN, set)", "SOURCE_MOVE, set)"),
        ("        return as_loaded(place, flow->values[item]);", "        return 0;"),
        ("    case CODE_LOCAL:\n"
         "        return as_loaded(place, flow->local);",
         "    case CODE_LOCAL:\n"
         "        return 0;"),
        ("    case CODE_SHARED:\n"
         "        return as_loaded(place, flow->shared);",
         "    case CODE_SHARED:\n"
         "        return 0;"),
        ("        return load_global(place, from, behind);", "        return 0;"),
        ("return is_known ? set : join(place, set, make(place, SOURCE_UNKNOWN));", "return set;"),
        ("            source = members[i];\n", "            ;\n"),
        ("    if (flow->num_passes > PASSES_WITH_OFFSETS)\n"
         "        return make(place, SOURCE_UNKNOWN);\n"
         "    flow->changed = true; // later passes tell\n",
         ""),
        ("        const int64_t behind = address->offset + (int64_t)i * place->instruction->bytes;",
         "        const int64_t behind = address->offset;"),
        ("        give_cell(place, source_item(source), set);\n"
         "        break;\n"
         "    case SOURCE_LOCAL",
         "        break;\n"
         "    case SOURCE_LOCAL"),
        ("    case SOURCE_LOCAL:\n        store_inside(place, &flow->local, set);", "    case SOURCE_LOCAL:\n"),
        ("    case SOURCE_SHARED:\n        store_inside(place, &flow->shared, set);", "    case SOURCE_SHARED:\n"),
        ("    if (place->instruction->space == CODE_LOCAL)\n"
         "        store_inside(place, &flow->local, set);",
         "    if (place->instruction->space == CODE_LOCAL)\n"
         "        ;"),
        ("    else if (place->instruction->space == CODE_SHARED)\n"
         "        store_inside(place, &flow->shared, set);",
         "    else if (place->instruction->space == CODE_SHARED)\n"
         "        ;"),
        ("        give_cell(&each, first + to[i].cell, passed(place, argument));", "        ;"),
        ("        give_value(&each, &code_values(place->function, results)[i],\n"
         "                   flow->values[first + from[i].cell]);",
         "        ;"),
        ("sunk_if(place, sinks, moved_by(", "sunk_if(place, false, moved_by("),
        ("subtracts || operand_falls(place, 1),", "false,"),
        ("sunk_if(place, falls,\n", "sunk_if(place, false,\n"),
        ("    flow->stored_falls = flow->stored_falls || place->falls;\n", ""),
        ("        each.falls = flow->falls[first + from[i].cell];\n", "        each.falls = false;\n"),
        ("    if (out_flow->has_falls &&", "    if (0 &&"),
        ("    if (results->num != function->results.num || arguments->num != function->parameters.num) {",
         "    if (0) {"),
        ("moved_by(place, sources_from(place, 3), step_of_product(place))", "0"),
        ("        give(place, change(place, SOURCE_CONVERT, sources_from(place, 1)));",
         "        give(place, sources_from(place, 1));"),
        ("        load_all(place);\n        store(place, second", "        store(place, second"),
        ("        store(place, second, sources_from(place, 2));", ""),
        ("        grow(place, &place->flow->shared, make(place, SOURCE_LOADED));", ""),
        ("    } while (flow->changed && ", "    } while (0 && "),
    ],
    "falls.c": [
        ("root_of(definitions, cell) == root)\n        return ITSELF;", "0)\n        return ITSELF;"),
        ("found = one < found ? one : found;", "found = one;"),
        ("    return is_sign_of(definitions", "    return false && is_sign_of(definitions"),
        ("number > INT32_MAX && number <= UINT32_MAX", "0"),
        ("    if ((divides || is_upper || is_wide) && is_unsigned(instruction))\n        return false;\n", ""),
        ("(!is_upper && is_low_number(function, instruction, i))", "is_low_number(function, instruction, i)"),
        ("    if (instruction->is_wrapped)\n        return false;\n", ""),
        (" || adds_zeros(instruction)", ""),
        ("{ \"max\", \"and\" }", "{ \"and\" }"),
        ("{ \"max\", \"and\" }", "{ \"max\" }"),
        ("return begins(instruction, \"shfl\") ?", "return false ?"),
        ("number->number > 0 && *type_of", "0 && *type_of"),
    ],
    "kernel_accesses.c": [
        ("        is_down = is_down || ", "        is_down = false && "),
        ("        if (is_loaded || kind == SOURCE_UNKNOWN)", "        if (kind == SOURCE_UNKNOWN)"),
        ("        if (is_loaded || kind == SOURCE_UNKNOWN)", "        if (is_loaded)"),
        ("kind == SOURCE_LOADED && !source_left(members[i]);", "kind == SOURCE_LOADED;"),
        ("    if (!is_known) {\n", "    if (0) {\n"),
        ("        if (kind == SOURCE_VARIABLE)\n            accesses->of_variables |= acts_of(instruction);", ""),
        ("ACCESSES_READS | ACCESSES_WRITES | ACCESSES_UPDATES", "ACCESSES_WRITES | ACCESSES_UPDATES"),
        ("    if (flow->why)\n        refuse(accesses, flow->why, flow->at);", ""),
    ],
    "code_instructions.c": [
        ("    if (outer && (name || is_of_range(function, word)))", "    if (outer && is_of_range(function, word))"),
        ("    if (outer && (name || is_of_range(function, word)))", "    if (outer && name)"),
        ("    if (braid_ptx_word_begins(word, \"wmma.load\"))\n        return CODE_LOAD;", ""),
        ("        instruction->why = \"it calls a function by its address\";\n        return;", "        return;"),
        ("    if (!function->body && !is_harmless(function->name))", "    if (0)"),
        ("    if (kind == PTX_UNSEEN_ACCESS)\n", "    if (0)\n"),
        ("    return facts & PTX_TEXTURE ? CODE_REFUSED : CODE_FLOW;", "    return CODE_FLOW;"),
        ("        reader->why = \"a name stands for several things\";", "        ;"),
        ("    bits *= opcode->is_wide ? 2 : 1;", ""),
        ("operation == CODE_CONVERT || braid_ptx_word_is(opcode->name, \"slct\")", "operation == CODE_CONVERT"),
        ("    return point ? (struct ptx_word){ word.at, (size_t)(point - word.at) } : word;", "    return word;"),
        ("        if (!may_follow(word, is_behind_value))\n", "        if (false)\n"),
        ("        return !is_behind_value;\n", "        return true;\n"),
        ("    return word.length == 1 && strchr(\"[]{}(),;+-|!\", *word.at);", "    return true;"),
    ],
    "argument.c": [
        ("    if (is_trap(graph, node, index) || braid_accesses_is_unchecked(graph, node, index))\n",
         "    if (is_trap(graph, node, index))\n"),
        ("    return planned == GRAPH_NONE ? find_in(&graph->given, node, argument) : planned;", "    return planned;"),
        ("    const uint32_t planned = find_in(&graph->addresses, node, argument);",
         "    const uint32_t planned = GRAPH_NONE;"),
        ("graph_resource_at(graph, argument.resource)->scratch == GRAPH_NONE", "true"),
    ],
    "accesses.c": [
        ("    if (argument.kind == ARGUMENT_VALUE && changes(resolver, index, offset))\n", "    if (false)\n"),
        ("use->target == BRAID_TARGET_ARGUMENT && use->argument == argument &&",
         "use->target == BRAID_TARGET_ARGUMENT &&"),
        ("            use->argument_offset < offset + WORD && offset < use->argument_offset + use->bytes)",
         "            true)"),
        ("value >= FIRST_ADDRESS && value < LAST_ADDRESS ? WORD_ELSEWHERE : word.kind", "WORD_ELSEWHERE"),
        ("value >= FIRST_ADDRESS && value < LAST_ADDRESS ? WORD_ELSEWHERE : word.kind", "word.kind"),
        ("offset == SOURCE_ANYWHERE ? WORD : HALF", "WORD"),
        ("offset == SOURCE_ANYWHERE ? WORD : HALF", "HALF"),
        ("parameter->align && parameter->align < most ? parameter->align : most", "most"),
        ("parameter->align && parameter->align < most ? parameter->align : most", "1"),
        ("        if (!is_anywhere)\n            break;\n", ""),
        ("        if (items[i].bytes != bytes_of(resolver, i))\n            return i;\n", ""),
        ("    return num == parameters->num ? GRAPH_NONE : num;", "    return GRAPH_NONE;"),
        ("    return acts & ACCESSES_WRITES ? BRAID_READ_WRITE : BRAID_READ;", "    return BRAID_READ;"),
        ("while (i < items->num && known[i].resource != resource)", "while (i < items->num)"),
        ("    known[i].acts |= acts;\n", "    known[i].acts = access->acts;\n"),
        ("    if (why_unproven(resolver->kernel))\n        return refuse_unproven(resolver);\n", ""),
        ("    return unlike == GRAPH_NONE ? BRAID_OK : refuse_unlike(resolver, unlike);", "    return BRAID_OK;"),
        ("    return declared && (!(acts", "    return (!(acts"),
        ("    return declared && (!(acts & ACCESSES_WRITES) || (declared & ACCESSES_WRITES));", "    return declared;"),
        ("        if (buffer_of(resolver, accesses[i].resource) == buffer)\n"
         "            acts |=",
         "        if (accesses[i].resource == buffer)\n"
         "            acts |="),
        ("    if (word.before != GRAPH_NONE && covers(", "    if (false && covers("),
        (" && items[i - 1].last + 1 == value)", ")"),
        ("        checker->is_whole = checker->is_whole && word.kind != WORD_CHANGES;\n", ""),
        ("        if (!resource->bytes || resource->scratch", "        if (resource->scratch"),
        ("                remark.acts &= ~made[k].acts;\n", "                remark.acts = remark.acts;\n"),
        ("is_grid(resolver, remark.resource)", "false"),
        ("resource->scratch != GRAPH_NONE ||\n            is_grid", "is_grid"),
        ("    const bool is_known = !why_unproven(kernel) && find_unlike", "    const bool is_known = find_unlike"),
        ("    if (index == CODE_NONE)\n", "    if (false)\n"),
        (": kernel_of(resolver)->num_args - kernel_of(resolver)->grid_from;", ": kernel_of(resolver)->num_args;"),
    ],
}

TESTS = ("accesses_are_read_from_ptx", "shifted_pointers_are_followed", "addresses_below_their_pointer_are_told",
         "nodes_have_the_accesses_of_their_code", "kernels_of_every_compiler_are_read", "kernels_touch_what_their_code_says")
FLAGS = ("-std=c11", "-O1", "-w", "-D_GNU_SOURCE", "-Isrc", "-Iaddons", "-Iinclude")
SECONDS = 120  # a test that hangs has noticed


def link(folder, test, mutant):
    """The program of a test, with an object in place of the library's."""
    made = os.path.join(folder, test)
    name = test if test.startswith("accesses_are") else f"accesses_{test}"
    objects = glob.glob(f"build/tests/accesses/{name}.p/*.o")
    subprocess.run(["gcc", mutant, *objects, "build/tests/support/libtest_support.a",
                    "build/standin/ptx/libstandin_ptx.a", "build/src/libbraid_internal.a", "-lcmocka", "-lm", "-ldl",
                    "-lpthread", "-o", made], check=True)
    return made


def notices(program):
    environment = dict(os.environ, BRAID_TEST_KERNELS="2000", CMOCKA_TEST_ABORT="0")
    arguments = ["tests/accesses/ptx", "tests/gpu/ptx"] if "every_compiler" in program else []
    try:
        return subprocess.run([program, *arguments], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=SECONDS, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def try_rule(folder, name, text, replacement):
    """The first test that notices, or None."""
    with open(f"addons/accesses/{name}", encoding="utf-8") as file:
        source = file.read()
    if text not in source:
        sys.exit(f"{name} has no text {text!r}: change this script with it")
    mutant = os.path.join(folder, name)
    with open(mutant, "w", encoding="utf-8") as file:
        file.write(source.replace(text, replacement, 1))
    subprocess.run(["gcc", *FLAGS, "-c", mutant, "-o", mutant + ".o"], check=True)
    return next((test for test in TESTS if notices(link(folder, test, mutant + ".o"))), None)


def main():
    wanted = {int(number) for number in sys.argv[1:]}
    rules = [(name, *rule) for name, all_of_file in RULES.items() for rule in all_of_file]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text, replacement) in enumerate(rules):
            if wanted and number not in wanted:
                continue
            test = try_rule(folder, name, text, replacement)
            survivors += not test
            print(f"{number} {name}: {test or 'NO TEST NOTICES ' + repr(text)}", flush=True)
    print(f"summary: {len(wanted) or len(rules)} rules removed, {survivors} without a test that notices")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
