"""A project to start from: a scenario, a metric, a model of one's own, and a page of notes."""

from __future__ import annotations

import re

from planner.resources import data_dir

MODEL = "qwen3-8b"
"""The shipped model that the project's own one is a copy of."""

_SCENARIO = """\
# What to plan: every combination of the lists below that makes sense is one case.
name: my-plan
title: Two models on two GPUs
as_of: "2026-11-29"
owner: your team
models: [my-model, llama-3.1-8b]
gpus: [h100-sxm, h200-sxm]
tp: [1, 2]
precisions:
  - {weights: bf16, kv: bf16, compute: bf16}
  - {weights: fp8, kv: fp8, compute: fp8}
contexts: [16384 tokens]
workloads:
  - {name: chat, cached: 2048 tokens, prompt: 1024 tokens, output: 512 tokens}
  - {name: documents, prompt: 8192 tokens, output: 1025 tokens}
batches: [16]
# What holds for the whole plan; what is not given here is a default of the engine entry.
assumptions:
  memory_utilization: 0.90
  overhead: 3 GiB
"""

_METRICS = """\
# A metric of your own is one entry: it joins every table, the workbook, the page and the data.
metrics:
  pool_used:
    label: KV pool used by the planned batch
    unit: "1"
    display: "%"
    better: down
    why: Above 100 % the planned batch does not fit.
    source: {title: Own rule}
    formula: batch * kv_reserved_gpu / kv_pool
    examples:
      - given: {batch: 16 request, kv_reserved_gpu: 2 GiB/request/gpu, kv_pool: 64 GiB/gpu}
        gives: 0.5
        because: 16 x 2 of 64
"""

_README = """\
# A capsheet project

    scenario.yaml              what to plan
    metrics.yaml               a metric of your own
    catalog/models/            models of your own; gpus/, engines/ and formats/ may stand beside it

Plan it into out/ (workbook, page, saved plan):

    capsheet build scenario.yaml --metrics metrics.yaml --catalog catalog

See the tables, and why a figure is what it is:

    capsheet plan scenario.yaml --metrics metrics.yaml --catalog catalog
    capsheet explain scenario.yaml pool_used --metrics metrics.yaml --catalog catalog

Check every file after an edit:

    capsheet check .

`catalog/models/my-model.yaml` is a copy of the shipped entry `MODEL`; put the figures of your model
there. `capsheet schema model` prints a JSON Schema for your editor.
"""


def files() -> dict[str, str]:
    """Path inside the project to the text of each file."""
    return {
        "scenario.yaml": _SCENARIO,
        "metrics.yaml": _METRICS,
        "catalog/models/my-model.yaml": _model(),
        "README.md": _README.replace("MODEL", MODEL),
    }


def _model() -> str:
    """The shipped entry under another name; what names the published model is left out."""
    text = (data_dir("catalogs") / "models" / f"{MODEL}.yaml").read_text("utf-8")
    text = re.sub(r"^(hf_id|aliases):.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^id:.*$", "id: my-model", text, count=1, flags=re.MULTILINE)
    return re.sub(r"^label:.*$", "label: My model", text, count=1, flags=re.MULTILINE)
