// SPDX-License-Identifier: Apache-2.0
// A device of Vulkan with semaphores for others. The loader is found when the program runs.
#ifndef BRAID_TESTS_VULKAN_DEVICE_H
#define BRAID_TESTS_VULKAN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

struct vulkan {
    void *loader;
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
};

// Opens CUDA's first device, which this process has opened before. Otherwise `out_reason` says why
// Vulkan does not have it.
bool vulkan_open(struct vulkan *vulkan, char out_reason[256]);
void vulkan_close(struct vulkan *vulkan);

// A semaphore that can leave as an opaque descriptor, and that descriptor. A timeline begins at 0.
VkSemaphore vulkan_make_semaphore(const struct vulkan *vulkan, bool is_timeline, int *out_fd);
void vulkan_destroy_semaphore(const struct vulkan *vulkan, VkSemaphore semaphore);

// A timeline, by the host.
void vulkan_signal(const struct vulkan *vulkan, VkSemaphore timeline, uint64_t value);
void vulkan_wait(const struct vulkan *vulkan, VkSemaphore timeline, uint64_t value);
uint64_t vulkan_value(const struct vulkan *vulkan, VkSemaphore timeline);

// A binary semaphore, by the queue of the device. The host waits for the end of the queue's work.
void vulkan_queue_signal(const struct vulkan *vulkan, VkSemaphore binary);
void vulkan_queue_wait(const struct vulkan *vulkan, VkSemaphore binary);

#endif
