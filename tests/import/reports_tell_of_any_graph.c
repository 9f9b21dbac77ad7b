// SPDX-License-Identifier: Apache-2.0
// The report of an import puts nodes without proof together by function and reason, says how long
// the longest path could be, and cuts long lists. No driver is needed.
#include <stdio.h>
#include <string.h>

#include "base/host_memory.h"
#include "import/import.h"
#include "support/check.h"

enum { MOST_NODES = 1000, MOST_FUNCTIONS = 20, MOST_ACCESSES = MOST_NODES };

// A chain of kernels.
struct chain {
    braid_import import;
    struct captured_node nodes[MOST_NODES];
    struct captured_function functions[MOST_FUNCTIONS];
    char names[MOST_FUNCTIONS][8];
    bool is_work[MOST_NODES], proven[MOST_NODES];
    struct import_edge edges[MOST_NODES];
    struct import_region region;
    struct import_access accesses[MOST_ACCESSES];
    struct import_reason reasons[MOST_NODES];
    char *written;
};
static struct chain chain;

static void begin_chain(void)
{
    memset(&chain, 0, sizeof(chain));
    for (int i = 0; i < MOST_FUNCTIONS; i++) {
        snprintf(chain.names[i], sizeof(chain.names[i]), "f%d", i);
        chain.functions[i].name = chain.names[i];
    }
}

// A reason: the node is not proven.
static uint32_t add_node(uint32_t function, uint32_t line, const char *reason)
{
    struct braid_import *import = &chain.import;
    const uint32_t node = (uint32_t)import->captured.nodes.num++;
    chain.nodes[node] = (struct captured_node){ .type = GPU_NODE_KERNEL, .kernel = { function } };
    snprintf(chain.nodes[node].place, sizeof(chain.nodes[node].place), "%u", node);
    chain.is_work[node] = true;
    chain.proven[node] = !reason;
    if (node)
        chain.edges[import->captured.edges.num++] = (struct import_edge){ node - 1, node };
    if (reason) {
        struct import_reason *to = &chain.reasons[import->uses.reasons.num++];
        *to = (struct import_reason){ .node = node, .line = line };
        snprintf(to->text, sizeof(to->text), "%s", reason);
    }
    return node;
}

static void add_access(uint32_t node, uint32_t buffer, bool writes)
{
    chain.accesses[chain.import.uses.accesses.num++] =
        (struct import_access){ node, USE_FIRST_BUFFER + buffer, writes };
}

// As an import does it.
static void end_chain(void)
{
    struct braid_import *import = &chain.import;
    import->captured.nodes.items = chain.nodes;
    import->captured.edges.items = chain.edges;
    import->captured.regions.items = &chain.region;
    import->captured.regions.num = 1;
    chain.region = (struct import_region){ IMPORT_NONE, 0, (uint32_t)import->captured.nodes.num };
    import->captured.functions.items = chain.functions;
    import->uses.is_work = chain.is_work;
    import->uses.proven = chain.proven;
    import->uses.accesses.items = chain.accesses;
    import->uses.reasons.items = chain.reasons;
    import->memory.buffers.num = MOST_NODES; // none is looked at
    const struct import_order order = braid_import_order(import);
    assert_true(braid_import_find_orders(&order, &import->orders));
    import->info.num_nodes = import->info.num_kernels = order.num_nodes;
    import->info.num_unproven = (uint32_t)import->uses.reasons.num;
    import->info.num_races = (uint32_t)import->orders.races.num;
    import->info.longest_kept = import->orders.longest_kept;
}

static const char *report(braid_import_report form)
{
    size_t num;
    braid_free(chain.written);
    FILE *file = braid_open_text(&chain.written, &num);
    assert_non_null(file);
    check_ok(braid_import_write(&chain.import, form, file));
    assert_int_equal(fclose(file), 0);
    return chain.written;
}

static void expect(braid_import_report form, const char *part)
{
    if (!strstr(report(form), part))
        fail_msg("'%s' is not in: %s", part, chain.written);
}

static void finish_chain(void)
{
    braid_import_orders_finish(&chain.import.orders);
    braid_free(chain.written);
}

// ---- what they tell ----

