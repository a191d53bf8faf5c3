"""The importer over every collected configuration: the layer groups of each model's entry.

Two sorts of input: configuration files as published, and the shortened blocks that the collected
entries hold. Blocks leave out keys that the published file sets to null; those are put back.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.hf import summary, value

from planner.catalog import Catalog
from planner.errors import InputError
from planner.importers.counts import feed_forward
from planner.importers.counts_attention import Gqa
from planner.importers.counts_families import STACKS
from planner.importers.counts_parts import linear, on
from planner.importers.hf_config import parse_config
from planner.importers.hf_layers import layer_groups
from planner.importers.huggingface import import_model
from planner.places import marks

CATALOG = Catalog.open()
OUTER = ("model_type", "architectures", "vision_config", "quantization_config")
NULLS = ("q_lora_rank", "sliding_window", "head_dim")
# Files whose model has its entry under another name.
ENTRY_OF = {
    "google__gemma-4-26B-A4B": "google__gemma-4-26B-A4B-it",
    "meta-llama__Meta-Llama-3.1-405B": "meta-llama__Llama-3.1-405B",
    "nvidia__DeepSeek-V3.1-NVFP4": "deepseek-ai__DeepSeek-V3.1",
    "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-FP8": (
        "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-BF16"
    ),
    "nvidia__Qwen3.6-27B-NVFP4": "Qwen__Qwen3.6-27B",
    "nvidia__Qwen3.6-35B-A3B-NVFP4": "Qwen__Qwen3.6-35B-A3B",
}
# What does not agree, and why that is right.
REFUSED = {
    "nvidia__Llama-3_3-Nemotron-Super-49B-v1": (
        "block_configs: expected a value, found no such key",
        "the entry leaves the list of layers to the stored file, which agrees",
    ),
    "nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": (
        "hybrid_override_pattern: expected a value, found no such key",
        "the entry leaves the list of layers to the stored file, which agrees",
    ),
}
DIFFERS = {
    "inclusionAI__Ling-3.0-flash": "the entry derives no KV facts",
    "mistralai__Mistral-Large-4-1T-A52B": (
        "every fourth layer rotates nothing, so its projection gives a latent of 512, not 576"
    ),
}
NO_FORMAT = {
    "moonshotai__Kimi-K2.5": "the entry shortens quantization_config; the stored file is imported",
    "moonshotai__Kimi-K3": "the entry shortens quantization_config; the stored file is imported",
}


@dataclass(frozen=True)
class Sample:
    """A configuration, and the entry that it must agree with."""

    name: str
    text: str
    entry: dict[str, Any]
    published: bool


def nested(block: dict[str, Any]) -> dict[str, Any]:
    """A block as a configuration: the text tower in a section of its own where it is one."""
    flat = {key: None for key in NULLS} | {k: v for k, v in block.items() if v != "see file"}
    if "text_model_type" not in flat:
        return flat
    text = {k: v for k, v in flat.items() if k not in (*OUTER, "text_model_type")}
    if flat["text_model_type"] is not None:
        text["model_type"] = flat["text_model_type"]
    return {key: flat[key] for key in OUTER if key in flat} | {"text_config": text}


def samples(shared: Path) -> list[Sample]:
    entries = {
        path.stem: yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
        for path in sorted((shared / "data" / "models").glob("*.yaml"))
    }
    files = [
        Sample(
            path.stem, path.read_text("utf-8"), entries[ENTRY_OF.get(path.stem, path.stem)], True
        )
        for path in sorted((shared / "data" / "configs").glob("*.json"))
    ]
    blocks = [
        Sample(name, json.dumps(nested(entry["config"])), entry, False)
        for name, entry in entries.items()
    ]
    return [*files, *blocks]


NAMES = {"dsa_indexer": "index_key", "compressor_state_fp32": "compressor_state"}


def expected(kv: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    """The entry's groups and states in the form of ``support.hf.summary``."""
    found = Counter[tuple[Any, ...]]()
    for group in kv["groups"] or ():
        kind, layers = NAMES.get(group["kind"], group["kind"]), group["layers"]
        if kind == "kv_shared":
            continue
        window, ratio = group.get("window", 0), group.get("ratio", 1)
        if kind in ("compressed_mla", "sliding_window_mla"):
            # 448 elements in FP8, 64 in BF16 and 8 bytes of scales are a vector of 512.
            packed = group.get("bytes_per_stored_state_fp8", group.get("bytes_per_token_fp8"))
            size = (packed - 8 - 64 * 2 + 64) * 2
        else:
            size = group.get("bytes_per_token_per_layer_bf16", 0)
            size = size or 4 * group.get("elements_per_token", 0)
        found[kind, size, window, ratio] += layers
        if "indexer_bytes_per_stored_state" in group:
            size = group["indexer_bytes_per_stored_state"]
            found["compressed_index_key", size, 0, ratio] += layers
    for one in kv["states"] or ():
        found[one["kind"], one["bytes_per_layer"]] += one["layers"]
    return found


