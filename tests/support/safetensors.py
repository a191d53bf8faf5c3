"""Headers of safetensors files, written by tests: no data follow, as none are ever read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

from planner.importers.hf_tensors import DTYPE_BITS

Shapes = Mapping[str, tuple[int, ...]]


def header(shapes: Shapes, dtypes: Mapping[str, str] | str = "BF16") -> bytes:
    """The header of a file with these tensors, one behind the other; the data do not follow."""
    entries, end = {}, 0
    for name, shape in shapes.items():
        dtype = dtypes if isinstance(dtypes, str) else dtypes[name]
        size = -(-prod(shape) * DTYPE_BITS[dtype] // 8)
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    return packed({"__metadata__": {"format": "pt"}, **entries})


def packed(data: Any) -> bytes:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return len(raw).to_bytes(8, "little") + raw
