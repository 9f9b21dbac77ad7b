// SPDX-License-Identifier: Apache-2.0
// Whatever a program calls its nodes, the drawing is valid and shows that name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "dot/svg.h"
#include "report/dot.h"
#include "support/check.h"

static const struct {
    const char *name, *shown;
} names[] = {
    { "plain", "plain" },
    { "with \"quotes\"", "with \"quotes\"" },
    { "back\\slash", "back\\slash" },
    { "ends with a backslash\\", "ends with a backslash\\" },
    { "\\N \\G \\L \\T", "\\N \\G \\L \\T" },
    { "<b>not html</b>", "<b>not html</b>" },
    { "&amp; &lt; &", "&amp; &lt; &" },
    { "{record|like}", "{record|like}" },
    { "\"]; } digraph { a -> b", "\"]; } digraph { a -> b" },
    { "tab\there", "tab\\x09here" },
    { "bell\a", "bell\\x07" },
    { "na\xc3\xafve \xe6\xb5\x81 \xf0\x9f\x8c\x8a", "na\xc3\xafve \xe6\xb5\x81 \xf0\x9f\x8c\x8a" },
    { "latin \xe4", "latin \xef\xbf\xbd" },
    { "cut \xe6\xb5", "cut \xef\xbf\xbd" },
    { "overlong \xc0\xaf", "overlong \xef\xbf\xbd\xef\xbf\xbd" },
    { "surrogate \xed\xa0\x80", "surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    { "not a character \xef\xbf\xbf", "not a character \\xef\\xbf\\xbf" },
    { "delete \x7f", "delete \\x7f" },
    { "c1 control \xc2\x85", "c1 control \\xc2\\x85" },
    { "// comment", "// comment" },
    { "# preprocessor", "# preprocessor" },
};

enum { NUM_NAMES = sizeof(names) / sizeof(names[0]) };

// A graph of nodes and resources that bear all the names.
static braid_graph *make_graph(void)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    braid_node last = { 0 };
    for (size_t i = 0; i < NUM_NAMES; i++) {
        braid_resource resource;
        check_ok(braid_graph_add_resource(graph, names[i].name, &resource));
        braid_empty empty = { BRAID_ACCESSES({ resource, BRAID_WRITE }), .node.name = names[i].name,
                              .node.cost_ns = 1500 };
        check_ok(braid_graph_add_empty(graph, &empty, &last));
        check_ok(braid_graph_add_empty(graph, &empty, NULL));
    }
    return graph;
}

static void each_name_reaches_the_svg(void **state)
{
    (void)state;
    if (!svg_can_render())
        skip_because("Graphviz' dot is not installed");
    braid_graph *graph = make_graph();
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    char *svg = svg_render(drawing);
    assert_non_null(svg);
    for (size_t i = 0; i < NUM_NAMES; i++) {
        char *shown = svg_escape(names[i].shown);
        char wanted[256];
        snprintf(wanted, sizeof(wanted), ">%s</text>", shown);
        if (!strstr(svg, wanted))
            fail_msg("'%s' is not in the SVG", wanted);
        free(shown);
    }
    free(svg);
    free(drawing);
    braid_graph_destroy(graph);
}

static void a_very_long_name_is_accepted(void **state)
{
    (void)state;
    if (!svg_can_render())
        skip_because("Graphviz' dot is not installed");
    char name[40001];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = name }, NULL));
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    char *svg = svg_render(drawing);
    assert_non_null(svg);
    assert_non_null(strstr(svg, name));
    free(svg);
    free(drawing);
    braid_graph_destroy(graph);
}

static void assert_text(void (*write)(FILE *, const char *), const char *text, const char *wanted)
{
    char *written = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&written, &length);
    write(file, text);
    fclose(file);
    assert_string_equal(written, wanted);
    free(written);
}

static void text_is_quoted(void **state)
{
    (void)state;
    assert_text(braid_dot_write_text, "a\"b\\c\nd&e", "a\\\"b\\\\c\\nd&amp;e");
    assert_text(braid_dot_write_text, "\x80", "\xef\xbf\xbd");
    assert_text(braid_dot_write_text, "\x1b", "\\\\x1b");
    assert_text(braid_dot_write_text, "", "(no name)");
    assert_text(braid_dot_write_text, "\xf4\x90\x80\x80",
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void assert_time(uint64_t time_ns, const char *wanted)
{
    assert_string_equal(braid_dot_time(time_ns).text, wanted);
}

static void times_have_a_readable_unit(void **state)
{
    (void)state;
    assert_time(0, "0 ns");
    assert_time(999, "999 ns");
    assert_time(1000, "1.00 us");
    assert_time(1004, "1.00 us");
    assert_time(1005, "1.01 us");
    assert_time(9994, "9.99 us");
    assert_time(9995, "10.0 us");
    assert_time(12345, "12.3 us");
    assert_time(999949, "999.9 us");
    assert_time(999999, "1.00 ms");
    assert_time(1000000, "1.00 ms");
    assert_time(1990000, "1.99 ms");
    assert_time(1500000000, "1.50 s");
    assert_time(UINT64_MAX, "18446744073.7 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted),
        cmocka_unit_test(times_have_a_readable_unit),
        cmocka_unit_test(each_name_reaches_the_svg),
        cmocka_unit_test(a_very_long_name_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
