// SPDX-License-Identifier: Apache-2.0
// Graphs whose frames are captured: with every kind of node and buffer, or with a race.
#ifndef BRAID_TESTS_CAPTURE_FRAMES_H
#define BRAID_TESTS_CAPTURE_FRAMES_H

#include <braid/braid.h>

enum { FRAME_NUM = 64 }; // floats of each buffer

// Writes a capture of the third frame, and tells its size as stated before. `is_race`: a node
// writes what it declares to read.
uint64_t capture_frame(const char *backend, bool is_race, const char *path);

// capture_bodies.c: of the first frame of a graph with nested loops and branches.
uint64_t capture_bodies(const char *backend, braid_exec_mode mode, bool is_race, const char *path);

#endif