static void nodes_are_put_together_by_function_and_reason(void **state)
{
    (void)state;
    begin_chain();
    for (int i = 0; i < 6; i++) {
        add_node(0, 3, "it follows an address");
        add_node(1, 0, i % 3 ? "no text has it" : "it has an address");
        add_node(2, 0, NULL);
    }
    add_node(1, 0, "no text has it");
    end_chain();
    expect(BRAID_IMPORT_TEXT,
           "(most 1, mean 1.0)\n"
           "13 nodes keep all captured orders:\n"
           "  5 nodes of 'f1': no text has it (4, 7, 13, 16 and 1 more)\n"
           "  2 nodes of 'f1': it has an address (1, 10)\n"
           "    if they were proven and shared no memory, the longest path could have 12 nodes, "
           "now 19\n"
           "  6 nodes of 'f0': line 3 of its PTX: it follows an address (0, 3, 6, 9 and 2 more)\n"
           "    if they were proven and shared no memory, the longest path could have 14 nodes, "
           "now 19\n"
           "  if all were proven and shared no memory, the longest path could have 1 node\n");
    expect(BRAID_IMPORT_JSON,
           "  \"nodes_by_kernel\": [\n    {\"name\": \"f1\", \"nodes\": 7},\n"
           "    {\"name\": \"f0\", \"nodes\": 6},\n    {\"name\": \"f2\", \"nodes\": 6}],\n"
           "  \"nodes_by_level\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],\n"
           "  \"unproven_functions\": [\n"
           "    {\"kind\": \"kernel\", \"name\": \"f1\", \"nodes\": 7, \"longest_if_proven\": 12, "
           "\"reasons\": [{\"nodes\": 5, \"line\": 0, \"reason\": \"no text has it\"}, "
           "{\"nodes\": 2, \"line\": 0, \"reason\": \"it has an address\"}]},\n"
           "    {\"kind\": \"kernel\", \"name\": \"f0\", \"nodes\": 6, \"longest_if_proven\": 14, "
           "\"reasons\": [{\"nodes\": 6, \"line\": 3, \"reason\": \"it follows an address\"}]}],\n"
           "  \"longest_if_all_proven\": 1,\n  \"longest_is_left_out\": false,\n");
    expect(BRAID_IMPORT_JSON, "{\"node\": \"18\", \"name\": \"f1\", \"line\": 0, ");
    expect(BRAID_IMPORT_PAGE, "<tr><td>f0</td><td>it follows an address</td><td>3</td><td>6</td>"
                              "<td>0, 3, 6, 9, ...</td><td>14</td></tr>\n"
                              "<tr><td>all</td><td></td><td></td><td>13</td><td></td><td>1</td>");
    finish_chain();
}

// Node i touches what each earlier node of its width does, so levels have as many nodes.
static void levels_are_counted_and_cut(void **state)
{
    (void)state;
    begin_chain();
    for (uint32_t i = 0; i < 75; i++)
        add_access(add_node(0, 0, NULL), i < 3 ? i : 3, i >= 3 || i == 0);
    end_chain();
    expect(BRAID_IMPORT_TEXT,
           "by level: 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ... of 72 levels "
           "(most 4, mean 1.0)\n");
    expect(BRAID_IMPORT_PAGE, "<rect x=\"0\" y=\"0.00\" width=\"0.9\" height=\"100.00\"><title>4<");
    expect(BRAID_IMPORT_PAGE, "<rect x=\"71\" y=\"75.00\" width=\"0.9\" "
                              "height=\"25.00\"><title>1</title></rect>\n</svg>");
    finish_chain();
    begin_chain();
    for (uint32_t i = 0; i < MOST_NODES; i++)
        add_access(add_node(0, 0, NULL), i == 999 ? 1 : 0, true);
    end_chain();
    expect(BRAID_IMPORT_PAGE, "<p>999 levels, most 2, mean 1.0</p>");
    expect(BRAID_IMPORT_PAGE, "<rect x=\"0\" y=\"0.00\"");
    expect(BRAID_IMPORT_PAGE, "<rect x=\"199\" y=\"50.00\"");
    assert_null(strstr(chain.written, "<rect x=\"200\""));
    finish_chain();
    begin_chain();
    end_chain();
    assert_null(strstr(report(BRAID_IMPORT_TEXT), "level"));
    assert_null(strstr(report(BRAID_IMPORT_PAGE), "<svg"));
    finish_chain();
}

