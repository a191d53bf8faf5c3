"""The shipped entries: sources, sums, and KV bytes by a second route."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner import layer_kinds
from planner.catalog import KINDS, Catalog
from planner.facts import GroupFacts
from planner.figures import figures
from planner.places import in_words
from planner.records import Components, LayerGroup

CATALOG = Catalog.open()
ENTRIES = [(kind, word) for kind in KINDS for word in CATALOG.ids(kind)]
MODELS, GPUS = CATALOG.ids("model"), CATALOG.ids("gpu")


def test_nothing_is_wrong_with_the_shipped_catalog() -> None:
    assert [str(problem) for problem in CATALOG.check()] == []
    assert len(MODELS) >= 299 and len(GPUS) >= 70
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


# Rows of an embedding beyond the vocabulary: places, token types, marks of pictures, n-grams.
FURTHER_ROWS = {
    "bge-m3": 8194 + 1, "bge-large-en-v1.5": 512 + 2, "llama-3.2-11b-vision": 8,
    "llama-3.2-90b-vision": 8, "qwen3.8-flash-next": 320_001_536 * 160 // 2560,
}  # fmt: skip
FURTHER_ROWS_OF_LINE = {"opt": 2048 + 2, "gpt2": 1024}
HEAD_BIAS = {"phi-1.5", "phi-2", "phi-3.5-moe"}


@pytest.mark.parametrize("word", MODELS)
def test_embedding_is_vocabulary_times_width(word: str) -> None:
    model = CATALOG.model(word)
    words, width = model.vocab_size.value or 0, model.hidden_size.value or 0
    table = words * width
    rows = FURTHER_ROWS.get(word, FURTHER_ROWS_OF_LINE.get(model.family, 0))
    assert model.params.embedding.value == table + rows * width
    head = model.params.lm_head
    expected = table + (words if word in HEAD_BIAS else 0)
    assert (head.value if head else 0) == (0 if model.tied_embedding.value else expected)


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


WIDTH = {"bf16": 2, "fp16": 2, "fp32": 4}


def cached_and_kept(group: dict[str, Any]) -> tuple[Fraction, int]:
    """Of one layer: BF16 bytes per token of its cache, and bytes of its state per request."""
    get: Any = {k: v["value"] if isinstance(v, dict) else v for k, v in group.items()}.get
    kind = get("kind")
    size = int(str(get("key_bytes") or 0).split()[0])
    taps = (get("conv_kernel") or 1) - 1
    conv, cell = WIDTH.get(get("conv_dtype"), 0), WIDTH.get(get("state_dtype"), 0)
    if kind in ("full_attention", "sliding_window", "chunked_local", "cross_attention"):
        keys = get("key_dim") or get("head_dim")
        return Fraction(2 * get("kv_heads") * (keys + (get("value_dim") or get("head_dim")))), 0
    if kind == "mla":
        return Fraction(2 * (get("kv_lora_rank") + get("qk_rope_head_dim"))), 0
    if kind == "sliding_window_mla":
        return Fraction(2 * get("head_dim")), 0
    if kind == "compressed_mla":
        return Fraction(2 * get("head_dim"), get("tokens_per_state")), 0
    if kind in ("index_key", "compressed_index_key"):
        return Fraction(size, get("tokens_per_state") or 1), 0
    if kind == "compressor_state":
        return Fraction(get("elements") * cell), 0
    if kind in ("gdn", "kda"):
        channels = 2 * get("k_heads") * get("k_head_dim") + get("v_heads") * get("v_head_dim")
        cells = get("v_heads") * get("v_head_dim") * get("k_head_dim")
        return Fraction(0), taps * channels * conv + cells * cell
    if kind == "mamba1":
        inner = get("inner_size")
        return Fraction(0), taps * inner * conv + inner * get("state_size") * cell
    if kind == "mamba2":
        inner = get("heads") * get("head_dim")
        channels = inner + 2 * get("groups") * get("state_size")
        return Fraction(0), taps * channels * conv + inner * get("state_size") * cell
    if kind == "lightning":
        return Fraction(0), get("heads") * get("head_dim") ** 2 * cell
    assert kind in ("encoder_only", "pool_tail"), kind  # no cache, and a ring that never grows
    return Fraction(0), 0


def plain_kv_and_state(path: Path) -> tuple[float, int]:
    """BF16 KV bytes per token of all layers, and state bytes per request, from the raw file."""
    kv, state = Fraction(0), 0
    for group in yaml.safe_load(path.read_text("utf-8"))["layer_groups"]:
        cached, kept = cached_and_kept(group)
        for layer in range(group["layers"]):
            kv += cached if layer >= group.get("shared_layers", 0) else 0
            state += kept
    return float(kv), state


def of_group(group: GroupFacts) -> tuple[Fraction, float]:
    """The same of one layer from the facts that formulas see."""
    f: dict[str, Any] = {name.removeprefix("group_"): x.value for name, x in group.facts.items()}
    cached = f["kv_heads"] * (f["key_dim"] + f["value_dim"]) * 2 + f["fixed_bytes"]
    conv = f["conv_taps"] * f["conv_channels"] * f["conv_element_bytes"]
    cells = f["state_heads"] * f["state_rows"] * f["state_columns"]
    return (
        Fraction(int(cached), int(f["tokens_per_state"])),
        conv + cells * f["state_element_bytes"],
    )


def kv_and_state(word: str, *kinds: str) -> tuple[float, float]:
    """Sums over the groups of a model, of these kinds where some are named."""
    kv, state = Fraction(0), 0.0
    for group in CATALOG.groups(word):
        if kinds and group.kind not in kinds:
            continue
        cached, kept = of_group(group)
        kv += int(float(group.facts["group_cache_layers"].value or 0)) * cached
        state += float(group.facts["group_layers"].value or 0) * kept
    return float(kv), state


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
        # figures of publications, or the products that give them
        ("llama-3.1-405b", 2 * 126 * 8 * 128 * 2, 0),
        ("llama-2-70b", 327_680, 0),
        ("llama-4-maverick", 48 * 4_096, 0),
        ("qwen3-235b-a22b", 192_512, 0),
        ("qwen3-coder-480b-a35b", 62 * 4_096, 0),
        ("deepseek-v2", 60 * 1_152, 0),
        ("deepseek-v3.2", 61 * (1_152 + 132), 0),
        ("kimi-k2", 70_272, 0),
        ("glm-4.5", 376_832, 0),
        ("glm-4.5-air", 46 * 4_096, 0),
        ("glm-5", 78 * (1_152 + 132), 0),
        ("glm-5.2", 92_628, 0),
        ("minimax-m2", 253_952, 0),
        ("gpt-oss-120b", 73_728, 0),
        ("gemma-2-27b", 46 * 8_192, 0),
        ("gemma-3n-e4b", 20 * 2_048, 0),
        ("gemma-4-26b-a4b", 25 * 8_192 + 5 * 4_096, 0),
        ("phi-4", 40 * 2 * 10 * 128 * 2, 0),
        ("mistral-7b-v0.1", 131_072, 0),
        ("mistral-large-2", 360_448, 0),
        ("mimo-v2-flash", 9 * 2 * 4 * (192 + 128) + 39 * 2 * 8 * (192 + 128), 0),
        ("step3", 61 * 1_024, 0),
        ("llama-3.3-nemotron-super-49b", 49 * 4_096, 0),
        ("minimax-text-01", 10 * 4_096, 70 * 64 * 128 * 128 * 2),
        ("jamba-1.5-mini", 4 * 4_096, 28 * 311_296),
        ("nemotron-3-nano-30b-a3b", 6 * 1_024, 23 * (36_864 + 64 * 64 * 128 * 4)),
        ("kimi-linear-48b-a3b", 7 * 1_152, 20 * (73_728 + 32 * 128 * 128 * 4)),
        ("qwen3.5-397b-a17b", 15 * 2_048, 45 * (3 * 12_288 * 2 + 64 * 128 * 128 * 4)),
        ("bge-m3", 0, 0),
    ],
)
def test_kv_bytes_that_are_known(word: str, kv: int, state: int) -> None:
    assert kv_and_state(word) == (kv, state)


@pytest.mark.parametrize(
    ("word", "own", "across", "tokens"),
    [
        ("whisper-large-v3", 163_840, 163_840, 1_500),
        ("flan-t5-xl", 196_608, 196_608, None),
        ("llama-3.2-11b-vision", 131_072, 32_768, 4 * 1_601),
    ],
)
def test_cross_attention_is_apart(word: str, own: int, across: int, tokens: int | None) -> None:
    assert kv_and_state(word, "full_attention") == (own, 0)
    assert kv_and_state(word, "cross_attention") == (across, 0)
    groups = [group for group in CATALOG.groups(word) if group.kind == "cross_attention"]
    assert [group.facts["group_fixed_tokens"].value for group in groups] == [tokens]


def test_compressed_caches_of_deepseek_v4() -> None:
    """Bytes per token: a window of all layers, and 4 or 128 tokens in one vector of 1024 bytes."""
    assert kv_and_state("deepseek-v4-flash", "sliding_window_mla") == (43 * 1_024, 0)
    assert kv_and_state("deepseek-v4-flash", "compressed_mla") == (21 * 256 + 20 * 8, 0)
    assert kv_and_state("deepseek-v4-flash", "compressed_index_key") == (21 * 33, 0)
    assert kv_and_state("deepseek-v4-flash", "compressor_state") == (21 * 10_240 + 20 * 4_096, 0)


@pytest.mark.parametrize(
    ("word", "experts", "dense"),
    [
        ("deepseek-v3.2", "3-60", "0-2"),
        ("kimi-k2", "1-60", "0"),
        ("mixtral-8x22b", "0-55", "none"),
        ("gemma-4-26b-a4b", "0-29", "0-29"),  # a dense network beside the experts of every layer
        (
            "llama-4-maverick",
            ", ".join(map(str, range(1, 48, 2))),
            ", ".join(map(str, range(0, 48, 2))),
        ),
        ("step3", "4-59", "0-3, 60"),  # not up to the last layer
        (
            "nemotron-3-nano-30b-a3b",  # by a pattern of letters
            "1, 3, 6, 8, 10, 13, 15, 17, 20, 22, 24, 27, 29, 31, 34, 36, 38, 40, 43, 45, 47, 49, "
            "51",
            "none",
        ),
        ("granite-4.0-h-micro", "0-39", "none"),  # no routed experts, a shared one in every layer
        ("qwen3-32b", "none", "0-63"),
    ],
)
def test_layers_with_experts_and_with_dense_networks(word: str, experts: str, dense: str) -> None:
    facts = CATALOG.facts("model", word)
    found = [in_words(str(facts[name].value)) for name in ("moe_places", "dense_places")]
    assert found == [experts, dense]


@pytest.mark.parametrize(
    ("word", "letters"),
    [
        ("nemotron-h-8b", "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"),
        ("nemotron-nano-9b-v2", "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"),
    ],
)
def test_layers_by_a_pattern_of_letters(word: str, letters: str) -> None:
    state, attention = (str(g.facts["group_places"].value) for g in CATALOG.groups(word))
    dense = str(CATALOG.facts("model", word)["dense_places"].value)
    for letter, text in (("M", state), ("*", attention), ("-", dense)):
        assert text == "".join("*" if one == letter else "." for one in letters)


def test_formats_of_published_checkpoints() -> None:
    formats = {
        "deepseek-r1": "fp8", "deepseek-v3.1": "fp8", "deepseek-v4-pro": "fp8-mxfp4-experts",
        "kimi-k2": "fp8", "kimi-k2-thinking": "int4-g32-experts", "kimi-k3": "mxfp4",
        "minimax-m2": "fp8", "gpt-oss-120b": "mxfp4", "devstral-2-123b": "fp8-tensor",
        "llama-2-70b": "fp16", "olmo-2-7b": "fp32", "glm-5": "bf16",
    }  # fmt: skip
    assert {word: CATALOG.model(word).weight_format for word in formats} == formats


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
    assert all(
        rule in layer_kinds.basis(kind) for rule in kind.rules.values() if not rule.isidentifier()
    )
