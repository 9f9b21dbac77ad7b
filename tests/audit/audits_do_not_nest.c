// SPDX-License-Identifier: Apache-2.0
// A call that an audit makes cannot audit: it is refused, and does not wait for itself.
#include "audit/audit_testing.h"

struct inner {
    braid_device *device;
    braid_graph *graph;
    braid_status status;
};

static void audit_again(void *user)
{
    struct inner *inner = user;
    size_t num;
    inner->status = braid_graph_audit(inner->graph, inner->device, NULL, &num);
}

static braid_status queue_again(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    audit_again(user);
    return BRAID_OK;
}

static void an_audit_inside_a_call_is_refused(void **state)
{
    struct inner host = { 0 }, queue = { 0 };
    struct findings findings;
    (void)state;
    skip_without_audits();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &host.device));
    check_ok(braid_graph_create(&host.graph));
    queue = host;
    check_ok(braid_graph_add_host_call(
        host.graph, &(braid_host_call){ .call = audit_again, .user = &host }, NULL));
    check_ok(braid_graph_add_queue_call(
        host.graph, &(braid_queue_call){ .call = queue_again, .user = &queue }, NULL));
    audit(host.device, host.graph, &findings);
    assert_int_equal(host.status, BRAID_WRONG_STATE);
    assert_int_equal(queue.status, BRAID_WRONG_STATE);
    braid_graph_destroy(host.graph);
    check_ok(braid_device_close(host.device));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(an_audit_inside_a_call_is_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
