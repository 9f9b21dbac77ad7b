// SPDX-License-Identifier: Apache-2.0
// What capture.c offers to the entry points that begin and end captures, and to nobody else.
#ifndef BRAID_STANDIN_CAPTURE_LIST_H
#define BRAID_STANDIN_CAPTURE_LIST_H

#include "capture.h"

void capture_list_add(struct capture *capture);
void capture_list_remove(struct capture *capture);                   // streams let go of it
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode); // for this thread

#endif
