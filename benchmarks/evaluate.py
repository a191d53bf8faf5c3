"""Evaluation of all metrics over many cases, beside the same columns in plain numpy.

By hand: ``python benchmarks/evaluate.py [--cases 100000]``. CPU seconds of this process, medians of
several rounds in one run; look at the ratios. Two plain forms are measured on whole columns:

* ``numpy, checked per column``: each formula as one numpy expression, failures masked once a column
  (cheaper than the product's rule: an infinity inside a formula may hide behind a minimum);
* ``numpy, checked per operation``: the product's failure rule, every operation masked.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import planner
from planner.engine import evaluate
from planner.metrics import MetricSet

SCENARIO = Path(__file__).resolve().parents[1] / "catalogs" / "scenarios" / "example.yaml"


def columns_of(cases: int) -> tuple[MetricSet, dict[str, Any], dict[str, Any]]:
    """The example's inputs repeated to ``cases`` rows, with batches that differ in every row."""
    plan = planner.plan(SCENARIO)
    given = {}
    for name in plan.metrics.fields:
        values = plan.columns[name]
        times = -(-cases // max(1, values.shape[-1])) if values.ndim else 1
        given[name] = np.tile(values, (1,) * (values.ndim - 1) + (times,))[..., :cases]
        if not values.ndim:
            given[name] = values
    rng = np.random.default_rng(1)
    given["batch"] = rng.integers(1, 512, cases).astype(float)
    given["context"] = rng.integers(1024, 131072, cases).astype(float)
    given["prompt_tokens"] = np.floor(given["context"] / 2)
    return plan.metrics, given, dict(plan.columns.variant_values)


def plain(metrics: MetricSet, given: dict[str, Any], form: str) -> Callable[[], dict[str, Any]]:
    """All case and layer-group columns in whole-column numpy, in evaluation order."""

    def run() -> dict[str, Any]:
        env = dict(given) | {n: np.float64(c.value) for n, c in metrics.constants.items()}
        skipped: set[str] = set()
        with np.errstate(all="ignore"):
            for metric in metrics.metrics.values():
                if metric.variant or any(n in skipped for n in metric.needs):
                    skipped.add(metric.name)  # reductions over variants are left out on both sides
                    continue
                arguments = [env[n] for n in metric.needs]
                if form == "safe":
                    floats = [
                        a if a.dtype == object else a.astype(float)
                        for a in map(np.asarray, arguments)
                    ]
                    env[metric.name] = metric.arrays.safe(*floats)
                    continue
                try:
                    result = metric.arrays.fast(*arguments)
                except FloatingPointError:
                    result = metric.arrays.safe(*arguments)
                if getattr(result, "dtype", None) == np.float64:
                    result = np.where(np.isfinite(result), result, np.nan)
                env[metric.name] = result
        return env

    return run


def ours(
    metrics: MetricSet, given: dict[str, Any], variants: dict[str, Any]
) -> Callable[[], dict[str, Any]]:
    """The engine without reductions over variants."""
    skipped = {m.name for m in metrics.metrics.values() if m.variant}
    for metric in metrics.metrics.values():
        if skipped.intersection(metric.needs):
            skipped.add(metric.name)
    kept = {n: m for n, m in metrics.metrics.items() if n not in skipped}
    small = metrics.with_metrics(kept)
    return lambda: evaluate(small, given, variants)


def cpu(function: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Print CPU seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    metrics, given, variants = columns_of(options.cases)
    runs = {
        "ours": ours(metrics, given, variants),
        "numpy, checked per column": plain(metrics, given, "fast"),
        "numpy, checked per operation": plain(metrics, given, "safe"),
    }
    for run in runs.values():
        run()
    found = {name: cpu(run, options.rounds) for name, run in runs.items()}
    count = sum(not m.variant for m in metrics.metrics.values())
    print(f"{options.cases:,} cases, {count} metrics, numpy {np.__version__}")
    for name, seconds in found.items():
        print(f"{name:<30} {seconds:7.3f} CPU s   ours/it {found['ours'] / seconds:5.2f}")


if __name__ == "__main__":
    main()
