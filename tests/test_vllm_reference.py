"""The formula language carries a real engine: vLLM 0.33.0's block rule as formula texts only.

``rules/vllm_blocks.yaml`` holds the rule. Its answers are compared with those of the engine's own
planning functions: every row exactly in arrays, a sample of rows in recalculated spreadsheet cells.
"""

from __future__ import annotations

import csv
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
from planner.catalog import Catalog
from planner.engine import Array, Columns
from planner.examples import run_example
from planner.expr.check import GROUP
from planner.expr.to_cells import to_cells
from planner.expr.tree import Name, walk
from planner.metrics import SLOTS, Metric, MetricSet

RULES = REPOSITORY / "tests" / "rules" / "vllm_blocks.yaml"

# Metric of the rule, column of the engine's answers, and how far apart they may be: the reference
# prints six decimals of the concurrency, all others are whole numbers.
ANSWERS = (
    ("block_tokens", "block_size", 0.0),
    ("groups_in_pool", "groups", 0.0),
    ("block_bytes", "bytes_per_block", 0.0),
    ("pool_blocks", "num_blocks", 0.0),
    ("request_blocks", "blocks_per_request", 0.0),
    ("pool_concurrency", "max_concurrency", 1e-6),
)

Slot = dict[str, float]


@cache
def rule() -> MetricSet:
    return MetricSet.load([RULES])


# ---- facts of the reference rows -----------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """The slots of a model, the kinds of layer it has, and the smallest block its kernels take."""

    slots: tuple[Slot, ...]
    kinds: str
    kernel_block: float


@cache
def reference() -> list[dict[str, str]]:
    path = shared_folder() / "data" / "truth" / "vllm_0_33_reference_open.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def model(hf_id: str) -> Model:
    path = shared_folder() / "data" / "models" / (hf_id.replace("/", "__") + ".yaml")
    data = yamlfile.read(path).data
    config, kv = data["config"], data["kv"]
    groups, states = kv["groups"], kv["states"] or []
    kinds = [g["kind"] for g in (*groups, *states)]
    slots = [_attention(g, config) for g in groups] + [_state(s) for s in states]
    return Model(tuple(slots), " + ".join(sorted(kinds)), _kernel_block(kinds))


def _kernel_block(kinds: Sequence[str]) -> float:
    """Kernels of plain attention take 16 tokens, latent ones 64, and 128 beside states."""
    if "mla" not in kinds:
        return 16
    return 128 if kinds != ["mla"] and "dsa_indexer" not in kinds else 64


def _attention(group: Mapping[str, object], config: Mapping[str, object]) -> Slot:
    def number(name: str, otherwise: float = 0) -> float:
        value = config.get(name)
        return otherwise if value is None else float(str(value))

    per_token = float(str(group["bytes_per_token_per_layer_bf16"]))
    slot: Slot = {"group_layers": float(str(group["layers"]))}
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
    slides = group["kind"] == "sliding_window"
    return slot | {"group_window": float(str(window)), "group_window_slides": slides}


def _state(state: Mapping[str, object]) -> Slot:
    """One head with all elements of a layer: the rows with states are all for one rank."""
    width = {"float32": 4, "bfloat16": 2}[str(state["recurrent_dtype_vllm_default"])]
    return {
        "group_layers": float(str(state["layers"])),
        "group_conv_taps": 1,
        "group_conv_channels": float(str(state["conv_elements"])),
        "group_conv_element_bytes": 2,
        "group_state_heads": 1,
        "group_state_rows": 1,
        "group_state_columns": float(str(state["recurrent_elements"])),
        "group_state_element_bytes": width,
    }


def given(rows: Sequence[Mapping[str, str]]) -> dict[str, Array]:
    """The input columns of the rule for rows of the reference."""

    def column(values: Sequence[object]) -> Array:
        return np.asarray([float(str(v)) for v in values])

    models = [model(row["model"]) for row in rows]
    columns = {
        "tp": column([r["tp"] for r in rows]),
        "context": column([r["max_model_len"] for r in rows]),
        "in_flight_tokens": column([r["in_flight_tokens"] for r in rows]),
        "kv_memory": column([int(r["kv_memory_gib"]) * 2**30 for r in rows]),
        "kv_key_bytes": column([{"bf16": 2, "fp8": 1}[r["kv_dtype"]] for r in rows]),
        "kv_value_bytes": column([{"bf16": 2, "fp8": 1}[r["kv_dtype"]] for r in rows]),
        "kv_head_scale_bytes": np.zeros(len(rows)),
        "kv_head_round": np.ones(len(rows)),
        "kv_latent_bytes": np.zeros(len(rows)),
        "engine_block_size": np.full(len(rows), 16.0),
        "kernel_block": column([m.kernel_block for m in models]),
        "caches_prefixes": np.asarray([r["mamba_cache_mode"] == "align" for r in rows]),
        "pads_pages": np.full(len(rows), True),
    }
    return columns | slot_columns([m.slots for m in models])


