"""From one case to thousands: the book is right, and neither slow nor large beyond measure."""

from __future__ import annotations

import resource
import time

import pytest
from support.recalc import differences, recalculate_formualizer
from support.tools import in_ci
from support.workbook import FIRST, Made, engine_plan, engine_value, holds, make, places

from reports.workbook.package import Package, cells

# 1.3 million formulas take an evaluator minutes; a machine for tests has them.
MANY = 1_000 if in_ci() else 200


def wide(count: int) -> Made:
    """So many cases: dense, windowed, hybrid, latent and expert models at many batches."""
    batches = ", ".join(str(n) for n in range(1, count // 10 + 1))
    return make(
        engine_plan(
            "example", f"batches=[{batches}]", "gpus=[h200-sxm]", "contexts=[32768 tokens]",
            "models=[qwen3-8b, qwen3-next-80b, deepseek-v3, gemma-3-27b, qwen3-30b-a3b]",
            "precisions=[{weights: fp8, kv: fp8, compute: fp8}]",
        ),
        bare=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def many() -> Made:
    made = wide(MANY)
    assert len(made.plan.cases) == MANY
    return made


def test_many_cases_recalculate(many: Made) -> None:
    assert differences(many.stored, recalculate_formualizer(many.path)) == []
    letters = many.headings("Results")["Max concurrency"]
    assert ("Results", f"{letters}{FIRST + MANY - 1}") in many.formulas


def test_many_cases_hold_the_engines_values(many: Made) -> None:
    where = places(many)
    for metric in ("max_concurrency", "verdict", "longest_context", "kv_read_total", "binding"):
        for case in range(0, MANY, 7):
            stored = many.values[where[metric][case][0]]
            assert holds(stored, engine_value(many.plan, metric, case, 0)), (metric, case)


def test_the_size_grows_with_the_cases_and_no_faster() -> None:
    """Twice the cases take twice the room, about 31 kB a case; the writer streams its rows."""
    small, large = wide(400), wide(800)
    sizes = [made.path.stat().st_size for made in (small, large)]
    assert sizes[1] < 2.2 * sizes[0]
    assert sizes[1] / 800 < 32_000
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    make(large.plan, bare=True)
    assert time.process_time() - start < 20  # measured: 2 s
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_one_case() -> None:
    made = make(
        engine_plan(
            "example", "models=qwen3-8b", "gpus=h100-sxm", "contexts=16384 tokens", "batches=32",
            "workloads=[{name: w, prompt: 8192 tokens, output: 1025 tokens}]",
            "context_ladder=[8192 tokens]",
        )
    )  # fmt: skip
    assert len(made.plan.cases) == 1
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    assert made.column("Results", "Max concurrency") == [made.plan.value("max_concurrency")]
    assert sum(1 for cell in cells(Package.read(made.path), "Cases") if cell.ref == "A9") == 0
