"""Metrics of a user's own file stand in the workbook like the built-in ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.recalc import (
    Cells,
    differences,
    recalculate_formualizer,
    recalculate_libreoffice,
)
from support.workbook import (
    FIRST,
    SCENARIOS,
    Made,
    edited,
    engine_plan,
    engine_value,
    holds,
    make,
    places,
    shipped,
    write_yaml,
)
from support.xlsx import read_formulas

import planner

OWN = {
    "constants": {
        "own_price": {"value": 2.5, "unit": "1/gpu", "meaning": "Agreed price of a GPU hour"},
    },
    "metrics": {
        "pool_used": {
            "label": "KV pool used", "unit": "1", "display": "%", "better": "down",
            "why": "Above 100 % the planned batch does not fit.", "source": {"title": "Own rule"},
            "formula": "batch * kv_reserved_gpu / kv_pool",
        },
        "group_share": {
            "label": "Share of the layers", "table": "groups", "why": "Which kind dominates.",
            "source": {"title": "Own rule"}, "formula": "group_layers / sum_layers",
        },
        "sum_layers": {
            "label": "Layers", "why": "All layers.", "source": {"title": "Own rule"},
            "formula": "sum_of(group_layers)",
        },
        "price_per_slot": {
            "label": "Price of one request slot", "unit": "1/request", "better": "down",
            "why": "What one admitted request costs an hour.", "source": {"title": "Own rule"},
            "formula": "own_price / concurrency_per_gpu",
        },
        "dearest_slot": {
            "label": "Dearest slot", "unit": "1/request", "table": "summary",
            "why": "The worst case.", "source": {"title": "Own rule"},
            "formula": "max_of(price_per_slot if known(price_per_slot) else 0)",
        },
        "advice": {
            "label": "Advice", "choices": ["keep", "buy", "move"], "why": "What to do next.",
            "source": {"title": "Own rule", "url": "https://example.com/policy"},
            "formula": '"keep" if verdict == "fits" else ("move" if tp == own_gpu else "buy")',
        },
        "mean_batch": {
            "label": "Largest batch", "unit": "request", "why": "Of any case.",
            "source": {"title": "Own rule"}, "formula": "max_of(batch)",
        },
        "slots_enough": {
            "label": "No case holds fewer requests than a tenth of its batch", "check": "policy",
            "why": "Own policy.", "source": {"title": "Own rule"},
            "formula": "all_of(max_concurrency >= batch)",
        },
        "weights_gpu": {
            "label": "Weights, one GPU", "unit": "byte/gpu", "display": "GiB/gpu",
            "better": "down", "why": "As built in, one part in a hundred more for padding.",
            "source": {"title": "Measured on our cluster"}, "replaces": "weights_gpu",
            "because": "the loader pads every shard",
            "formula": "whole_up(weight_bytes / tp * own_padding)",
        },
    },
}  # fmt: skip
OWN["constants"]["own_gpu"] = {"value": 1, "unit": "gpu", "meaning": "One GPU"}
OWN["constants"]["own_padding"] = {"value": 1.01, "meaning": "Measured on our cluster"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return own_book(tmp_path_factory.mktemp("own"), OWN, bare=False)


def own_book(folder: Path, metrics: dict[str, Any], *settings: str, bare: bool = True) -> Made:
    path = write_yaml(folder / "metrics.yaml", metrics)
    return make(
        planner.plan(SCENARIOS / "example.yaml", metrics=[path], settings=settings), bare=bare
    )


def test_own_metrics_stand_on_their_sheets(made: Made) -> None:
    found = {name: rows[0][0] for name, rows in places(made).items()}
    assert found["pool_used"][0] == found["advice"][0] == "Own metrics"
    assert found["sum_layers"][0] == found["price_per_slot"][0] == "Own metrics"
    assert found["group_share"][0] == "Group workings"
    assert found["dearest_slot"][0] == found["mean_batch"][0] == "Summary"
    assert found["slots_enough"][0] == "Checks"
    assert found["weights_gpu"][0] == places(shipped())["weights_gpu"][0][0][0] == "Cases"


def test_own_metrics_calculate_and_are_the_engines(made: Made) -> None:
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    where = places(made)
    for name in OWN["metrics"]:
        for case, row in enumerate(where[name]):
            for slot, place in enumerate(row):
                assert holds(made.values[place], engine_value(made.plan, name, case, slot)), name


def test_own_metrics_by_hand(made: Made) -> None:
    """Case 1 by pencil: 36 layers in one group, 2.5 over 23 slots."""
    where = places(made)
    assert made.values[where["group_share"][0][0]] == 1.0
    assert made.values[where["sum_layers"][0][0]] == 36.0
    slots = made.values[where["concurrency_per_gpu"][0][0]]
    assert made.values[where["price_per_slot"][0][0]] == 2.5 / float(slots)
    assert made.values[where["advice"][0][0]] == "move"


def test_own_metrics_are_among_the_results_in_their_units(made: Made) -> None:
    share = made.column("Results", "KV pool used")
    assert share == [
        pytest.approx(100 * float(v), rel=1e-12) if v == v else "unknown"
        for v in made.plan.column("pool_used").tolist()
    ]
    assert made.column("Results", "Advice")[0] == "move"


def test_a_replacement_moves_all_that_follows(made: Made) -> None:
    assert made.plan.value("weights_gpu") == pytest.approx(1.01 * 16_381_470_720, abs=1)
    old, new = shipped(), made
    assert new.column("Results", "Left for KV, one GPU")[0] < old.column(
        "Results", "Left for KV, one GPU")[0]  # type: ignore[operator]  # fmt: skip
    row = made.row_of("Glossary", "weights_gpu", made.headings("Glossary")["Name"])
    letters = made.headings("Glossary")
    assert made.values["Glossary", f"{letters['Declared in']}{row}"] == "metrics.yaml"
    because = made.values["Glossary", f"{letters['Replaces the built-in because']}{row}"]
    assert because == "the loader pads every shard"


def test_changes_name_the_replacement(made: Made) -> None:
    lines = [str(v) for (sheet, _), v in made.values.items() if sheet == "Changes"]
    assert any(
        "weights_gpu" in line and "metrics.yaml" in line and "the loader pads every shard" in line
        for line in lines
    )
    others = [str(v) for (sheet, _), v in shipped().values.items() if sheet == "Changes"]
    assert not any("replaced" in line for line in others)


def test_an_own_check_has_a_light(made: Made) -> None:
    label = OWN["metrics"]["slots_enough"]["label"]
    row = made.row_of("Checks", str(label))
    assert made.values["Checks", f"B{row}"] == "policy"
    assert made.values["Checks", f"C{row}"] is False
    assert made.values["Checks", f"E{row}"] == "attention"
    assert made.values[made.named("chk_all")] is True


def test_an_edit_reaches_own_metrics(made: Made) -> None:
    found = recalculate_formualizer(edited(made, {made.named("in_overhead"): 2.0**33}))
    place = places(made)["pool_used"][0][0]
    assert found[place] > made.values[place]  # type: ignore[operator]


CAPPED = {
    "fields": {
        "own_cap": {
            "entity": "plan", "optional": True, "unit": "request", "label": "Own cap",
            "meaning": "Requests that our gateway lets through; unknown where nobody knows",
        },
    },
    "metrics": {
        "under_cap": {
            "label": "Under the cap", "why": "The gateway.", "source": {"title": "Own rule"},
            "formula": "1 if batch <= own_cap else 0",
        },
        "larger": {
            "label": "Batch or cap", "why": "The larger.", "source": {"title": "Own rule"},
            "unit": "request", "formula": "max(batch, own_cap)",
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("recalculate", [recalculate_formualizer, recalculate_libreoffice])
def test_an_input_that_nobody_gives_is_unknown_in_cells_too(
    recalculate: Callable[[Path], Cells], tmp_path: Path
) -> None:
    """Sheets hold a word above every number in comparisons, and MAX passes it over."""
    made = own_book(tmp_path, CAPPED)
    where = [place for name in CAPPED["metrics"] for row in places(made)[name] for place in row]
    assert {made.values[place] for place in where} == {"#N/A"}
    assert differences(made.stored, recalculate(made.path)) == []
    found = recalculate(edited(made, {made.named("in_own_cap"): 20.0}))
    batches = [case.inputs["batch"] for case in made.plan.cases]
    assert [found[place] for place in where] == [
        *(float(batch <= 20) for batch in batches), *(max(batch, 20.0) for batch in batches),
    ]  # fmt: skip


# ---- names that meet the book's own ------------------------------------------------------------

ABOUT = {"why": "x", "source": {"title": "y"}, "unit": "request", "formula": "batch"}


@pytest.mark.parametrize(
    "label",
    ["Cases", "cases", "Cover", "History", "Context ladder", "Access", "a/b [c]: *?'\\", "''",
     "A label that is longer than a sheet name may be, one", "H100", "R1C1", "Ünïcödé 漢字"],
)  # fmt: skip
def test_a_table_of_any_label_gets_a_sheet_of_its_own(label: str, tmp_path: Path) -> None:
    metrics = {
        "tables": {"one": {"label": label, "answers": "?"},
                   "two": {"label": label, "answers": "?"}},
        "metrics": {"mine": {"label": "mine", "table": "one", **ABOUT},
                    "theirs": {"label": "theirs", "table": "two", **ABOUT,
                               "formula": "mine + batch"}},
    }  # fmt: skip
    made = own_book(tmp_path, metrics, "models=[qwen3-8b]", "gpus=[h100-sxm]")
    where = places(made)
    sheets = {where["mine"][0][0][0], where["theirs"][0][0][0], "Cases"}
    assert len({sheet.lower() for sheet in sheets}) == 3
    for sheet in sheets:
        assert len(sheet) <= 31 and not set(sheet) & set("[]:*?/\\'")
    assert made.column("Cases", "Planned batch") == [32.0, 32.0]
    assert differences(made.stored, recalculate_formualizer(made.path)) == []


def test_metrics_in_the_tables_of_the_book(tmp_path: Path) -> None:
    """A case metric may name any table that there is, that of a ladder or the checks included."""
    tables = ("summary", "memory", "access", "thresholds", "ladder", "checks", "groups", "user")
    metrics = {
        "metrics": {
            f"in_{table}_{grain}": {"label": f"{table} {grain}", **ABOUT, "table": table,
                                    "formula": formula}
            for table in tables
            for grain, formula in (("case", "batch"), ("plan", "max_of(batch)"))
        }
        | {"more_layers": {"label": "layers", "table": "memory", "why": "x",
                           "source": {"title": "y"}, "formula": "group_layers + group_layers"}}
    }  # fmt: skip
    made = own_book(tmp_path, metrics, "models=[qwen3-8b]")
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    where = places(made)
    for name in metrics["metrics"]:
        assert where[name], name
        for case, row in enumerate(where[name]):
            for slot, place in enumerate(row):
                assert holds(made.values[place], engine_value(made.plan, name, case, slot)), name


@pytest.mark.parametrize(
    "name", ["number", "key", "issued", "changed", "workload", "label", "model", "gpu", "model_row",
             "sources", "first_group", "slot", "rung", "value", "unit", "chk_all", "case"],
)  # fmt: skip
def test_a_metric_may_be_called_like_a_column(name: str, tmp_path: Path) -> None:
    metrics = {
        "metrics": {
            name: {"label": "mine", **ABOUT, "table": "memory"},
            f"{name}_more": {"label": "more", **ABOUT, "formula": name},
            f"{name}_most": {"label": "most", **ABOUT, "formula": f"max_of({name})"},
        }
    }
    made = own_book(tmp_path, metrics, "models=[qwen3-8b]", "gpus=[h100-sxm]")
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    assert made.values[places(made)[f"{name}_more"][0][0]] == 32.0
    assert made.column("Cases", "Model") == ["qwen3-8b", "qwen3-8b"]


def test_a_ladder_of_ones_own(tmp_path: Path) -> None:
    """A second set of variants: its rungs are inputs, its matrix and workings sheets."""
    metrics = {
        "variants": {
            "batch_ladder": {
                "label": "Batch ladder", "table": "user", "replaces": "batch",
                "default": [8, 16, 64], "meaning": "Batches at which every case is tried again",
                "shows": ["memory_spare", "verdict"],
            }
        },
        "metrics": {
            "largest_batch": {
                "label": "Largest batch that fits", "unit": "request", "why": "x",
                "source": {"title": "y"},
                "formula": 'max_over(batch_ladder, batch if verdict == "fits" else 0)',
            }
        },
    }  # fmt: skip
    made = own_book(tmp_path, metrics)
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    assert made.values[places(made)["largest_batch"][0][0]] == 16.0
    changes = {made.named("in_batch_ladder_2"): 23.0, made.named("in_batch_ladder_3"): 24.0}
    found = recalculate_formualizer(edited(made, changes))
    assert found[places(made)["largest_batch"][0][0]] == 23.0
    assert found[made.case_cell("Max concurrency", 0)] == 23.0


def test_formulas_of_the_shipped_part_do_not_change_for_own_metrics(made: Made) -> None:
    """Own metrics stand behind the others: what referred to a cell still does."""
    old, new = read_formulas(shipped().path), read_formulas(made.path)
    same = [p for p, text in old.items() if p[0] == "Access" and new.get(p) == text]
    assert len(same) > 0.9 * sum(sheet == "Access" for sheet, _ in old)


def test_engine_and_book_agree_on_the_unchanged_scenario() -> None:
    """A guard for the tests above: the fixture's scenario is the shipped one."""
    assert engine_plan("example").value("weights_gpu") == 16_381_470_720
    assert FIRST == 8