def slot_columns(models: Sequence[Sequence[Slot]]) -> dict[str, Array]:
    """Every layer-group field, ``(6, cases)``; empty slots and absent parts are 0."""
    names = [name for name, field in rule().fields.items() if field.entity == "group"]
    return {
        name: np.asarray(
            [
                [slots[i].get(name, 0.0) if i < len(slots) else 0.0 for slots in models]
                for i in range(SLOTS)
            ],
            dtype=np.float64,
        )
        for name in names
    }


# ---- arrays --------------------------------------------------------------------------------------


def test_every_answer_of_the_engine_is_met_exactly() -> None:
    rows = reference()
    columns = Columns(rule(), given(rows))
    good = np.full(len(rows), True)
    wrong: list[str] = []
    for metric, answer, slack in ANSWERS:
        expected = np.asarray([float(row[answer]) for row in rows])
        agrees = np.abs(columns[metric] - expected) <= slack
        good &= agrees
        wrong += [
            f"{rows[i]['model']}: {metric} {columns[metric][i]!r}, engine {expected[i]!r}"
            for i in np.flatnonzero(~agrees)
        ]
    kinds = Counter(model(row["model"]).kinds for row in rows)
    met = Counter(model(row["model"]).kinds for row, ok in zip(rows, good, strict=True) if ok)
    print("\n".join(f"{met[k]:5} of {n:5} rows agree: {k}" for k, n in sorted(kinds.items())))
    assert not wrong
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


def test_the_printed_token_line_is_the_engines_product_of_floats_cut() -> None:
    """The line is value-only: the engine divides, multiplies and cuts doubles in this order."""
    rows = reference()
    columns = Columns(rule(), given(rows))
    blocks, per_request = columns["pool_blocks"], columns["request_blocks"]
    printed = [
        int(int(b) / int(r) * int(row["max_model_len"]))
        for b, r, row in zip(blocks, per_request, rows, strict=True)
    ]
    assert printed == [int(row["kv_cache_size_tokens"]) for row in rows]
    # The live figure beside it is the same product uncut.
    exact = np.asarray(printed)
    assert np.all((exact <= columns["pool_tokens"]) & (columns["pool_tokens"] < exact + 1))


def test_kinds_packed_side_by_side_in_a_block_are_unknown_and_not_guessed() -> None:
    rows = [r for r in reference() if r["model"] == "openai/gpt-oss-20b"][:1]
    columns = Columns(rule(), given(rows) | {"pads_pages": np.asarray([False])})
    assert np.isnan(columns["block_bytes"]).all()
    assert np.isnan(columns["pool_concurrency"]).all()


# ---- the same rule over the product's own catalog ------------------------------------------------

# Runs of the engine's planning functions, 40 GiB for KV, 16,384 tokens in flight, tp 1:
# model, context, prefix caching, then block, groups, bytes per block, blocks, blocks per request.
RUNS = (
    ("qwen3-8b", 40960, False, 16, 1, 2359296, 18204, 2560),
    ("gpt-oss-20b", 131072, False, 16, 2, 393216, 109226, 1033 + 8192),
    ("gemma-3-27b", 131072, False, 16, 7, 1310720, 32768, 8192 + 6 * 1089),
    ("qwen3-next-80b", 262144, False, 544, 4, 13369344, 3212, 482 + 3 * 1),
    ("qwen3-next-80b", 262144, True, 544, 4, 13369344, 3212, 482 + 3 * 2),
    ("deepseek-v3", 163840, False, 64, 1, 4497408, 9549, 2560),
)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run[0]}{'+prefix' * run[2]}")
def test_catalog_models_give_the_blocks_of_the_engine(run: tuple[str, int, bool, int]) -> None:
    word, context, caches, *expected = run
    groups = Catalog.open().groups(word)
    slots = [
        {name: float(fact.value or 0) for name, fact in group.facts.items()}
        | {"group_window_slides": group.kind == "sliding_window"}
        for group in groups
    ]
    inputs = {
        "tp": 1.0, "context": context, "in_flight_tokens": 16384, "kv_memory": 40 * 2**30,
        "kv_key_bytes": 2, "kv_value_bytes": 2, "kv_head_scale_bytes": 0,
        "kv_head_round": 1, "kv_latent_bytes": 0, "engine_block_size": 16,
        "kernel_block": 64 if word == "deepseek-v3" else 16, "caches_prefixes": caches,
        "pads_pages": True,
    }  # fmt: skip
    columns = Columns(
        rule(), {n: np.asarray([v]) for n, v in inputs.items()} | slot_columns([slots])
    )
    found = [int(columns[metric][0]) for metric, _, _ in ANSWERS[:5]]
    assert found == expected