static void only_some_functions_tell_of_the_longest_path(void **state)
{
    (void)state;
    begin_chain();
    for (uint32_t i = 0; i < MOST_FUNCTIONS; i++) {
        for (uint32_t k = 0; k <= i; k++)
            add_node(i, 0, "no text has it");
    }
    end_chain();
    expect(BRAID_IMPORT_TEXT, "  5 nodes of 'f4': no text has it (10, 11, 12, 13 and 1 more)\n"
                              "    if they were proven and shared no memory, the longest path "
                              "could have 206 nodes, now 210\n"
                              "  4 nodes of 'f3': no text has it (6, 7, 8, 9)\n"
                              "  3 nodes of 'f2': no text has it (3, 4, 5)\n");
    expect(BRAID_IMPORT_TEXT,
           "  only the 16 functions with the most nodes tell of the longest path\n"
           "  if all were proven and shared no memory, the longest path could have 1 node\n");
    expect(BRAID_IMPORT_JSON, "\"name\": \"f3\", \"nodes\": 4, \"longest_if_proven\": null, ");
    expect(BRAID_IMPORT_PAGE, "<td>3, 4, 5</td><td></td></tr>\n");
    finish_chain();
}

// It is given up for the number of edges alone, before they are looked at.
static void a_long_search_is_left_out(void **state)
{
    (void)state;
    begin_chain();
    add_node(0, 0, "no text has it");
    add_node(1, 0, "no text has it");
    end_chain();
    chain.import.captured.edges.num = 1000000000;
    expect(BRAID_IMPORT_TEXT,
           "  1 node of 'f0': no text has it (0)\n  1 node of 'f1': no text has it (1)\n"
           "  the graph is too large to tell how short the longest path could be\n");
    expect(BRAID_IMPORT_JSON, "\"longest_if_proven\": null, ");
    expect(BRAID_IMPORT_JSON,
           "\"longest_if_all_proven\": null,\n  \"longest_is_left_out\": true,\n");
    expect(BRAID_IMPORT_PAGE, "<p>The graph is too large to tell how short.</p>");
    finish_chain();
}

static void a_page_escapes_and_cuts(void **state)
{
    (void)state;
    begin_chain();
    chain.functions[0].name = "a<b>&\"c\"";
    for (uint32_t i = 0; i < 16; i++)
        add_access(add_node(0, i, i == 15 ? "an <i> & a \xff" : NULL), 0, true);
    chain.import.captured.edges.num = 0; // 105 of 120 pairs are of proven nodes
    end_chain();
    const char *page = report(BRAID_IMPORT_PAGE);
    assert_memory_equal(page, "<!DOCTYPE html>\n", 16);
    assert_string_equal(page + strlen(page) - 15, "</body></html>\n");
    expect(BRAID_IMPORT_PAGE, "<tr><td>a&lt;b&gt;&amp;&quot;c&quot;</td><td>an &lt;i&gt; &amp; a "
                              "\xef\xbf\xbd</td><td>15</td><td>1</td><td>15</td>");
    expect(BRAID_IMPORT_PAGE, "<tr><td>0</td><td>a&lt;b&gt;&amp;&quot;c&quot;</td><td>1</td>");
    assert_null(strstr(chain.written, "a<b"));
    expect(BRAID_IMPORT_PAGE, "<p>and 20 more</p>");
    finish_chain();
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    begin_chain();
    add_node(0, 0, "no text has it");
    end_chain();
    for (int form = BRAID_IMPORT_TEXT; form <= BRAID_IMPORT_PAGE; form++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        check_fails(braid_import_write(&chain.import, (braid_import_report)form, full),
                    BRAID_IO_ERROR, "braid_import_write: cannot write");
        fclose(full);
    }
    check_fails(braid_import_write(&chain.import, (braid_import_report)3, stdout),
                BRAID_INVALID_ARGUMENT, "form 3 is unknown");
    finish_chain();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_put_together_by_function_and_reason),
        cmocka_unit_test(levels_are_counted_and_cut),
        cmocka_unit_test(only_some_functions_tell_of_the_longest_path),
        cmocka_unit_test(a_long_search_is_left_out),
        cmocka_unit_test(a_page_escapes_and_cuts),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
