"""Two plans of 1,000 cases compared: CPU seconds of ``capsheet diff`` in fresh processes.

By hand: ``python benchmarks/diff.py``. Aim: below 5 s of CPU, start and imports included, for each
output. The plans differ in card, precision, utilization, overhead and reserve, and are read from
their files, so that both are restated under the catalog of today.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from commands import ROOT, cpu_of

MODELS = ["qwen3-8b", "llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-27b", "qwen3-next-80b"]


def scenario(name: str, gpu: str, width: str, assumptions: dict[str, Any]) -> str:
    """A scenario of 1,000 cases (JSON is YAML)."""
    return json.dumps({
        "name": name, "title": "A thousand cases", "as_of": "2026-11-29", "models": MODELS,
        "gpus": [gpu], "tp": [1, 2],
        "precisions": [{"weights": width, "kv": width, "compute": width}],
        "contexts": [f"{n} tokens" for n in (8192, 12288, 16384, 20480, 32768)],
        "workloads": [
            {"name": f"prompt-{n}", "prompt": f"{n} tokens", "output": "512 tokens"}
            for n in (1024, 2048, 3072, 4096, 6144)
        ],
        "batches": [8, 16, 32, 64], "assumptions": assumptions,
    })  # fmt: skip


def main() -> None:
    """Print a row an output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    capsheet = [sys.executable, "-m", "planner.cli"]
    changed = {"memory_utilization": 0.92, "overhead": "4 GiB", "reserve": 0.05}
    with tempfile.TemporaryDirectory() as folder:
        for text in (scenario("old", "h100-sxm", "bf16", {}),
                     scenario("new", "b200", "fp8", changed)):  # fmt: skip
            name = json.loads(text)["name"]
            Path(folder, f"{name}.yaml").write_text(text, "utf-8")
            plan = subprocess.run(
                [*capsheet, "plan", f"{name}.yaml", "--json"], cwd=folder, check=True,
                capture_output=True, env={"PYTHONPATH": str(ROOT)},
            ).stdout  # fmt: skip
            Path(folder, f"{name}.plan.json").write_bytes(plan)
        print(f"{'output':<12} {'CPU s':>7} {'MB':>6}")
        for form in ("", "--md", "--json", "--json --all", "-o diff.xlsx"):
            command = [*capsheet, "diff", "old.plan.json", "new.plan.json", *form.split()]
            seconds, peak = cpu_of(command, folder, runs)
            print(f"{form or 'text':<12} {seconds:7.2f} {peak:6.0f}")


if __name__ == "__main__":
    main()
