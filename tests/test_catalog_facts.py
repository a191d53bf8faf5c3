"""From entries to the fields that formulas name: units, zeros, unknowns, origins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from planner import layer_kinds
from planner.catalog import Catalog
from planner.engine import Columns
from planner.facts import DEFAULTS, FACTS
from planner.metrics import MetricSet

CATALOG = Catalog.open()
METRICS = MetricSet.load()


def declared(repository: Path) -> dict[str, dict[str, Any]]:
    path = repository / "planner" / "metrics" / "fields.yaml"
    return dict(yaml.safe_load(path.read_text("utf-8"))["fields"])


@pytest.mark.parametrize("kind", FACTS)
def test_facts_are_the_declared_fields_in_their_units(kind: str, repository: Path) -> None:
    fields = {
        name: field.get("unit", "1")  # flags and choices have none
        for name, field in declared(repository).items()
        if field["entity"] == kind
    }
    assert {name: unit for name, (_, unit) in FACTS[kind].items()} == fields
    for word in CATALOG.ids(kind):
        assert {n: fact.unit for n, fact in CATALOG.facts(kind, word).items()} == fields


def test_group_facts_and_engine_defaults_are_declared_fields(repository: Path) -> None:
    fields = declared(repository)
    groups = {n: f.get("unit", "1") for n, f in fields.items() if f["entity"] == "group"}
    assert groups == layer_kinds.FIELDS
    assert {n: fields[n].get("unit", "1") for n in DEFAULTS} == {
        n: unit for n, (_, unit) in DEFAULTS.items()
    }
    for word in CATALOG.ids("model"):
        assert all(set(group.facts) == set(groups) for group in CATALOG.groups(word))


def test_facts_of_a_model() -> None:
    facts = CATALOG.facts("model", "qwen3-8b")
    assert facts["params_embedding"].value == 622_329_856
    assert facts["params_embedding"].source == ("counted",)
    assert facts["max_context"].value == 40_960
    assert facts["tied_embedding"].value is False
    assert facts["max_context"].span.text == "max_context: 40960 tokens"


def test_component_that_a_model_lacks_is_zero_because_the_sum_is_exact() -> None:
    facts = CATALOG.facts("model", "qwen3-8b")
    for name in ("params_experts", "params_state", "params_vision", "experts", "experts_per_token"):
        assert facts[name].value == 0
        assert facts[name].source == ("counted", "hub") and facts[name].note


def test_fact_that_nobody_published_is_unknown() -> None:
    facts = CATALOG.facts("gpu", "l4")
    assert facts["memory_framework"].value is None
    assert facts["peak_fp4"].value is None
    assert facts["memory_device"].value == 23_034 * 2**20


def test_facts_of_the_h100() -> None:
    facts = CATALOG.facts("gpu", "h100-sxm")
    assert facts["peak_bf16"].value == 989.5e12
    assert facts["memory_bandwidth"].value == 3.35e12
    assert facts["memory_marketed"].value == 80e9
    assert facts["max_domain"].value == 8
    assert round(989.5e12 / (2 * 3.35e12), 2) == 147.69


def test_derived_group_facts_say_how() -> None:
    (latent,) = CATALOG.groups("deepseek-v3")
    assert latent.facts["group_key_dim"].value == 576
    assert latent.facts["group_key_dim"].confidence == "derived"
    assert latent.facts["group_key_dim"].note == "kv_lora_rank + qk_rope_head_dim"
    assert latent.facts["group_q_heads"].value == 128
    assert "key dim = kv_lora_rank + qk_rope_head_dim" in latent.basis
    state = CATALOG.groups("qwen3-next-80b")[1].facts
    assert state["group_state_element_bytes"].source == ("engine",)


def test_formats_are_exact_in_binary() -> None:
    bytes_of = {
        word: CATALOG.facts("weight_format", word)["weight_expert_bytes"].value
        for word in CATALOG.ids("weight_format")
    }
    assert bytes_of == {
        "bf16": 2,
        "fp16": 2,
        "fp32": 4,
        "fp8": 1 + 4 / 128**2,
        "fp8-mxfp4-experts": 0.5 + 1 / 32,
        "fp8-tensor": 1,
        "int4": 0.5 + 2 / 128,
        "int4-g32": 0.5 + 2 / 32,
        "int4-g32-experts": 0.5 + 2 / 32,
        "int8": 1,
        "mxfp4": 0.5 + 1 / 32,
        "nvfp4": 0.5 + 1 / 16,
    }
    assert CATALOG.facts("weight_format", "mxfp4")["weight_linear_bytes"].value == 2


def head_bytes(word: str, key: int, value: int) -> float:
    """Bytes of one head and token in a KV format, as the metric says."""
    facts = {name: fact.value for name, fact in CATALOG.facts("kv_format", word).items()}
    given = {**facts, "group_key_dim": key, "group_value_dim": value, "group_scale_sets": 1}
    columns = Columns(METRICS, {name: np.asarray([number]) for name, number in given.items()})
    return float(columns["group_head_bytes"][0])


# Bytes of one token and KV head, K and V together, at head sizes 128, 64 and 256.
HEAD_BYTES = {
    "fp32": (1024, 512, 2048),
    "bf16": (512, 256, 1024),
    "fp16": (512, 256, 1024),
    "fp8": (256, 128, 512),
    "int8-per-token-head": (264, 136, 520),
    "fp8-per-token-head": (264, 136, 520),
    "int4-per-token-head": (136, 72, 264),
    "nvfp4": (144, 72, 288),
    "turboquant-k8v4": (196, 100, 388),
    "turboquant-4bit": (134, 70, 262),
    "turboquant-k3v4": (118, 62, 230),
    "turboquant-3bit": (102, 54, 198),
    "q8-0": (272, 136, 544),
    "q8-0-f16": (392, 196, 784),
    "q4-0": (144, 72, 288),
    "q4-1": (160, 80, 320),
    "q5-0": (176, 88, 352),
    "q5-1": (192, 96, 384),
    "int8": (256, 128, 512),
}
# Bytes of one packed latent of 512 + 64 elements.
LATENT_BYTES = {"fp8-ds-mla": 656, "nvfp4-ds-mla": 352, "ds-v4": 584, "ds-v4.1": 528}


@pytest.mark.parametrize("word", HEAD_BYTES)
def test_kv_formats(word: str) -> None:
    found = [head_bytes(word, size, size) for size in (128, 64, 256)]
    assert found == list(HEAD_BYTES[word])


@pytest.mark.parametrize("word", LATENT_BYTES)
def test_packed_latents(word: str) -> None:
    assert head_bytes(word, 576, 0) == LATENT_BYTES[word]


def test_every_kv_format_has_been_worked_out() -> None:
    assert set(CATALOG.ids("kv_format")) == {*HEAD_BYTES, *LATENT_BYTES}


def test_a_latent_without_a_packed_layout_is_stored_by_elements() -> None:
    assert head_bytes("bf16", 576, 0) == 1152
    assert head_bytes("fp8", 576, 0) == 576


def test_plain_engine_carries_marked_assumptions() -> None:
    assert CATALOG.facts("engine", "plain")["engine_memory_basis"].value == "framework"
    assert CATALOG.facts("engine", "plain")["engine_block_size"].value == 16
    defaults = CATALOG.defaults("plain")
    given = {name: fact for name, fact in defaults.items() if fact.value is not None}
    assert defaults.keys() - given.keys() == {"max_num_seqs"}
    assert {name: fact.value for name, fact in given.items()} == {
        "memory_utilization": 0.9,
        "overhead": 3 * 2**30,
        "reserve": 0,
        "hot_experts": 0.5,
        "hot_traffic": 0.5,
        "batched_tokens": 8192,
        "prefix_caching": True,
        "speculative_tokens": 0,
        "checkpoint_copies": 0,
    }
    assert all(fact.confidence == "assumed" and fact.note for fact in given.values())


@pytest.mark.parametrize(
    ("rule", "value"),
    [("a", 5), ("a - 1", 4), ("2 * a * b_c + a", 35), ("7", 7), ("a - 2 * b_c - 1", -2)],
)
def test_rules_are_sums_of_products(rule: str, value: float) -> None:
    assert layer_kinds.evaluate(rule, {"a": 5, "b_c": 3}) == value
