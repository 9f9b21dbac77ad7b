// SPDX-License-Identifier: Apache-2.0
// Threads share a queue: one may ring for its packet after another has rung for a later one. Both
// packets run.
#include "hsa_standin.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void write_packet(hsa_queue_t *queue, uint64_t index, hsa_signal_t completion)
{
    hsa_barrier_and_packet_t *packet =
        (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
    packet->dep_signal[0] = (hsa_signal_t){ 0 };
    for (int i = 1; i < 5; i++)
        packet->dep_signal[i] = (hsa_signal_t){ 0 };
    packet->completion_signal = completion;
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE,
                     __ATOMIC_RELEASE);
}

static void a_late_bell_for_an_earlier_packet_holds_no_later_one_up(void **state)
{
    (void)state;
    const uint64_t second = 1000000000;
    hsa_queue_t *queue;
    hsa_signal_t done[2];
    assert_int_equal(hsa_queue_create((hsa_agent_t){ STANDIN_AGENT_GPU }, 16, HSA_QUEUE_TYPE_MULTI,
                                      NULL, NULL, 0, 0, &queue),
                     HSA_STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hsa_signal_create(1, 0, NULL, &done[i]), HSA_STATUS_SUCCESS);
    uint64_t first = hsa_queue_add_write_index_screlease(queue, 1);
    uint64_t later = hsa_queue_add_write_index_screlease(queue, 1);
    write_packet(queue, later, done[1]);
    hsa_signal_store_screlease(queue->doorbell_signal, (int64_t)later);
    write_packet(queue, first, done[0]);
    hsa_signal_store_screlease(queue->doorbell_signal, (int64_t)first);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hsa_signal_wait_scacquire(done[i], HSA_SIGNAL_CONDITION_LT, 1, 5 * second,
                                                   HSA_WAIT_STATE_BLOCKED),
                         0);
    assert_int_equal(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hsa_signal_destroy(done[i]), HSA_STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_bell_for_an_earlier_packet_holds_no_later_one_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
