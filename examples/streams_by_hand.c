// SPDX-License-Identifier: Apache-2.0
// Streams and events without a graph: two streams prepare the halves of a buffer, a third waits
// for both and brings it to the host.
#include "check.h"

enum { HALF = 1 << 20 };

static void check_sum(void *user)
{
    const uint32_t *numbers = user;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 2 * HALF; i++)
        sum += numbers[i];
    if (sum != 3u * HALF) {
        fprintf(stderr, "wrong sum\n");
        exit(EXIT_FAILURE);
    }
    printf("the sum is right\n");
}

// Fills a half and marks the moment when it is done.
static void fill_half(braid_device *device, braid_stream *stream, uint32_t *half, uint32_t value,
                      braid_event **out_done)
{
    CHECK(braid_event_create(device, &(braid_event_options){ .timing = true }, out_done));
    CHECK(braid_stream_fill(stream, half, value, sizeof(*half), HALF));
    CHECK(braid_event_record(*out_done, stream));
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_stream *left, *right, *both;
    braid_event *start, *left_done, *right_done, *end;
    void *numbers, *copy;
    check_arguments(argc, argv, 0, "");
    CHECK(braid_device_open(NULL, &device));
    CHECK(braid_stream_create(device, NULL, &left));
    CHECK(braid_stream_create(device, NULL, &right));
    CHECK(braid_stream_create(device, NULL, &both));
    CHECK(braid_event_create(device, &(braid_event_options){ .timing = true }, &start));
    CHECK(braid_event_create(device, &(braid_event_options){ .timing = true }, &end));
    CHECK(
        braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 2 * HALF * sizeof(uint32_t), &numbers));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_HOST, 2 * HALF * sizeof(uint32_t), &copy));

    CHECK(braid_event_record(start, left));
    fill_half(device, left, numbers, 1, &left_done);
    fill_half(device, right, (uint32_t *)numbers + HALF, 2, &right_done);
    CHECK(braid_stream_follow(both, left_done)); // nothing of this blocks the host
    CHECK(braid_stream_follow(both, right_done));
    CHECK(braid_stream_copy(both, copy, numbers, 2 * HALF * sizeof(uint32_t)));
    CHECK(braid_event_record(end, both));
    CHECK(braid_stream_host_call(both, check_sum, copy));
    CHECK(braid_stream_wait(both));

    uint64_t elapsed_ns;
    CHECK(braid_event_get_elapsed(start, end, &elapsed_ns));
    printf("it took %.1f us\n", (double)elapsed_ns / 1e3);

    braid_event_destroy(start);
    braid_event_destroy(left_done);
    braid_event_destroy(right_done);
    braid_event_destroy(end);
    braid_stream_destroy(left);
    braid_stream_destroy(right);
    braid_stream_destroy(both);
    braid_memory_free(device, numbers);
    braid_memory_free(device, copy);
    braid_device_close(device);
    return EXIT_SUCCESS;
}
