"""The shipped entries: sources, sums, and KV bytes by a second route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner import layer_kinds
from planner.catalog import KINDS, Catalog
from planner.figures import figures
from planner.records import Components, LayerGroup

CATALOG = Catalog.open()
ENTRIES = [(kind, word) for kind in KINDS for word in CATALOG.ids(kind)]
MODELS, GPUS = CATALOG.ids("model"), CATALOG.ids("gpu")


def test_nothing_is_wrong_with_the_shipped_catalog() -> None:
    assert [str(problem) for problem in CATALOG.check()] == []
    assert len(MODELS) >= 12 and len(GPUS) >= 12
    assert CATALOG.overrides == {}


@pytest.mark.parametrize(("kind", "word"), ENTRIES)
def test_entry_is_named_as_its_file_and_has_a_label(kind: str, word: str) -> None:
    record = CATALOG.entry(kind, word).record
    assert record.id == word
    assert record.label


@pytest.mark.parametrize(("kind", "word"), ENTRIES)
def test_every_figure_resolves_to_a_source(kind: str, word: str) -> None:
    record = CATALOG.entry(kind, word).record
    for key, figure in figures(record):
        if figure.value is None:
            continue
        assert figure.confidence, key
        assert figure.source or figure.confidence in ("recalled", "assumed"), key
        assert set(figure.source) <= set(record.sources), key


@pytest.mark.parametrize(("kind", "word"), ENTRIES)
def test_every_source_is_used_and_titled(kind: str, word: str) -> None:
    record = CATALOG.entry(kind, word).record
    used = {name for _, figure in figures(record) for name in figure.source}
    used |= {source.via for source in record.sources.values() if source.via}
    for part in ("config_source", "verification"):
        used |= {str(getattr(getattr(record, part, None), "source", ""))}
    assert set(record.sources) - used == set()
    assert all(source.title for source in record.sources.values())


@pytest.mark.parametrize("word", MODELS)
def test_components_add_up_exactly(word: str) -> None:
    params = CATALOG.model(word).params
    parts = [getattr(params, name) for name in Components.ADDENDS]
    assert sum(int(part.value) for part in parts if part) == int(params.total.value or 0)


@pytest.mark.parametrize("word", MODELS)
def test_embedding_is_vocabulary_times_width(word: str) -> None:
    model = CATALOG.model(word)
    table = (model.vocab_size.value or 0) * (model.hidden_size.value or 0)
    assert model.params.embedding.value == table
    head = model.params.lm_head
    assert (head.value if head else 0) == (0 if model.tied_embedding.value else table)


def test_published_hub_totals() -> None:
    """Figures of the formula article and of the hub, typed in again."""
    totals = {
        "qwen3-8b": 8_190_735_360,
        "llama-3.1-8b": 8_030_261_248,
        "llama-3.1-70b": 70_553_706_496,
        "mixtral-8x7b": 46_702_792_704,
        "gemma-3-27b": 27_432_406_640,
        "gpt-oss-20b": 20_914_757_184,
        "qwen3-next-80b": 81_324_862_720 - 1_650_471_424,
    }
    assert {word: CATALOG.model(word).params.total.value for word in totals} == totals


# ---- KV bytes by a second route: plain YAML, plain loops, no table of ours ----


def plain_kv_and_state(path: Path) -> tuple[int, int]:
    """BF16 KV bytes per token of all layers, and state bytes per request, from the raw file."""
    data = yaml.safe_load(path.read_text("utf-8"))
    kv = state = 0
    for group in data["layer_groups"]:
        plain = {k: v["value"] if isinstance(v, dict) else v for k, v in group.items()}
        get: Any = plain.get
        for _ in range(get("layers")):
            if get("kv_lora_rank"):
                kv += 2 * (get("kv_lora_rank") + get("qk_rope_head_dim"))
            elif get("kv_heads"):
                kv += 2 * get("kv_heads") * get("head_dim")  # keys
                kv += 2 * get("kv_heads") * get("head_dim")  # values
            else:
                channels = 2 * get("k_heads") * get("k_head_dim")
                channels += get("v_heads") * get("v_head_dim")
                width = {"bf16": 2, "fp32": 4}
                state += (get("conv_kernel") - 1) * channels * width[get("conv_dtype")]
                cells = get("v_heads") * get("v_head_dim") * get("k_head_dim")
                state += cells * width[get("state_dtype")]
    return kv, state


def kv_and_state(word: str) -> tuple[float, float]:
    """The same from the facts that formulas see."""
    kv = state = 0.0
    for group in CATALOG.groups(word):
        f: dict[str, Any] = {
            name.removeprefix("group_"): x.value for name, x in group.facts.items()
        }
        kv += f["layers"] * f["kv_heads"] * (f["key_dim"] + f["value_dim"]) * 2
        kv += f["layers"] * f["fixed_bytes"]
        conv = f["conv_taps"] * f["conv_channels"] * f["conv_element_bytes"]
        cells = f["state_heads"] * f["state_rows"] * f["state_columns"]
        state += f["layers"] * (conv + cells * f["state_element_bytes"])
    return kv, state


@pytest.mark.parametrize("word", MODELS)
def test_kv_bytes_by_two_routes(word: str, repository: Path) -> None:
    path = repository / "catalogs" / "models" / f"{word}.yaml"
    assert kv_and_state(word) == plain_kv_and_state(path)


@pytest.mark.parametrize(
    ("word", "kv", "state"),
    [
        ("qwen3-8b", 147_456, 0),
        ("qwen3-32b", 262_144, 0),
        ("qwen3-30b-a3b", 98_304, 0),
        ("qwen2.5-7b", 57_344, 0),
        ("llama-3.1-8b", 131_072, 0),
        ("llama-3.1-70b", 327_680, 0),
        ("llama-2-7b", 524_288, 0),
        ("mixtral-8x7b", 131_072, 0),
        ("gemma-3-27b", 62 * 8_192, 0),
        ("gpt-oss-20b", 24 * 2 * 8 * 64 * 2, 0),
        ("deepseek-v3", 70_272, 0),
        ("qwen3-next-80b", 24_576, 36 * 1_097_728),
    ],
)
def test_kv_bytes_that_are_known(word: str, kv: int, state: int) -> None:
    assert kv_and_state(word) == (kv, state)


def test_windows_of_the_windowed_models() -> None:
    windows = {
        word: [
            (group.facts["group_layers"].value, group.facts["group_window"].value)
            for group in CATALOG.groups(word)
        ]
        for word in ("gpt-oss-20b", "gemma-3-27b", "qwen3-8b")
    }
    assert windows == {
        "gpt-oss-20b": [(12, 128), (12, 0)],
        "gemma-3-27b": [(52, 1024), (10, 0)],
        "qwen3-8b": [(36, 0)],
    }


# ---- kinds of layers beyond the shipped models: state bytes of one layer ----


@pytest.mark.parametrize(
    ("kind", "shape", "conv", "state"),
    [
        (
            "kda",
            {"k_heads": 32, "v_heads": 32, "k_head_dim": 128, "v_head_dim": 128, "conv_kernel": 4,
             "conv_dtype": 2, "state_dtype": 4},
            73_728,
            2_097_152,
        ),
        (
            "mamba2",
            {"heads": 64, "head_dim": 64, "groups": 8, "state_size": 128, "conv_kernel": 4,
             "conv_dtype": 2, "state_dtype": 4},
            36_864,
            2_097_152,
        ),
        (
            "mamba1",
            {"inner_size": 8192, "state_size": 16, "conv_kernel": 4, "conv_dtype": 2,
             "state_dtype": 2},
            49_152,
            262_144,
        ),
        ("lightning", {"heads": 64, "head_dim": 128, "state_dtype": 2}, 0, 2_097_152),
        ("short_conv", {"channels": 2048, "conv_kernel": 3, "conv_dtype": 2}, 8_192, 0),
    ],
)  # fmt: skip
def test_state_bytes_of_a_layer(kind: str, shape: dict[str, float], conv: int, state: int) -> None:
    table = layer_kinds.KINDS[kind]
    assert set(shape) == set(table.takes)
    value = {name: table.value(f"group_{name}", table.complete(shape)) for name in (
        "conv_taps", "conv_channels", "conv_element_bytes", "state_heads", "state_rows",
        "state_columns", "state_element_bytes", "kv_heads",
    )}  # fmt: skip
    assert value["conv_taps"] * value["conv_channels"] * value["conv_element_bytes"] == conv
    cells = value["state_heads"] * value["state_rows"] * value["state_columns"]
    assert cells * value["state_element_bytes"] == state
    assert value["kv_heads"] == 0


def test_latent_and_index_of_sparse_attention() -> None:
    mla, index = layer_kinds.KINDS["mla"], layer_kinds.KINDS["index_key"]
    shape = mla.complete({"q_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64})
    assert mla.value("group_key_dim", shape) == mla.value("group_score_dim", shape) == 576
    assert (mla.value("group_mix_dim", shape), mla.value("group_value_dim", shape)) == (512, 0)
    assert mla.value("group_read_limit", shape) == 0
    assert mla.value("group_read_limit", shape | {"index_topk": 2048}) == 2048
    keys = {"index_heads": 64.0, "index_head_dim": 128.0, "key_bytes": 132.0}
    assert index.value("group_fixed_bytes", index.complete(keys)) == 132


@pytest.mark.parametrize("kind", layer_kinds.KINDS.values(), ids=list(layer_kinds.KINDS))
def test_table_of_kinds_is_closed(kind: layer_kinds.LayerKind) -> None:
    """Rules give known fields from names that an entry can write, and explain themselves."""
    assert set(kind.rules) < set(layer_kinds.FIELDS)
    rules = {name: kind.rule(name) for name in layer_kinds.FIELDS}
    names = {name for rule in rules.values() for name in layer_kinds.names_in(rule)}
    own = {*kind.takes, *kind.may_take}
    assert names <= own | {*layer_kinds.COMMON, *layer_kinds.OUTER}
    assert own | {*kind.stands_for, *layer_kinds.COMMON} <= set(LayerGroup.model_fields)
    said = layer_kinds.basis(kind)
    assert all(rule in said for rule in kind.rules.values() if not rule.isidentifier())


@pytest.mark.parametrize(
    ("rule", "value"),
    [("a", 5), ("a - 1", 4), ("2 * a * b_c + a", 35), ("7", 7), ("a - 2 * b_c - 1", -2)],
)
def test_rules_are_sums_of_products(rule: str, value: float) -> None:
    assert layer_kinds.evaluate(rule, {"a": 5, "b_c": 3}) == value
