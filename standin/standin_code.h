// SPDX-License-Identifier: Apache-2.0
// What the stand-in nvJitLink makes, and the stand-in driver takes for machine code: this, and PTX.
#ifndef BRAID_STANDIN_CODE_H
#define BRAID_STANDIN_CODE_H

#define STANDIN_CODE_MARK                                                                          \
    "\177ELF"                                                                                      \
    " for the stand-in\n"

#endif
