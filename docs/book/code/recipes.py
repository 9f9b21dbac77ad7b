# SPDX-License-Identifier: Apache-2.0
"""The lines before the recipes in Python: a device, and a folder for files."""
import contextlib
import functools
import os
import tempfile

import braid
import numpy as np

device = braid.Device("cpu")
folder = tempfile.mkdtemp()
