#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands for a test that cannot be built here: prints the reason and skips.
echo "1..0 # SKIP $*"
exit 77
