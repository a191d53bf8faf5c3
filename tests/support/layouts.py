"""Plans of parallel layouts for tests, and their figures by pipeline stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import planner
from planner.planning import Plan

SCENARIO = """\
name: layouts
title: Layouts of one replica
as_of: "2026-11-29"
models: [{models}]
gpus: [h100-sxm]
layouts:
{layouts}
precisions:
  - {{weights: {weights}, kv: bf16, compute: bf16}}
contexts: [{context} tokens]
workloads:
  - {{name: chat, prompt: 1024 tokens, output: 1025 tokens}}
batches: [{batch}]
"""


def planned(
    folder: Path, models: str, *layouts: str, context: int = 4096, batch: int = 33,
    weights: str = "bf16", more: str = "",
) -> Plan:  # fmt: skip
    """The plan of models in layouts such as ``tp: 8, pp: 2``."""
    lines = "\n".join(f"  - {{{layout}}}" for layout in layouts)
    path = folder / "layouts.yaml"
    text = SCENARIO.format(
        models=models, layouts=lines, context=context, batch=batch, weights=weights
    )
    path.write_text(text + more, "utf-8")
    return planner.plan(path)


def stages(plan: Plan, name: str, case: int = 0) -> list[Any]:
    """A figure of every pipeline stage that a case has."""
    count = int(plan.cases[case].inputs["pp"])
    return [plan.value(name, case, stage=stage) for stage in range(count)]
