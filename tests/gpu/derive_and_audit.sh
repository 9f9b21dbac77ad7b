#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program with accesses from its kernels' code, audited. Fails if a kernel makes an access that its code does
# not tell, if an audit fails, or if fewer nodes were derived than there should be.
#
#   derive_and_audit.sh LIBRARY PROGRAM NODES [ARGUMENT...]
set -u
library=$1 program=$2 least=$3
shift 3
log=$(mktemp)
trap 'rm -f "$log"' EXIT
LD_PRELOAD=$library timeout 120 "$program" "$@" >"$log" 2>&1
cat "$log"
awk -v least="$least" '
    /^derived and audited: / { num++; derived += $4; undeclared += $8; failed += / failed: / }
    END {
        printf "%d execs, %d nodes derived, %d accesses that no code tells, %d audits failed\n", num, derived, undeclared, failed
        exit !(num && derived >= least && !undeclared && !failed)
    }' "$log"
