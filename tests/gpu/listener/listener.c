// SPDX-License-Identifier: Apache-2.0
// A tool that listens to ranges, by NVTX and by roctx: it writes down what it hears as
// "name(inner()...)".
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <braid/status.h>

// The places of NVTX's module CORE2, and the start of nvtxEventAttributes_t.
enum { CALLBACKS = 1, CORE2 = 5, BEGIN = 4, END = 5, CREATE_DOMAIN = 12, IS_CHARS = 1 };

typedef void any_function(void);

struct event {
    uint16_t version, bytes;
    uint32_t category, color_type, color, payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};

struct callbacks {
    size_t bytes;
    int (*get_places)(uint32_t module, any_function ****out_places, uint32_t *out_num);
};

static char heard[4096], domain[32];

static void hear(const char *text)
{
    strncat(heard, text, sizeof(heard) - strlen(heard) - 1);
}

static int begin(const char *name)
{
    hear(name);
    hear("(");
    return 0;
}

static int end(void)
{
    hear(")");
    return 0;
}

static void *create_domain(const char *name)
{
    strncat(domain, name, sizeof(domain) - 1);
    return domain;
}

static int begin_in_domain(void *in, const struct event *event)
{
    if (in != domain || event->version != 3 || event->bytes != sizeof(*event) ||
        event->message_type != IS_CHARS)
        hear("?");
    return begin(event->message);
}

static int end_in_domain(void *in)
{
    if (in != domain)
        hear("?");
    return end();
}

BRAID_API int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));
BRAID_API int roctxRangePushA(const char *name);
BRAID_API int roctxRangePop(void);
BRAID_API const char *listener_take(void);
BRAID_API const char *listener_domain(void);

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
    const struct callbacks *callbacks = get_table(CALLBACKS);
    any_function ***places = NULL;
    uint32_t num = 0;
    if (!callbacks->get_places(CORE2, &places, &num) || num <= CREATE_DOMAIN)
        return 0;
    *places[BEGIN] = (any_function *)begin_in_domain;
    *places[END] = (any_function *)end_in_domain;
    *places[CREATE_DOMAIN] = (any_function *)create_domain;
    return 1;
}

int roctxRangePushA(const char *name)
{
    return begin(name);
}

int roctxRangePop(void)
{
    return end();
}

// What was heard since the last call.
const char *listener_take(void)
{
    static char taken[sizeof(heard)];
    memcpy(taken, heard, sizeof(heard));
    heard[0] = '\0';
    return taken;
}

const char *listener_domain(void)
{
    return domain;
}
