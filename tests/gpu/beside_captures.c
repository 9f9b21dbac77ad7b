// SPDX-License-Identifier: Apache-2.0
// The driver's captures, by either vendor's names.
#include "gpu/beside_captures.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct driver driver;

static int (*set_context)(void *context);
static int (*retain_context)(void **context, int device);
static int (*set_device)(int device);

static int make_context_current(void)
{
    static void *context;
    return context ? set_context(context) : retain_context(&context, 0) || set_context(context);
}

static int make_device_current(void)
{
    return set_device(0);
}

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        printf("the driver has no %s\n", name);
        exit(1);
    }
    memcpy(function, &symbol, sizeof(symbol));
}

void find_driver(bool hip)
{
    static const char *const names[] = { "libcuda.so.1", "libamdhip64.so.7", "libamdhip64.so.6",
                                         "libamdhip64.so.5" };
    void *library = NULL;
    for (int i = hip ? 1 : 0; i < (hip ? 4 : 1) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (!library) {
        printf("Braid has not loaded the driver\n");
        exit(1);
    }
    find(library, hip ? "hipStreamCreateWithFlags" : "cuStreamCreate", &driver.stream_create);
    find(library, hip ? "hipStreamDestroy" : "cuStreamDestroy_v2", &driver.stream_destroy);
    find(library, hip ? "hipStreamBeginCapture" : "cuStreamBeginCapture_v2", &driver.begin);
    find(library, hip ? "hipStreamEndCapture" : "cuStreamEndCapture", &driver.end);
    find(library, hip ? "hipGraphDestroy" : "cuGraphDestroy", &driver.graph_destroy);
    find(library, hip ? "hipThreadExchangeStreamCaptureMode" : "cuThreadExchangeStreamCaptureMode",
         &driver.exchange);
    if (hip) {
        find(library, "hipMemsetD32Async", &driver.fill_hip);
        find(library, "hipSetDevice", &set_device);
    } else {
        find(library, "cuMemsetD32Async", &driver.fill);
        find(library, "cuDevicePrimaryCtxRetain", &retain_context);
        find(library, "cuCtxSetCurrent", &set_context);
    }
    driver.make_current = hip ? make_device_current : make_context_current;
}

int get_mode(void)
{
    int mode = RELAXED, before = -1;
    if (driver.exchange(&mode))
        return -1;
    before = mode;
    return driver.exchange(&mode) ? -1 : before;
}

static void begin_here(struct capture *capture)
{
    capture->begun = driver.make_current();
    if (!capture->begun)
        capture->begun = driver.begin(capture->stream, capture->mode);
}

static void end_here(struct capture *capture)
{
    void *graph = NULL;
    int filled = driver.fill ? driver.fill(capture->words, 1, 1, capture->stream)
                             : driver.fill_hip(capture->words, 1, 1, capture->stream);
    capture->ended = driver.end(capture->stream, &graph);
    if (!capture->ended)
        capture->ended = filled;
    capture->has_graph = graph;
    if (graph)
        driver.graph_destroy(graph);
}

static void *capture_apart(void *user)
{
    struct capture *capture = user;
    begin_here(capture);
    sem_post(&capture->is_begun);
    sem_wait(&capture->go_on);
    end_here(capture);
    return NULL;
}

void begin_capture(struct capture *capture, bool apart)
{
    if (!apart) {
        begin_here(capture);
        return;
    }
    sem_init(&capture->go_on, 0, 0);
    sem_init(&capture->is_begun, 0, 0);
    if (pthread_create(&capture->thread, NULL, capture_apart, capture))
        abort();
    sem_wait(&capture->is_begun);
}

void end_capture(struct capture *capture, bool apart)
{
    if (!apart) {
        end_here(capture);
        return;
    }
    sem_post(&capture->go_on);
    pthread_join(capture->thread, NULL);
}
