"""Parameter counts against the collected reference of 161 models, which never ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from test_counts import config_of

from planner.importers.counts import Counts, count

# What the reference has beside the shape: keys that it left out of a configuration, and why.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "deepseek-ai/DeepSeek-V2-Lite": {"q_lora_rank": None},  # null in the file, and no default
    "moonshotai/Moonlight-16B-A3B-Instruct": {"q_lora_rank": None},
    "microsoft/Phi-3.5-MoE-instruct": {"lm_head_bias": True},  # published so; its total has it
}
# Embedding checkpoints are stored without the head that their configuration describes.
NO_HEAD = {"Qwen/Qwen3-Embedding-8B"}
# The pattern of layers stands in the published file and not in the entry.
ONLY_IN_FILE = {
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
}  # fmt: skip
EXACT = ("hub_total_matched", "two_methods_agree")
OLD_NAMES = {
    "embedding": ("embed",), "attention": ("attn",), "shared": ("shared", "shared_experts"),
    "state": ("ssm",), "other": ("other", "ssm_or_attn"),
}  # fmt: skip


def reference(shared: Path) -> list[dict[str, Any]]:
    return [
        yaml.safe_load(path.read_text("utf-8"))
        for path in sorted((shared / "data/models").glob("*.yaml"))
    ]


def nested(entry: dict[str, Any]) -> dict[str, Any]:
    """The flattened configuration of an entry as it is published: towers in their sections."""
    flat = dict(entry["config"]) | LEFT_OUT.get(entry["hf_id"], {})
    text_type, tower = flat.pop("text_model_type", None), flat.pop("vision_config", None)
    if text_type is None and tower is None:
        return flat
    outer = {key: flat.pop(key) for key in ("model_type", "architectures")}
    text = flat | ({"model_type": text_type} if text_type else {})
    return outer | {"text_config": text} | ({"vision_config": tower} if tower else {})


def sources(entry: dict[str, Any], shared: Path) -> list[dict[str, Any]]:
    """The configuration of an entry, and the published file it came from where that is kept."""
    file = entry["config_source"].get("file")
    kept = [json.loads((shared / "data" / file).read_text("utf-8"))] if file else []
    return kept if entry["hf_id"] in ONLY_IN_FILE else [nested(entry), *kept]


def differences(entry: dict[str, Any], data: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Figures that are not those of the reference: computed, and as the reference has them."""
    params, old = entry["params"], entry["params"]["components"]
    counts = count(config_of(data))
    if entry["hf_id"] in NO_HEAD:
        counts = counts.without_head()
    expected: dict[str, Any] = {
        name: sum(old.get(part, 0) for part in OLD_NAMES.get(name, (name,)))
        for name in Counts.COMPONENTS
    }
    expected |= {"vision": params.get("vision_audio", 0), "total": params["total"]}
    computed: dict[str, Any] = counts.parts() | {"total": counts.total}
    if "mtp" in params:
        expected["mtp"], computed["mtp"] = params["mtp"], counts.mtp
    return {
        name: (computed[name], value) for name, value in expected.items() if computed[name] != value
    }


def line(entry: dict[str, Any]) -> str:
    """The head of a row of the table that these tests print (pytest -rP shows it)."""
    return f"{entry['hf_id']:50} {entry['params']['total']:>17,}"


def test_all_verified_models_agree_exactly(shared: Path) -> None:
    """111 hub totals and 28 double counts: totals, MTP and every component that is given."""
    wrong, seen = {}, 0
    for entry in reference(shared):
        if entry["verification"]["level"] in EXACT:
            seen += 1
            found = [differences(entry, data) for data in sources(entry, shared)]
            print(line(entry), found if any(found) else "=")
            if any(found):
                wrong[entry["hf_id"]] = found
    assert wrong == {} and seen == 139


# Components of the rest, where the reference is counted once and not by the rules of its others.
KNOWN = {
    # A sum that leaves out the corrections of routers, and mixers of both kinds under one name.
    "inclusionAI/Ling-3.0-flash": {"attention", "router", "norm", "state", "other"},
    "upstage/Solar-Open-100B": {"router"},
    # The norm of the query latent under attention.
    "stepfun-ai/step3": {"attention", "norm"},
    # Without the head that its configuration describes; indexers under attention and norm.
    "mistralai/Mistral-Large-4-1T-A52B": {"lm_head", "attention", "norm", "indexer", "total"},
    # Text only, without attention over residuals; the norm of the latent under shared.
    "moonshotai/Kimi-K3": {"shared", "norm", "other", "vision", "total"},
    # Counted with 128815 words, configured with 128896; without the corrections of routers.
    "stepfun-ai/Step-3.7-Flash": {"embedding", "lm_head", "router", "total"},
}


def test_other_models_agree_or_the_reason_is_known(shared: Path) -> None:
    found = {}
    for entry in reference(shared):
        if entry["verification"]["level"] not in EXACT:
            differing = differences(entry, sources(entry, shared)[-1])
            print(line(entry), differing or "=")
            if differing:
                found[entry["hf_id"]] = set(differing)
    assert found == KNOWN


def test_modules_that_the_reference_does_not_count(shared: Path) -> None:
    """Ling's hub total is its text and, to the last element, the module that we compute."""
    entry = next(e for e in reference(shared) if e["hf_id"] == "inclusionAI/Ling-3.0-flash")
    counts = count(config_of(sources(entry, shared)[0]))
    assert counts.mtp is not None
    assert counts.total + counts.mtp == entry["verification"]["hub_total"]
