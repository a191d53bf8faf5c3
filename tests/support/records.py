"""A small GPU and a small model as catalog texts, and how a test reads them."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import InputError
from planner.figures import read_record
from planner.records import Gpu, Record
from planner.yamlfile import parse

GPU = """\
id: example-80
label: Example 80
vendor: Example
architecture: Test
line: example
generation: 2
status: shipping
memory: {marketed: 80 GB, device: {value: 81559 MiB, source: log}}
memory_bandwidth: 3.35 TB/s
peak_dense: {bf16: 989.5 TFLOP/s, fp8: {value: null, note: not published}}
scale_up: {max_domain: 8 GPU}
sources:
  default: {title: Data sheet, url: "https://vendor.example/sheet.pdf", confidence: datasheet}
  log: {title: Device tool, confidence: log, via: default}
"""
MODEL = """\
id: tiny
label: Tiny
family: example
vendor: Example
config_source: {kind: full, source: default}
weight_format: bf16
layers: 4
hidden_size: 8
vocab_size: 10
q_heads: 4
max_context: 4096 tokens
tied_embedding: true
params: {total: 100 params, embedding: 80 params, norm: 20 params}
layer_groups:
  - {kind: full_attention, layers: 1, kv_heads: 2, head_dim: 4}
  - {kind: sliding_window, layers: 3, kv_heads: 2, head_dim: 4, window: 128 tokens}
verification: {level: single_method}
sources:
  default: {title: Configuration file, confidence: config}
"""


def read(text: str, kind: type[Record] = Gpu) -> Any:
    return read_record(parse(text, "x.yaml"), kind)


def problems(text: str, kind: type[Record] = Gpu) -> list[str]:
    """The first lines of all problems, with the hint behind a bar where there is one."""
    with pytest.raises(InputError) as caught:
        read(text, kind)
    return [
        f"{str(p).splitlines()[0]}{' | ' + p.hint if p.hint else ''}" for p in caught.value.problems
    ]
