// SPDX-License-Identifier: Apache-2.0
// A device of Vulkan with semaphores for others.
#include "gpu/vulkan_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

// Every function that the loader finds by itself, by an instance, or by a device.
#define FIRST_CALLS(X) X(vkCreateInstance)
#define INSTANCE_CALLS(X)                                                                          \
    X(vkDestroyInstance)                                                                           \
    X(vkEnumeratePhysicalDevices)                                                                  \
    X(vkGetPhysicalDeviceProperties2)                                                              \
    X(vkGetPhysicalDeviceFeatures2)                                                                \
    X(vkGetPhysicalDeviceExternalSemaphoreProperties)                                              \
    X(vkEnumerateDeviceExtensionProperties)                                                        \
    X(vkCreateDevice)                                                                              \
    X(vkDestroyDevice)                                                                             \
    X(vkGetDeviceQueue)                                                                            \
    X(vkCreateSemaphore)                                                                           \
    X(vkDestroySemaphore)                                                                          \
    X(vkGetSemaphoreFdKHR)                                                                         \
    X(vkSignalSemaphore)                                                                           \
    X(vkWaitSemaphores)                                                                            \
    X(vkGetSemaphoreCounterValue)                                                                  \
    X(vkQueueSubmit)                                                                               \
    X(vkQueueWaitIdle)

#define DECLARE(name) static PFN_##name name;
FIRST_CALLS(DECLARE)
INSTANCE_CALLS(DECLARE)

// A frame that never ends fails the test instead.
static const uint64_t patience_ns = 60000000000;

static bool find_functions(const struct vulkan *vulkan, bool is_first, char reason[256])
{
    PFN_vkGetInstanceProcAddr find;
    void *symbol = dlsym(vulkan->loader, "vkGetInstanceProcAddr");
    if (!symbol)
        return snprintf(reason, 256, "libvulkan.so.1 has no vkGetInstanceProcAddr"), false;
    memcpy(&find, &symbol, sizeof(find));
#define FIND(name)                                                                                 \
    name = (PFN_##name)find(vulkan->instance, #name);                                              \
    if (!name)                                                                                     \
        return snprintf(reason, 256, "Vulkan here has no " #name), false;
    if (is_first) {
        FIRST_CALLS(FIND)
    } else {
        INSTANCE_CALLS(FIND)
    }
    return true;
}

static bool make_instance(struct vulkan *vulkan, char reason[256])
{
    const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                            .apiVersion = VK_API_VERSION_1_2 };
    const VkInstanceCreateInfo options = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &application };
    VkResult result = vkCreateInstance(&options, NULL, &vulkan->instance);
    if (result)
        snprintf(reason, 256, "there is no driver of Vulkan: vkCreateInstance returned %d", result);
    return !result;
}

static bool has_uuid(VkPhysicalDevice gpu, const uint8_t uuid[VK_UUID_SIZE], char name[256])
{
    VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES };
    VkPhysicalDeviceProperties2 properties = { .sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &id };
    vkGetPhysicalDeviceProperties2(gpu, &properties);
    snprintf(name, 256, "%s", properties.properties.deviceName);
    return memcmp(id.deviceUUID, uuid, VK_UUID_SIZE) == 0;
}

static bool find_gpu(struct vulkan *vulkan, const uint8_t uuid[VK_UUID_SIZE], char reason[256])
{
    VkPhysicalDevice gpus[16];
    char name[256] = "none";
    uint32_t num = sizeof(gpus) / sizeof(*gpus);
    VkResult result = vkEnumeratePhysicalDevices(vulkan->instance, &num, gpus);
    if (result < 0)
        return snprintf(reason, 256, "vkEnumeratePhysicalDevices returned %d", result), false;
    for (uint32_t i = 0; i < num && !vulkan->gpu; i++)
        vulkan->gpu = has_uuid(gpus[i], uuid, name) ? gpus[i] : NULL;
    if (!vulkan->gpu)
        snprintf(reason, 256, "none of Vulkan's %u devices is the CUDA device; the last is %.100s",
                 num, name);
    return vulkan->gpu != NULL;
}

static bool has_extension(const struct vulkan *vulkan, const char *name)
{
    uint32_t num = 0;
    bool is_there = false;
    if (vkEnumerateDeviceExtensionProperties(vulkan->gpu, NULL, &num, NULL) || !num)
        return false;
    VkExtensionProperties *extensions = calloc(num, sizeof(*extensions));
    assert_non_null(extensions);
    if (vkEnumerateDeviceExtensionProperties(vulkan->gpu, NULL, &num, extensions) < 0)
        num = 0;
    for (uint32_t i = 0; i < num; i++)
        is_there = is_there || strcmp(extensions[i].extensionName, name) == 0;
    free(extensions);
    return is_there;
}

static bool exports(const struct vulkan *vulkan, VkSemaphoreType kind)
{
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = kind };
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES
    };
    vkGetPhysicalDeviceExternalSemaphoreProperties(vulkan->gpu, &info, &properties);
    return properties.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

static bool check_gpu(const struct vulkan *vulkan, char reason[256])
{
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
    };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = &features };
    vkGetPhysicalDeviceFeatures2(vulkan->gpu, &all);
    const char *lack = NULL;
    if (!features.timelineSemaphore)
        lack = "has no timeline semaphores";
    else if (!has_extension(vulkan, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME))
        lack = "has no " VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    else if (!exports(vulkan, VK_SEMAPHORE_TYPE_TIMELINE))
        lack = "exports no timeline as an opaque descriptor";
    else if (!exports(vulkan, VK_SEMAPHORE_TYPE_BINARY))
        lack = "exports no binary semaphore as an opaque descriptor";
    if (lack)
        snprintf(reason, 256, "Vulkan's device %s", lack);
    return !lack;
}

