#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program as so many ranks on this machine, whichever MPI it has and whoever runs it.
num=$1
shift
# Open MPI counts cores, binds ranks to them, and wants to be told that root knows what it does.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Inside containers without ptrace ranks cannot read each other's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
exec mpirun -n "$num" "$@"
