// SPDX-License-Identifier: Apache-2.0
// What the attributes of a DOT file say about its nodes, resources and edges.
#ifndef BRAID_TOOL_DOT_ATTRIBUTES_H
#define BRAID_TOOL_DOT_ATTRIBUTES_H

#include "dot_file.h"

// Fills in all of the file that is not known from its nodes and edges alone. What cannot be is
// reported with its line.
enum exit_status dot_attributes_read(struct dot_file *file);

enum dot_attribute_use dot_attribute_find_use(const char *name);

// Each reads one attribute of the whole graph or of a node; `text` is not empty.
enum exit_status dot_resources_read(struct dot_file *file, const char *text);
enum exit_status dot_outputs_read(struct dot_file *file, const char *text);
enum exit_status dot_accesses_read(struct dot_file *file, uint32_t node, const char *text);
// Behind the accesses.
enum exit_status dot_pointers_read(struct dot_file *file, uint32_t node, const char *text);

// What frames give to nodes; dot_values.c has the words. Parameters go before their uses.
enum exit_status dot_parameters_read(struct dot_file *file, const char *text);
enum exit_status dot_args_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_grid_from_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_to_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_from_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_user_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_value_bytes_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_uses_read(struct dot_file *file, uint32_t node, const char *text);

// Refuses a prelude of a prelude, and moves main nodes before their preludes and epilogues, as the
// library wants them added.
enum exit_status dot_bundles_check(struct dot_file *file);

// Reports the main node of a prelude or epilogue.
enum exit_status dot_bundle_refuse(const struct dot_file *file, uint32_t node, const char *what);

// Refuses a body of what is no loop or branch, and a bundle in two bodies. Then moves bodies behind
// their nodes, first arms first, as the library wants them added.
enum exit_status dot_bodies_check(struct dot_file *file);

// Each node goes to its new place. False: no memory.
bool dot_nodes_move(struct dot_file *file, const uint32_t *new_index);

// How a loop or branch runs its body; dot_bodies.c has the words.
enum exit_status dot_condition_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_most_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_expected_read(struct dot_file *file, uint32_t node, const char *text);
enum exit_status dot_tests_first_read(struct dot_file *file, uint32_t node, const char *text);

// Adds to a count of the file, and reports one that is over its limit.
enum exit_status dot_count_add(struct dot_file *file, enum dot_limit kind, uint64_t more);

// Counts the bytes of an attribute of all nodes, and its words as `kind`, before they are read.
enum exit_status dot_texts_count(struct dot_file *file, const struct dot_attribute *attribute,
                                 enum dot_limit kind);

// Counts the blocks of memory that a plan would choose.
enum exit_status dot_blocks_count(struct dot_file *file);

// Counts the parts of resources that nodes access, and the edges that follow from accesses.
enum exit_status dot_links_count(struct dot_file *file);

// Reports an attribute of a node: "node 'a' has cost 'x': WHAT".
enum exit_status dot_attribute_refuse(const struct dot_file *file, uint32_t node, const char *name,
                                      const char *text, const char *what);

// The same where it has the number of a resource that is not in the file.
enum exit_status dot_resource_refuse(const struct dot_file *file, uint32_t node, const char *name,
                                     const char *text, uint64_t resource);

// A number at the beginning of *text, which is moved behind it.
bool dot_number_read(const char **text, uint64_t *out_number);

// Takes %xx out of a name, in place.
void dot_name_decode(char *name);

// How many words a list has, between spaces and newlines.
uint32_t dot_words_count(const char *text);

// Makes room for one more item, doubling; true if there is room.
bool dot_make_room(void **items, uint32_t num, uint32_t *room, size_t item_bytes);

#endif
