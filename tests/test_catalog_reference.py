"""Shipped models against the collected reference of 161 models, which never ships."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_catalog_data import CATALOG, of_group

from planner.facts import NO_DRAFT
from planner.records import Model

Kept = Counter[tuple[str, Fraction, int]]
INDEX = ("index_key", "dsa_indexer")
# No caches in the reference.
NOT_IN_REFERENCE = {"ling-3.0-flash"}
# Counted again: with the tower, with the head, with the vocabulary that the configurations name.
RECOUNTED = {"kimi-k3", "mistral-large-4", "step-3.7-flash"}


@cache
def read(folder: Path) -> dict[str, dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = [yaml.load(path.read_bytes(), Loader=loader) for path in sorted(folder.glob("*"))]
    return {CATALOG.model(entry["hf_id"]).id: entry for entry in entries}


@pytest.fixture
def reference(shared: Path) -> dict[str, dict[str, Any]]:
    return read(shared / "data" / "models")


def test_every_model_of_the_reference_is_there(reference: dict[str, dict[str, Any]]) -> None:
    assert len(reference) == 161
    for word, entry in reference.items():
        model = CATALOG.model(word)
        assert model.config_source.kind == entry["config_source"]["kind"], word
        assert model.verification.level == entry["verification"]["level"], word
        assert model.family == entry["family"], word


def test_totals_and_modules_are_those_of_the_reference(
    reference: dict[str, dict[str, Any]],
) -> None:
    differing = set()
    for word, entry in reference.items():
        params = CATALOG.model(word).params
        if params.total.value != entry["params"]["total"]:
            differing.add(word)
        if entry["params"].get("mtp"):
            assert params.mtp is not None and params.mtp.value == entry["params"]["mtp"], word
    assert differing == RECOUNTED


def ours(word: str) -> Kept:
    """Layers by what one keeps: kind, BF16 bytes per token (bytes of a state), window."""
    found: Kept = Counter()
    for group in CATALOG.groups(word):
        cached, kept = of_group(group)
        layers = int(float(group.facts["group_layers"].value or 0))
        owning = int(float(group.facts["group_cache_layers"].value or 0))
        window = int(float(group.facts["group_window"].value or 0))
        if group.kind == "encoder_only":
            continue
        kind = "index_key" if group.kind == "compressed_index_key" else group.kind
        found[kind, cached or Fraction(int(kept)), window] += owning
        found["kv_shared", Fraction(0), 0] += layers - owning
    return +found


def theirs(entry: dict[str, Any]) -> Kept:
    """The same of the reference, which gives DeepSeek-V4 in FP8: its vectors have 512 elements."""
    found: Kept = Counter()
    for group in entry["kv"]["groups"] or []:
        kind, layers, window = group["kind"], group["layers"], group.get("window", 0)
        if kind == "compressed_mla":
            found[kind, Fraction(1024, group["ratio"]), 0] += layers
            index = group.get("indexer_bytes_per_stored_state", 0)
            found["index_key", Fraction(index, group["ratio"]), 0] += layers if index else 0
        elif kind == "sliding_window_mla":
            found[kind, Fraction(1024), window] += layers
        elif kind == "compressor_state_fp32":
            found["compressor_state", Fraction(4 * group["elements_per_token"]), window] += layers
        else:
            size = Fraction(group["bytes_per_token_per_layer_bf16"])
            kind = "index_key" if kind in INDEX else kind
            found[kind, size, window or group.get("chunk", 0)] += layers
    for state in entry["kv"]["states"] or []:
        found[state["kind"], Fraction(state["bytes_per_layer"]), 0] += state["layers"]
    return +found


def test_every_layer_keeps_what_the_reference_says(reference: dict[str, dict[str, Any]]) -> None:
    wrong = {}
    for word, entry in reference.items():
        expected = theirs(entry)
        if word not in NOT_IN_REFERENCE and ours(word) != +expected:
            wrong[word] = (ours(word), expected)
    assert wrong == {}


# ---- what was recalled says so ----


def recalled() -> list[Model]:
    return [
        model
        for word in CATALOG.ids("model")
        if (model := CATALOG.model(word)).config_source.kind == "recalled"
    ]


def test_figures_of_recalled_configurations_say_so() -> None:
    """Every fact but what a kind does not have, and dtypes that engine or library settle."""
    settled = ((), ("engine",), ("transformers",))
    assert len(recalled()) == 118
    for model in recalled():
        for name, fact in CATALOG.facts("model", model.id).items():
            known = fact.value is not None and fact.note != NO_DRAFT
            assert not known or fact.confidence == "recalled", (model.id, name)
        for group in CATALOG.groups(model.id):
            for name, fact in group.facts.items():
                known = fact.value not in (None, 0) and fact.source not in settled
                assert not known or fact.confidence == "recalled", (model.id, name)


def test_figures_of_other_projects_are_third_party() -> None:
    secondary = [
        model
        for word in CATALOG.ids("model")
        if (model := CATALOG.model(word)).config_source.kind == "secondary"
    ]
    assert len(secondary) == 88
    assert {model.layers.confidence for model in secondary} == {"third party"}