def outcome(sample: Sample) -> tuple[str, str]:
    """``agrees``, ``refused`` or ``differs``, and what there is to say."""
    try:
        found = summary(parse_config(sample.text, sample.name))
    except InputError as error:
        problem = error.problems[0]
        return "refused", f"{problem.where}: expected {problem.expected}, found {problem.found}"
    wanted = expected(sample.entry["kv"])
    if found == wanted:
        return "agrees", ""
    return "differs", f"ours {dict(found - wanted)}, the entry {dict(wanted - found)}"


def test_layer_groups_of_every_collected_configuration(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, tally = [], Counter[tuple[str, bool]]()
    for sample in samples(shared):
        kind, text = outcome(sample)
        tally[kind, sample.published] += 1
        if kind != "agrees":
            rows.append((sample.name, sample.published, kind, text))
    with capsys.disabled():
        print("\nlayer groups    files  blocks")
        for kind in ("agrees", "refused", "differs"):
            print(f"  {kind:<12} {tally[kind, True]:>6} {tally[kind, False]:>7}")
        for name, published, kind, text in rows:
            print(f"  {kind} {name} ({'file' if published else 'block'}): {text}")
    assert sum(tally.values()) >= 220
    blocks = [row for row in rows if not row[1]]
    assert [row for row in rows if row[1]] == []  # every published file agrees
    assert {r[0]: r[3] for r in blocks if r[2] == "refused"} == {
        name: message for name, (message, _) in REFUSED.items()
    }
    assert {r[0] for r in blocks if r[2] == "differs"} == set(DIFFERS)


def test_key_and_value_projections_by_a_second_route(shared: Path) -> None:
    """The rules of layer kinds give what the counting blocks give, layer by layer."""
    compared = set()
    for sample in samples(shared):
        config = parse_config(sample.text, sample.name)
        stack = STACKS.get(config.model_type)
        block = stack.layer[0] if stack else None
        if not isinstance(block, Gqa) or sample.name in REFUSED:
            continue
        hidden, total = config.whole("hidden_size"), 0
        for layer in range(config.whole("num_hidden_layers")):
            heads = block.heads(config, layer)
            total += linear(hidden, heads.keys + heads.values, on(config, block.bias))
        found = sum(
            (group.layers - group.shared) * value(group, "kv_params", hidden)
            for group in layer_groups(config)
        )
        assert found == total, sample.name
        compared.add(config.model_type)
    assert len(compared) >= 30


def test_every_collected_configuration_becomes_an_entry(shared: Path, tmp_path: Path) -> None:
    refused = set()
    for sample in samples(shared):
        path = tmp_path / f"{sample.name.lower()}.json"
        path.write_text(sample.text, encoding="utf-8")
        try:
            import_model(path)
        except InputError:
            refused.add((sample.name, sample.published))
    assert refused == {(name, False) for name in (*REFUSED, *NO_FORMAT)}


def test_places_of_every_layer_are_those_of_the_catalog(shared: Path) -> None:
    """Layer groups, experts and dense networks: what files say of each layer, entries say too."""
    known = {CATALOG.model(word).hf_id: word for word in CATALOG.ids("model")}
    compared = set()
    for sample in samples(shared):
        word = known.get(sample.entry["hf_id"], "")
        if not word or (sample.name in REFUSED and not sample.published) or sample.name in DIFFERS:
            continue
        config = parse_config(sample.text, sample.name)
        ours = {(g.kind, str(g.facts["group_places"].value)) for g in CATALOG.groups(word)}
        theirs = layer_groups(config)
        layers = int(CATALOG.facts("model", word)["layers"].value or 0)
        assert {(g.kind, marks(g.indices, layers)) for g in theirs} == ours, word
        found = feed_forward(config)
        facts = CATALOG.facts("model", word)
        if found is not None and facts["experts"].value:
            for layers_of, name in zip(found, ("moe_places", "dense_places"), strict=True):
                assert marks(layers_of, layers) == facts[name].value, (word, name)
        compared.add(word)
    collected = {sample.entry["hf_id"] for sample in samples(shared)} & known.keys()
    assert len(compared) > 0.9 * len(collected)