static bool make_device(struct vulkan *vulkan, char reason[256])
{
    const char *const extension = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    const float priority = 1;
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE
    };
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority };
    const VkDeviceCreateInfo options = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                         .pNext = &features,
                                         .queueCreateInfoCount = 1,
                                         .pQueueCreateInfos = &queue,
                                         .enabledExtensionCount = 1,
                                         .ppEnabledExtensionNames = &extension };
    VkResult result = vkCreateDevice(vulkan->gpu, &options, NULL, &vulkan->device);
    if (result)
        return snprintf(reason, 256, "vkCreateDevice returned %d", result), false;
    vkGetDeviceQueue(vulkan->device, 0, 0, &vulkan->queue);
    return true;
}

static bool find_uuid(uint8_t uuid[VK_UUID_SIZE], char reason[256])
{
    int (*get_device)(int *device, int ordinal);
    int (*get_uuid)(uint8_t * uuid, int device);
    int device = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbols[] = { cuda ? dlsym(cuda, "cuDeviceGet") : NULL,
                        cuda ? dlsym(cuda, "cuDeviceGetUuid") : NULL };
    memcpy(&get_device, &symbols[0], sizeof(get_device));
    memcpy(&get_uuid, &symbols[1], sizeof(get_uuid));
    const bool is_told =
        get_device && get_uuid && !get_device(&device, 0) && !get_uuid(uuid, device);
    if (cuda)
        dlclose(cuda);
    if (!is_told)
        snprintf(reason, 256, "CUDA's driver does not tell the UUID of its device");
    return is_told;
}

bool vulkan_open(struct vulkan *vulkan, char out_reason[256])
{
    uint8_t uuid[VK_UUID_SIZE];
    if (!find_uuid(uuid, out_reason))
        return false;
    *vulkan = (struct vulkan){ .loader = dlopen("libvulkan.so.1", RTLD_NOW) };
    if (!vulkan->loader)
        return snprintf(out_reason, 256, "there is no loader of Vulkan: %s", dlerror()), false;
    bool is_open = find_functions(vulkan, true, out_reason) && make_instance(vulkan, out_reason) &&
                   find_functions(vulkan, false, out_reason) &&
                   find_gpu(vulkan, uuid, out_reason) && check_gpu(vulkan, out_reason) &&
                   make_device(vulkan, out_reason);
    if (!is_open)
        vulkan_close(vulkan);
    return is_open;
}

void vulkan_close(struct vulkan *vulkan)
{
    if (vulkan->device)
        vkDestroyDevice(vulkan->device, NULL);
    if (vulkan->instance && vkDestroyInstance)
        vkDestroyInstance(vulkan->instance, NULL);
    if (vulkan->loader)
        dlclose(vulkan->loader);
    *vulkan = (struct vulkan){ 0 };
}

VkSemaphore vulkan_make_semaphore(const struct vulkan *vulkan, bool is_timeline, int *out_fd)
{
    VkSemaphore semaphore = VK_NULL_HANDLE;
    const VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = is_timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY,
    };
    const VkExportSemaphoreCreateInfo leaves = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    const VkSemaphoreCreateInfo options = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                            .pNext = &leaves };
    assert_int_equal(vkCreateSemaphore(vulkan->device, &options, NULL, &semaphore), VK_SUCCESS);
    const VkSemaphoreGetFdInfoKHR get = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
        .semaphore = semaphore,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    assert_int_equal(vkGetSemaphoreFdKHR(vulkan->device, &get, out_fd), VK_SUCCESS);
    return semaphore;
}

void vulkan_destroy_semaphore(const struct vulkan *vulkan, VkSemaphore semaphore)
{
    vkDestroySemaphore(vulkan->device, semaphore, NULL);
}

// ---- a timeline, by the host ----

void vulkan_signal(const struct vulkan *vulkan, VkSemaphore timeline, uint64_t value)
{
    const VkSemaphoreSignalInfo signal = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                           .semaphore = timeline,
                                           .value = value };
    assert_int_equal(vkSignalSemaphore(vulkan->device, &signal), VK_SUCCESS);
}

void vulkan_wait(const struct vulkan *vulkan, VkSemaphore timeline, uint64_t value)
{
    const VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                       .semaphoreCount = 1,
                                       .pSemaphores = &timeline,
                                       .pValues = &value };
    assert_int_equal(vkWaitSemaphores(vulkan->device, &wait, patience_ns), VK_SUCCESS);
}

uint64_t vulkan_value(const struct vulkan *vulkan, VkSemaphore timeline)
{
    uint64_t value = 0;
    assert_int_equal(vkGetSemaphoreCounterValue(vulkan->device, timeline, &value), VK_SUCCESS);
    return value;
}

// ---- a binary semaphore, by the queue ----

void vulkan_queue_signal(const struct vulkan *vulkan, VkSemaphore binary)
{
    const VkSubmitInfo work = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &binary };
    assert_int_equal(vkQueueSubmit(vulkan->queue, 1, &work, VK_NULL_HANDLE), VK_SUCCESS);
}

void vulkan_queue_wait(const struct vulkan *vulkan, VkSemaphore binary)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo work = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &binary,
                                .pWaitDstStageMask = &stage };
    assert_int_equal(vkQueueSubmit(vulkan->queue, 1, &work, VK_NULL_HANDLE), VK_SUCCESS);
    assert_int_equal(vkQueueWaitIdle(vulkan->queue), VK_SUCCESS);
}
