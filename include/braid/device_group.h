// SPDX-License-Identifier: Apache-2.0
// Device groups: several devices that one exec runs on.
#ifndef BRAID_DEVICE_GROUP_H
#define BRAID_DEVICE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/device.h>
#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/schedule.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Devices in an order: the device at index i is place i (BRAID_PLACE(i)) of graphs that run there.
// Thread-safety: any thread, but for braid_device_group_destroy.
typedef struct braid_device_group braid_device_group;

// Makes a group of 1 to 64 devices of one backend. The same device may be in it several times: its
// places then share its memory, its streams run beside each other, and nothing but the planner
// tells them apart; of the CPU, all are the same device. Devices that can are given access to each
// other's memory (CUDA: cuCtxEnablePeerAccess; HIP alike), which stays when the group is destroyed.
// The group borrows its devices: braid_device_close refuses to close one while a group has it.
// Errors: BRAID_INVALID_ARGUMENT (no device, more than 64, a device that is NULL, of another
// backend, or another device of the CPU), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_group_create(braid_device *const *devices,
                                                                  size_t num_devices,
                                                                  braid_device_group **out_group);

// Execs that were made on it live on; what they run on must stay open. NULL does nothing.
BRAID_API void braid_device_group_destroy(braid_device_group *group);

// How many devices there are; of NULL, 0. The device at an index; NULL where there is none.
BRAID_API size_t braid_device_group_num_devices(const braid_device_group *group);
BRAID_API braid_device *braid_device_group_device(const braid_device_group *group, size_t index);

// Whether the device at index `from` reaches the memory of the one at index `to` by itself. Where
// it does not, copies go through host memory, which the driver sees to, and are played on streams.
BRAID_API bool braid_device_group_reaches(const braid_device_group *group, size_t from, size_t to);

// What the planner is told of the group (braid_schedule_options.places), for plans that are made
// apart from an exec: links as they were measured on one machine (docs/places.md), speeds by the
// number of the devices' units. The arrays live as long as the group; of NULL there are none.
BRAID_API void braid_device_group_get_place_model(const braid_device_group *group,
                                                  braid_place_model *out_model);

// As braid_exec_create, on all devices of a group: braid_exec_options.plan.places counts, and where
// it is NULL, the group's own. A schedule that is given was planned for at most as many places; one
// planned for one place runs on the first device. The exec keeps no hold of the group. It is
// launched on streams of the first device, which braid_exec_info also counts as its own.
// Islands are left out where the plan has several places, and times of frames are refused
// (BRAID_UNSUPPORTED). Where a device breaks, waits and launches fail and name it; execs on others
// go on.
// Errors: as braid_exec_create.
BRAID_API BRAID_MUST_CHECK braid_status
braid_exec_create_on_group(braid_device_group *group, const braid_graph *graph,
                           const braid_exec_options *options, braid_exec **out_exec);

#ifdef __cplusplus
}
#endif

#endif
