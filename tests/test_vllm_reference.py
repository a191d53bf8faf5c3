"""The built-in block rule beside vLLM 0.33.0: answers of the engine's own planning functions.

Every row exactly in arrays, a sample of rows in recalculated spreadsheet cells. The models of the
rows come from the shared folder, so that rows of models outside the catalog are answered too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import numpy as np
import pytest
from support.calculators import calculate_cells
from support.shared import shared_folder
from support.tools import REPOSITORY
from support.xlsx import Value

from planner import yamlfile
from planner.engine import Array, Columns
from planner.expr.check import CASE, GROUP, STAGE_GROUP
from planner.expr.to_cells import to_cells
from planner.expr.tree import Name, walk
from planner.metrics import SLOTS, MetricSet

sys.path.append(str(REPOSITORY / "benchmarks"))

from accuracy_reference import (
    ANSWERS,
    TOKEN_LINE,
    answers,
    catalog_slots,
    differences,
    inputs,
    printed_tokens,
    read_rows,
)

Slot = dict[str, float]


@cache
def rule() -> MetricSet:
    return MetricSet.load()


# ---- facts of the reference rows -----------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """The slots of a model and the kinds of layer it has."""

    slots: tuple[Slot, ...]
    kinds: str


@cache
def reference() -> list[dict[str, str]]:
    return read_rows(shared_folder() / "data" / "truth" / "vllm_0_33_reference_open.csv")


@cache
def model(hf_id: str) -> Model:
    path = shared_folder() / "data" / "models" / (hf_id.replace("/", "__") + ".yaml")
    data = yamlfile.read(path).data
    config, kv = data["config"], data["kv"]
    groups, states = kv["groups"], kv["states"] or []
    kinds = [g["kind"] for g in (*groups, *states)]
    slots = [_attention(g, config) for g in groups] + [_state(s) for s in states]
    return Model(tuple(slots), " + ".join(sorted(kinds)))


def _layers(group: Mapping[str, object]) -> Slot:
    """Layers with a cache each; with one stage their places do not matter."""
    layers = float(str(group["layers"]))
    places = dict.fromkeys(("group_period", "group_run", "group_tokens_per_state"), 1.0)
    return {"group_layers": layers, "group_cache_layers": layers, **places}


def _attention(group: Mapping[str, object], config: Mapping[str, object]) -> Slot:
    def number(name: str, otherwise: float = 0) -> float:
        value = config.get(name)
        return otherwise if value is None else float(str(value))

    per_token = float(str(group["bytes_per_token_per_layer_bf16"]))
    slot = _layers(group)
    if group["kind"] == "mla":
        width = number("kv_lora_rank") + number("qk_rope_head_dim")
        slot |= {"group_kv_heads": 1, "group_key_dim": width}
        assert per_token == 2 * width
        return slot
    if group["kind"] == "dsa_indexer":
        return slot | {"group_fixed_bytes": per_token}
    # Nemotron-Super writes its KV heads layer by layer; all layers that have attention have 8.
    heads = number("num_key_value_heads", 8)
    if group["kind"] == "sliding_window":
        heads = number("swa_num_key_value_heads", heads)
    width = number("head_dim") or number("hidden_size") / number("num_attention_heads")
    slot |= {"group_kv_heads": heads, "group_key_dim": width}
    slot |= {"group_value_dim": number("v_head_dim", width)}
    assert per_token == 2 * heads * (width + slot["group_value_dim"])
    window = group.get("window", group.get("chunk", 0))
    slides = float(group["kind"] == "sliding_window")
    return slot | {"group_window": float(str(window)), "group_window_slides": slides}


def _state(state: Mapping[str, object]) -> Slot:
    """One head with all elements of a layer: the rows with states are all for one rank."""
    width = {"float32": 4, "bfloat16": 2}[str(state["recurrent_dtype_vllm_default"])]
    return _layers(state) | {
        "group_conv_taps": 1,
        "group_conv_channels": float(str(state["conv_elements"])),
        "group_conv_element_bytes": 2,
        "group_state_heads": 1,
        "group_state_rows": 1,
        "group_state_columns": float(str(state["recurrent_elements"])),
        "group_state_element_bytes": width,
    }


def slots_of(rows: Sequence[Mapping[str, str]]) -> list[tuple[Slot, ...]]:
    return [model(row["model"]).slots for row in rows]


# ---- arrays --------------------------------------------------------------------------------------


def test_every_answer_of_the_engine_is_met_exactly() -> None:
    rows = reference()
    found = list(differences(rows, answers(rows, slots_of(rows))))
    wrong = {i for i, *_ in found}
    kinds = Counter(model(row["model"]).kinds for row in rows)
    met = Counter(model(row["model"]).kinds for i, row in enumerate(rows) if i not in wrong)
    print("\n".join(f"{met[k]:5} of {n:5} rows agree: {k}" for k, n in sorted(kinds.items())))
    assert not [f"{rows[i]['model']}: {what}" for i, *what in found]
    # All of the reference, not a part of it that happens to agree.
    assert len(rows) == 3984
    assert set(kinds) == {
        "full_attention",
        "sliding_window",
        "full_attention + sliding_window",
        "chunked_local + full_attention",
        "mla",
        "dsa_indexer + mla",
        "full_attention + gdn",
        "full_attention + mamba2",
        "kda + mla",
    }


def test_the_live_figure_beside_the_printed_token_line_is_the_same_uncut() -> None:
    """The printed line is value-only: the engine cuts a product of doubles in its own order."""
    rows = reference()
    columns = answers(rows, slots_of(rows))
    exact = np.asarray([int(row[TOKEN_LINE]) for row in rows])
    assert np.all((exact <= columns["pool_tokens"]) & (columns["pool_tokens"] < exact + 1))
    assert printed_tokens(18204, 2560, 40960) == 291264


def test_rows_of_another_answer_are_found() -> None:
    rows = [dict(r) for r in reference()[:3]]
    rows[1]["num_blocks"] = str(int(rows[1]["num_blocks"]) + 1)
    assert [(i, what) for i, what, *_ in differences(rows, answers(rows, slots_of(rows)))] == [
        (1, "num_blocks")
    ]


def test_catalog_models_answer_their_rows_exactly() -> None:
    """The same rows with the layer groups of the catalog instead of the shared files."""
    rows = [row for row in reference() if catalog_slots(row["model"]) is not None]
    models = [catalog_slots(row["model"]) or () for row in rows]
    assert len(rows) == 3984
    assert list(differences(rows, answers(rows, models))) == []


# ---- cells ---------------------------------------------------------------------------------------


def sample() -> list[dict[str, str]]:
    """Rows of every kind and of every answer's extremes, drawn with a fixed seed."""
    rows, random = reference(), Random(33)
    chosen: list[dict[str, str]] = []
    for kind in sorted({model(r["model"]).kinds for r in rows}):
        these = [r for r in rows if model(r["model"]).kinds == kind]
        chosen += random.sample(these, 7)
    return chosen


