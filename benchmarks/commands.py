"""CPU seconds of commands in fresh processes: what it costs to start.

By hand: ``python benchmarks/commands.py``. Medians of several runs, user plus system time of the
child; wall time on a quiet core is about the same. Aims: ``--help`` 0.3 s, one case below 1 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE_CASE = """\
name: one
title: One case
as_of: "2026-11-29"
models: [qwen3-8b]
gpus: [h100-sxm]
contexts: [8192 tokens]
workloads: [{name: chat, prompt: 4096 tokens, output: 1024 tokens}]
batches: [16]
"""


def cpu_of(command: list[str], folder: str, runs: int) -> tuple[float, float]:
    """Median CPU seconds and peak MB of a command."""
    seconds, peak = [], 0.0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(runs):
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss / 1024)
    return statistics.median(seconds), peak


def main() -> None:
    """Print a row a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    capsheet = [sys.executable, "-m", "planner.cli"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.yaml").write_text(ONE_CASE, "utf-8")
        rows = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "capsheet --help": [*capsheet, "--help"],
            "capsheet plan, one case": [*capsheet, "plan", "one.yaml"],
            "capsheet plan --json, one case": [*capsheet, "plan", "one.yaml", "--json"],
            "capsheet catalog list": [*capsheet, "catalog", "list"],
            "capsheet check": [*capsheet, "check"],
            "capsheet build, shipped example": [*capsheet, "build"],
        }
        print(f"{'command':<34} {'CPU s':>7} {'MB':>6}")
        for name, command in rows.items():
            seconds, peak = cpu_of(command, folder, runs)
            print(f"{name:<34} {seconds:7.2f} {peak:6.0f}")


if __name__ == "__main__":
    main()
