# SPDX-License-Identifier: Apache-2.0
"""What cffi makes from the C headers (python/build_binding.py). Its types are those of C, which the
modules round it check at run time."""
from typing import Any

ffi: Any
lib: Any
