// SPDX-License-Identifier: Apache-2.0
// Ranges of NVTX as frames: each range of one name, on the thread that pushes it.
//
// A program's NVTX loads the library that NVTX_INJECTION64_PATH names, and calls its
// InitializeInjectionNvtx2. That puts functions into the slots of a table. Braid has declarations
// of its own for the few that it needs.
#include <string.h>

#include "record/recorder.h"

enum { CALLBACKS = 1, CORE = 1, PUSH_EX = 8, PUSH_ASCII = 9, POP = 11, ASCII = 1 };

typedef void any_function(void);

// NvtxExportTableCallbacks: a table has the addresses of slots.
struct callbacks {
    size_t bytes;
    int (*get_table)(int module, any_function ****out_table, unsigned *out_num);
};

// nvtxEventAttributes_t, as far as the text.
struct attributes {
    uint16_t version, bytes;
    uint32_t category, color_type, color, payload_type, reserved;
    uint64_t payload;
    uint32_t text_type;
    const char *text;
};

typedef const void *get_export(uint32_t id);

static _Thread_local int depth;    // ranges that are open
static _Thread_local int frame_at; // the depth of the frame's range; 0: there is none

static int push(const char *text)
{
    if (recorder.range && frame_at == 0 && text && strcmp(text, recorder.range) == 0) {
        frame_at = depth + 1;
        recorder_mark_frame();
    }
    return depth++;
}

static int push_with(const struct attributes *attributes)
{
    const bool has_text = attributes && attributes->text_type == ASCII;
    return push(has_text ? attributes->text : NULL);
}

static int pop(void)
{
    if (depth == 0)
        return -1;
    if (frame_at == depth) {
        frame_at = 0;
        recorder_end_frame();
    }
    return --depth;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_export *ask);

int InitializeInjectionNvtx2(get_export *ask)
{
    const struct callbacks *callbacks = ask ? ask(CALLBACKS) : NULL;
    any_function ***slots = NULL;
    unsigned num = 0;
    if (!callbacks || !callbacks->get_table || callbacks->get_table(CORE, &slots, &num) == 0 ||
        !slots || num <= POP)
        return 0;
    *slots[PUSH_EX] = (any_function *)push_with;
    *slots[PUSH_ASCII] = (any_function *)push;
    *slots[POP] = (any_function *)pop;
    return 1;
}
