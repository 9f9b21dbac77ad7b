// SPDX-License-Identifier: Apache-2.0
// A report as one page of HTML that needs nothing but itself.
#ifndef BRAID_TOOL_REPORT_PAGE_H
#define BRAID_TOOL_REPORT_PAGE_H

#include "report_facts.h"

// Writes the page to `path` ("-": standard output).
enum exit_status report_page_write(const char *path, const struct report *report);

#endif
