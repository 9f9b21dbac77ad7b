// SPDX-License-Identifier: Apache-2.0
// A tool that listens to ranges, by NVTX and by roctx: it writes down what it hears as
// "name(inner()...)". LISTENER in the environment is what it is: "refuses" and does not listen,
// "endless" and takes beginnings alone, "homeless" and knows no domains; or nothing of these.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <braid/status.h>

// The places of NVTX's module CORE2, and the start of nvtxEventAttributes_t.
enum { CALLBACKS = 1, VERSION = 3, CORE = 1, CORE2 = 5, NO_MODULE = 99 };
enum { BEGIN = 4, END = 5, CREATE_DOMAIN = 12, IS_CHARS = 1 };

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

struct version {
    size_t bytes;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

static char heard[4096], domain[32];
static void *made; // the domain, once it is asked for

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
    return made = domain;
}

static int begin_in_domain(void *in, const struct event *event)
{
    if (in != made || event->version != 3 || event->bytes != sizeof(*event) ||
        event->message_type != IS_CHARS)
        hear("?");
    return begin(event->message);
}

static int end_in_domain(void *in)
{
    if (in != made)
        hear("?");
    return end();
}

BRAID_API int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));
BRAID_API int roctxRangePushA(const char *name);
BRAID_API int roctxRangePop(void);
BRAID_API const char *listener_take(void);
BRAID_API const char *listener_domain(void);

// What the protocol promises a tool, whatever it asks for.
static int keeps_the_protocol(const void *(*get_table)(uint32_t table))
{
    const struct callbacks *callbacks = get_table(CALLBACKS);
    const struct version *version = get_table(VERSION);
    any_function ***of_core = NULL, ***of_core2 = NULL, ***none = NULL;
    uint32_t num = 0;
    if (get_table(NO_MODULE) || !version || version->version < 3 || !callbacks)
        return 0;
    version->set_tool_version(3);
    return !callbacks->get_places(NO_MODULE, &none, &num) && !none && num == 0 &&
           callbacks->get_places(CORE, NULL, NULL) && callbacks->get_places(CORE, &of_core, NULL) &&
           callbacks->get_places(CORE2, &of_core2, NULL) && of_core && of_core != of_core2;
}

static int is(const char *kind)
{
    const char *said = getenv("LISTENER");
    return said && strcmp(said, kind) == 0;
}

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
    const struct callbacks *callbacks = get_table(CALLBACKS);
    any_function ***places = NULL;
    uint32_t num = 0;
    if (!keeps_the_protocol(get_table) || !callbacks->get_places(CORE2, &places, &num) ||
        num <= CREATE_DOMAIN)
        return 0;
    *places[BEGIN] = (any_function *)begin_in_domain;
    if (!is("endless"))
        *places[END] = (any_function *)end_in_domain;
    if (!is("homeless"))
        *places[CREATE_DOMAIN] = (any_function *)create_domain;
    return !is("refuses");
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