def cell_value(name: str, value: float) -> Value:
    """An input as a cell holds it: the word of a choice, a flag, a number."""
    kind = rule().type_of(name)
    if kind.kind == "choice":
        return kind.words[int(value)]
    return bool(value) if kind.kind == "flag" else value


def _text(places: str | None) -> str:
    """Places of layers as a cell holds them; a row has one stage and needs none."""
    return places or "unknown"


class Sheet:
    """Cases one after another: inputs in column B, formulas in A, six cells for a slot metric."""

    def __init__(self, given: frozenset[str]) -> None:
        self.given = given
        self.inputs: dict[str, Value] = {}
        self.formulas: list[str] = []
        self.places: dict[tuple[int, str], list[str]] = {}

    def add(self, case: int, columns: Mapping[str, Array], targets: Sequence[str]) -> None:
        """Inputs and formulas of one case, for everything that the targets need."""
        metrics = rule()
        needed = self._needed(targets)
        for name in sorted(n for n in needed if n not in metrics.metrics or n in self.given):
            values = np.atleast_1d(columns[name])
            self.places[case, name] = [
                self._input(
                    _text(v) if v is None or isinstance(v, str) else cell_value(name, float(v))
                )
                for v in values.reshape(len(values), -1)[:, 0]
            ]
        for name, metric in metrics.metrics.items():
            if name in needed and name not in self.given:
                start = len(self.formulas) + 1
                count = SLOTS if metric.type.grain in (GROUP, STAGE_GROUP) else 1
                self.places[case, name] = [f"A{start + i}" for i in range(count)]
                self.formulas += [self._formula(case, name, i) for i in range(count)]

    def _needed(self, targets: Sequence[str]) -> set[str]:
        """Everything that the targets need, down to what is given."""
        found: set[str] = set()
        waiting = list(targets)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                metric = rule().metrics.get(name)
                waiting += metric.needs if metric and name not in self.given else ()
        return found

    def _input(self, value: Value) -> str:
        address = f"B{len(self.inputs) + 1}"
        self.inputs[address] = value
        return address

    def _formula(self, case: int, name: str, slot: int) -> str:
        def ref(one: str) -> str:
            places = self.places[case, one]
            return places[slot] if len(places) == SLOTS else places[0]

        def span(one: str) -> str:
            places = self.places[case, one]
            return f"{places[0]}:{places[-1]}"

        return to_cells(rule().metrics[name].tree, ref, span)


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_recalculated_cells_give_the_engines_answers(engine: str) -> None:
    rows = sample()
    metrics = rule()
    given = inputs(metrics, rows, slots_of(rows))
    columns = Columns(metrics, given)
    targets = [metric for metric, _, _ in ANSWERS]
    sheet = Sheet(frozenset(given))
    constants = {name: columns[name] for name in metrics.constants}
    for case in range(len(rows)):
        one = {name: columns[name][..., case : case + 1] for name in given}
        sheet.add(case, one | constants, targets)
    found = calculate_cells(sheet.formulas, sheet.inputs, engine)
    wrong = []
    for case, (metric, answer, slack) in product(range(len(rows)), ANSWERS):
        address = sheet.places[case, metric][0]
        value, expected = found[int(address[1:]) - 1], float(rows[case][answer])
        if not isinstance(value, float) or abs(value - expected) > slack:
            wrong.append(f"{rows[case]['model']}: {metric} {value!r}, engine {expected!r}")
    print(f"{len(rows)} rows, {len(sheet.formulas)} formulas in {engine}")
    assert not wrong


# ---- the rule itself -----------------------------------------------------------------------------


def test_the_rule_names_no_architecture() -> None:
    blocks = [m for m in rule().of_table("blocks") if m.type.grain == CASE]
    reach = frozenset().union(*(rule().reach[m.name] for m in blocks))
    names = {n.name for m in reach & set(rule().metrics)
             for n in walk(rule().metrics[m].tree) if isinstance(n, Name)}  # fmt: skip
    assert "group_window" in names
    for word in ("qwen", "gemma", "deepseek", "llama", "kimi", "mla", "gdn", "mamba", "kda"):
        assert not [name for name in names if word in name]