def test_tensor_parallelism_splits_state_heads_and_channels() -> None:
    # Qwen3-Next-80B over 2 ranks: 3 x 4,096 x 2 + 16 x 128 x 128 x 2 = 548,864 of 1,097,728 bytes,
    # and one KV head of 256 + 256 elements, 1,024 bytes a token: the block stays at
    # 16 x ceil(548,864 / 16,384) = 544 tokens.
    [gdn] = [g for g in Catalog.open().groups("qwen3-next-80b") if g.kind == "gdn"]
    [full] = [g for g in Catalog.open().groups("qwen3-next-80b") if g.kind == "full_attention"]
    slots = [{n: float(f.value or 0) for n, f in g.facts.items()} for g in (full, gdn)]
    inputs = {
        "tp": 2.0, "kv_key_bytes": 2, "kv_value_bytes": 2, "kv_head_scale_bytes": 0,
        "kv_head_round": 1, "kv_latent_bytes": 0, "engine_block_size": 16,
        "kernel_block": 16,
    }  # fmt: skip
    columns = Columns(
        rule(), {n: np.asarray([v]) for n, v in inputs.items()} | slot_columns([slots])
    )
    assert columns["layer_state_bytes"][1, 0] == 548864
    assert columns["layer_token_bytes"][0, 0] == 1024
    assert columns["block_tokens"][0] == 544


# ---- cells ---------------------------------------------------------------------------------------


def sample() -> list[dict[str, str]]:
    """Rows of every kind and of every answer's extremes, drawn with a fixed seed."""
    rows, random = reference(), Random(33)
    chosen: list[dict[str, str]] = []
    for kind in sorted({model(r["model"]).kinds for r in rows}):
        these = [r for r in rows if model(r["model"]).kinds == kind]
        chosen += random.sample(these, 7)
    return chosen


class Sheet:
    """Cases one after another: inputs in column B, formulas in A, six cells for a slot metric."""

    def __init__(self) -> None:
        self.inputs: dict[str, Value] = {}
        self.formulas: list[str] = []
        self.places: dict[tuple[int, str], list[str]] = {}

    def add(self, case: int, columns: Mapping[str, Array], targets: Sequence[str]) -> None:
        """Inputs and formulas of one case, for everything that the targets need."""
        metrics = rule()
        needed = frozenset().union(*(metrics.reach[t] for t in targets))
        for name in sorted(needed - set(metrics.metrics)):
            values = np.atleast_1d(columns[name])
            flag = metrics.type_of(name).kind == "flag"
            self.places[case, name] = [
                self._input(bool(v) if flag else float(v))
                for v in values.reshape(len(values), -1)[:, 0]
            ]
        for name, metric in metrics.metrics.items():
            if name in needed:
                start = len(self.formulas) + 1
                count = SLOTS if metric.type.grain == GROUP else 1
                self.places[case, name] = [f"A{start + i}" for i in range(count)]
                self.formulas += [self._formula(case, name, i) for i in range(count)]

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
    columns = Columns(metrics, given(rows))
    targets = [metric for metric, _, _ in ANSWERS]
    sheet = Sheet()
    inputs = {*metrics.fields} & {*given(rows)}
    for case in range(len(rows)):
        one = {name: columns[name][..., case : case + 1] for name in inputs}
        constants = {name: columns[name] for name in metrics.constants}
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


def rules_of_blocks() -> list[Metric]:
    return [m for m in rule().metrics.values() if m.table == "blocks" and not m.part_of]


def test_the_rule_names_no_architecture() -> None:
    names = {n.name for m in rules_of_blocks() for n in walk(m.tree) if isinstance(n, Name)}
    assert "group_window" in names
    for word in ("qwen", "gemma", "deepseek", "llama", "kimi", "mla", "gdn", "mamba", "kda"):
        assert not [name for name in names if word in name]


@pytest.mark.parametrize("metric", rules_of_blocks(), ids=lambda metric: metric.name)
def test_every_formula_of_the_rule_meets_its_worked_examples(metric: Metric) -> None:
    assert metric.entry.examples
    for example in metric.entry.examples:
        found, wanted = run_example(rule(), metric, example)
        exact = not isinstance(wanted, float)
        assert found == (wanted if exact else pytest.approx(wanted, rel=1e-9)), example.because
