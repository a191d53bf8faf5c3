"""What the page computes by itself: the same numbers as the engine, whatever is replaced."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import TEXTS, Page, open_page
from support.what_if import replaced

import planner
from planner import saved
from planner.catalog import Catalog
from planner.explain import explain
from planner.offers import CHOSEN, Offer, offers
from planner.planning import Plan
from reports import html
from reports.view import view_of
from reports.view_live import Control

WIDE = """\
name: wide
title: Dense, windowed, latent and hybrid models over stages and ranks
as_of: "2026-11-29"
models: [qwen3-8b, gemma-3-27b, qwen3-next-80b, deepseek-v3]
gpus: [h100-sxm, b200, ascend-910b]
layouts: [{tp: 1}, {tp: 2, pp: 2}, {tp: 2, dp: 4, ep: 8}]
precisions:
  - {weights: bf16, kv: bf16, compute: bf16}
contexts: [16384 tokens]
workloads:
  - {name: chat, prompt: 8192 tokens, output: 1025 tokens}
batches: [8, 64]
time_model: bound
assumptions: {slo_tpot: 30 ms}
"""
DRAWS = 34


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("wide") / "wide.yaml"
    path.write_text(WIDE, "utf-8")
    return planner.plan(path)


@pytest.fixture(scope="module")
def offered(plan: Plan) -> dict[str, list[Offer]]:
    return offers(plan, Catalog.open([]), CHOSEN)


@pytest.fixture(scope="module")
def controls(plan: Plan, offered: dict[str, list[Offer]]) -> Sequence[Control]:
    return view_of(plan, offered).live.controls


@pytest.fixture(scope="module")
def path(
    plan: Plan, offered: dict[str, list[Offer]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    made = html.render(view_of(plan, offered), saved.dumps(saved.document(plan)))
    path = tmp_path_factory.mktemp("page") / "wide.html"
    path.write_text(made, "utf-8")
    return path


@pytest.fixture(scope="module")
def shown(path: Path) -> Iterator[Page]:
    with open_page(path) as page:
        yield page
        assert page.errors == []
        assert len(page.requests) == 1


EDGES: dict[str, list[float]] = {
    "context": [1, 500, 16384, 131072, 2_000_000], "batch": [1], "overhead": [0.0, 190e9],
    "reserve": [0.0], "prompt_tokens": [1, 200_000], "memory_utilization": [0.05],
}  # fmt: skip


def settings(plan: Plan, controls: Sequence[Control], draw: random.Random) -> dict[str, Any]:
    """Some inputs replaced by whatever their controls take, and by what makes formulas fail."""
    chosen = draw.sample(controls, draw.randint(1, 6))
    return {control.name: setting(plan, control, draw) for control in chosen}


def setting(plan: Plan, control: Control, draw: random.Random) -> Any:
    if control.options:
        word, _ = draw.choice(control.options)
        field = plan.metrics.fields.get(control.name)
        return float(word) if field is not None and field.kind == "flag" else word
    low, high = control.low or 0.0, min(control.high or 40_000, 40_000 if control.whole else 1e12)
    drawn = draw.randint(int(low), int(high)) if control.whole else draw.uniform(low, high)
    edges = EDGES.get(control.name, [])
    return draw.choice([drawn, *edges]) if draw.random() < 0.5 else drawn


def of_page(page: Page, over: dict[str, Any]) -> dict[str, Any]:
    """Every metric of the page as ``(cases,)`` lists, unknown as None."""
    text = page.evaluate(
        f"""(()=>{{const m=new capsheet.Model({json.dumps(over)},true),found={{}};
        for(const n in capsheet.F)
          found[n]=[...Array(capsheet.COUNT).keys()].map(i=>(capsheet.F[n][0]?m.case(i):m.all)[n]);
        return JSON.stringify(found)}})()"""
    )
    return dict(json.loads(text))


def of_engine(plan: Plan, name: str, case: int) -> Any:
    """The same from the engine: a value, or lists over stages and layer groups."""
    metric = plan.metrics.metrics[name]
    column = plan.columns[name]
    if metric.variant:
        return [_plain(v, metric.type.words) for v in column[:, case].tolist()]
    column = column if column.ndim == 0 else column[..., case]
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    values = np.asarray(column, dtype=float).tolist()
    return _nested(values, metric.type.words)


def _nested(values: Any, words: tuple[str, ...]) -> Any:
    return (
        [_nested(v, words) for v in values] if isinstance(values, list) else _plain(values, words)
    )


def _plain(value: float, words: tuple[str, ...]) -> Any:
    if math.isnan(value):
        return None
    return words[int(value)] if words else value


def differs(one: Any, other: Any, whole: bool) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(
            differs(a, b, whole) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one != other)
    if whole and abs(one) < 2**53:
        return bool(one != other)
    return not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-300)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_the_page_computes_what_the_engine_computes(
    seed: int, plan: Plan, offered: dict[str, list[Offer]], controls: Sequence[Control], shown: Page
) -> None:
    over = settings(plan, controls, random.Random(seed)) if seed else {}
    made = replaced(plan, offered, over)
    found = of_page(shown, over)
    assert set(found) == set(plan.metrics.metrics)
    wrong = [
        (name, case, of_engine(made, name, case), found[name][case])
        for name, metric in made.metrics.metrics.items()
        for case in range(len(made.cases))
        if differs(of_engine(made, name, case), found[name][case], metric.type.whole)
    ]
    assert wrong == [], (over, wrong[:5])


def test_the_draws_reach_failures_and_every_input(
    plan: Plan, offered: dict[str, list[Offer]], controls: Sequence[Control]
) -> None:
    drawn = [settings(plan, controls, random.Random(seed)) for seed in range(1, DRAWS)]
    assert {name for over in drawn for name in over} == {control.name for control in controls}
    unknown = [
        sum(np.isnan(made.column(n).astype(float)).any() for n in ("verdict", "time_compute"))
        for made in (replaced(plan, offered, over) for over in drawn)
    ]
    assert max(unknown) > 0


def test_figures_are_set_as_python_sets_them(shown: Page) -> None:
    found = shown.evaluate(TEXTS)
    assert len(found) > 3000
    assert [one for one in found if one[1] != one[2]] == []


def test_numbers_are_put_into_formulas_as_explain_puts_them(plan: Plan, shown: Page) -> None:
    for case in (0, 7, 20, len(plan.cases) - 1):
        for name, metric in plan.metrics.metrics.items():
            if not metric.part_of:
                tree = explain(plan, name, case, 0)
                wanted = tree.numbers or tree.rows[0].numbers
                given = shown.evaluate(
                    f"capsheet.putIn(capsheet.issued.case({case}),{json.dumps(name)},0,0)"
                )
                assert given == wanted, (name, case)
