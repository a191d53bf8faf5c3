"""How checkpoints store their weights: methods, exclusions, the KV cache, own formats, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.hf import text_of

from planner.catalog import Catalog
from planner.errors import InputError
from planner.figures import read_record
from planner.importers.hf_config import HfConfig, parse_config
from planner.importers.hf_formats import choose
from planner.importers.hf_quant import Quantization, quantization
from planner.records import Format
from planner.yamlfile import parse

DENSE = {"attention": 100, "mlp": 300, "lm_head": 40, "embedding": 40, "norm": 2}
ROUTED = {"attention": 100, "shared": 50, "experts": 4000, "lm_head": 40, "router": 8}


def config_with(section: dict[str, Any], **keys: Any) -> HfConfig:
    return parse_config(text_of("qwen3_moe", num_experts=8, quantization_config=section, **keys))


def read(section: dict[str, Any], parts: dict[str, int], **keys: Any) -> Quantization:
    return quantization(config_with(section, **keys), parts, "bf16")


def weights(bits: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"weights": {"num_bits": bits, "type": kind} | more, "targets": ["Linear"]}


def compressed(group: dict[str, Any], ignore: list[str] | None = None) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": group},
        "ignore": ignore or ["lm_head"],
    }


BLOCK = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
NVFP4 = weights(4, "float", group_size=16)


@pytest.mark.parametrize(
    ("section", "words", "format_id"),
    [
        (BLOCK, "fp8-block fp8-block bf16", "fp8"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8 fp8 bf16", "fp8-tensor"),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]},
         "fp8 fp8 bf16", "fp8-tensor"),
        (AWQ, "int4-g128 int4-g128 bf16", "int4"),
        (AWQ | {"group_size": 32}, "int4-g32 int4-g32 bf16", "int4-g32"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True},
         "int4-g128 int4-g128 bf16", "int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8 int8 bf16", "int8"),
        (compressed(weights(8, "float", strategy="channel")), "fp8 fp8 bf16", "fp8-tensor"),
        (compressed(weights(8, "float", strategy="block", block_structure=[128, 128])),
         "fp8-block fp8-block bf16", "fp8"),
        (compressed(weights(8, "int", strategy="channel")), "int8 int8 bf16", "int8"),
        (compressed(weights(4, "int", strategy="group", group_size=128)),
         "int4-g128 int4-g128 bf16", "int4"),
        (compressed(NVFP4), "nvfp4 nvfp4 bf16", "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]},
         "nvfp4 nvfp4 bf16", "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8 fp8 bf16", "fp8-tensor"),
        ({"quantization": {"quant_algo": "FP8_PB_WO"}}, "fp8-block fp8-block bf16", "fp8"),
    ],
)  # fmt: skip
def test_methods(section: dict[str, Any], words: str, format_id: str) -> None:
    found = read(section, DENSE)
    assert " ".join(found.stored[name] for name in ("attention", "mlp", "lm_head")) == words
    assert found.place == "quantization_config" and not found.notes
    chosen = choose(found, DENSE, "bf16", ("m", "M"))
    assert (chosen.id, chosen.text) == (format_id, "")
    assert Catalog.open().weight_format(format_id).weight is not None


@pytest.mark.parametrize(
    ("section", "keys", "words", "format_id"),
    [
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}, {},
         "bf16 bf16 mxfp4 bf16", ""),
        (BLOCK, {"expert_dtype": "fp4"}, "fp8-block fp8-block mxfp4 bf16", "fp8-mxfp4-experts"),
        (compressed(weights(4, "int", strategy="group", group_size=32),
                    ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                     "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]), {},
         "bf16 bf16 int4-g32 bf16", "int4-g32-experts"),
        (BLOCK | {"modules_to_not_convert": ["gate", "lm_head"]}, {},
         "fp8-block fp8-block fp8-block bf16", "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4",
          "exclude_modules": ["lm_head", "*self_attn*", "*.mlp.gate"]}, {},
         "bf16 nvfp4 nvfp4 bf16", "own"),
        (AWQ | {"modules_to_not_convert": ["self_attn", "mlp.shared_expert", "mlp.gate"]}, {},
         "bf16 bf16 int4-g128 bf16", "own"),
    ],
)  # fmt: skip
def test_what_is_left_out(
    section: dict[str, Any], keys: dict[str, Any], words: str, format_id: str
) -> None:
    found = read(section, ROUTED, **keys)
    parts = ("attention", "shared", "experts", "lm_head")
    assert " ".join(found.stored[name] for name in parts) == words
    chosen = choose(found, ROUTED, "bf16", ("m", "M"))
    assert chosen.id == {"": "mxfp4", "own": "m-weights"}.get(format_id, format_id)


def test_targets_by_name_and_the_output_head() -> None:
    """As ModelOpt writes mixed checkpoints: lists of names, in two groups."""
    attention = [
        f"model.language_model.layers.{i}.self_attn.{name}_proj" for i in range(8) for name in "qko"
    ]
    networks = [f"model.language_model.layers.{i}.mlp.{n}_proj" for i in range(8)
                for n in ("gate", "up", "down")]  # fmt: skip
    section = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "config_groups": {
            "group_0": weights(8, "float") | {"targets": attention},
            "group_1": NVFP4 | {"targets": [*networks, "lm_head"]},
        },
        "kv_cache_scheme": {"num_bits": 8, "type": "float"},
    }
    found = read(section, DENSE)
    assert found.stored == {"attention": "fp8", "mlp": "nvfp4", "lm_head": "nvfp4"}
    assert (found.kv_format, found.notes) == ("fp8", ())
    listed = {name: {"quant_algo": "NVFP4"} for name in networks}
    section = {"quant_method": "modelopt", "quantized_layers": listed}
    assert read(section, DENSE).stored["mlp"] == "nvfp4"
    assert read(section, DENSE).stored["attention"] == "bf16"


def test_own_format_has_exact_bytes() -> None:
    found = Quantization("x", {"attention": "fp8", "mlp": "nvfp4", "lm_head": "nvfp4"})
    chosen = choose(found, DENSE, "bf16", ("my-model", "My Model"))
    assert chosen.kept == ("embedding", "norm")
    record = read_record(parse(chosen.text, "f.yaml"), Format)
    assert record.weight is not None and record.id == chosen.id == "my-model-weights"
    assert record.weight.linear.value == (100 * 1 + 300 * 0.5625) / 400
    assert record.weight.kept.value == (40 * 2 + 40 * 0.5625 + 2 * 2) / 82
    assert record.weight.linear.note == "attention fp8, mlp nvfp4"
    assert record.weight.compute_dtype == "fp4"
    widths = yaml.safe_load(chosen.text)["weight"]
    assert widths["expert"] == widths["linear"]


def test_layers_that_are_left_out_in_part_are_told() -> None:
    ignore = [f"model.layers.{i}.self_attn.{n}_proj" for i in range(2) for n in "qkvo"]
    found = read(compressed(weights(8, "float"), ["lm_head", *ignore]), DENSE)
    assert found.stored["attention"] == "fp8"
    assert found.notes == (
        "attention: not all matrices are alike (bf16 6, fp8 18); the most frequent counts",
    )


def test_no_section_is_no_quantisation() -> None:
    config = parse_config(text_of("llama"))
    found = quantization(config, DENSE, "bf16")
    assert (found.method, set(found.stored.values())) == ("", {"bf16"})
    for wide in ("bf16", "fp16", "fp32"):
        found = quantization(config, DENSE, wide)
        assert choose(found, DENSE, wide, ("m", "M")).id == wide
        assert Catalog.open().weight_format(wide).weight is not None


@pytest.mark.parametrize(
    ("inner", "kv"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_quant_algo": None}, ""),
        ({"kv_cache_scheme": None}, ""),
    ],
)
def test_hint_for_the_kv_cache(inner: dict[str, Any], kv: str) -> None:
    section = {"quant_method": "modelopt", "quant_algo": "FP8"} | inner
    assert read(section, DENSE).kv_format == kv


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True},
            "quantization_config.quant_method: expected one of fp8, fbgemm_fp8, mxfp4, awq, gptq, "
            "compressed-tensors, modelopt, modelopt_fp4, modelopt_mixed, found 'bitsandbytes' | "
            "the section holds load_in_4bit, quant_method",
        ),
        (
            {"bits": 4},
            "quantization_config.quant_method: expected one of fp8, fbgemm_fp8, mxfp4, awq, gptq, "
            "compressed-tensors, modelopt, modelopt_fp4, modelopt_mixed, found no such key | "
            "the section holds bits",
        ),
        (
            BLOCK | {"weight_block_size": [64, 64]},
            "quantization_config.weight_block_size: expected [128, 128] or nothing, "
            "found [64, 64] | ",
        ),
        (
            AWQ | {"bits": 3},
            "quantization_config.bits: expected 4, or 8 without groups, found 3, groups of 128 | ",
        ),
        (
            AWQ | {"group_size": 48},
            "quantization_config.group_size: expected 32, 64, 128, 256 or -1, found 48 | ",
        ),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"+:.*": {}}},
            "quantization_config.dynamic: expected expressions that leave modules out (-:), "
            "found '+:.*' | ",
        ),
        (
            {"quant_method": "compressed-tensors"},
            "quantization_config.config_groups: expected a mapping, found no such key | ",
        ),
        (
            compressed(weights(6, "float")),
            "quantization_config.config_groups.group_0.weights.num_bits: expected weights of 4 or "
            "8 bits in a known layout, found 6 bits, type float, strategy None, groups of None | ",
        ),
        (
            compressed(weights(8, "float"), ["re:(a+)+$"]),
            "quantization_config.ignore: expected short expressions without repeated groups, "
            "found '(a+)+$' | ",
        ),
        (
            compressed(weights(8, "float"), ["re:["]),
            "quantization_config.ignore: expected a regular expression, found '[' "
            "(unterminated character set at position 0) | ",
        ),
        (
            {"quant_method": "modelopt", "quant_algo": "W9"},
            "quantization_config.quant_algo: expected one of FP8, FP8_PER_CHANNEL_PER_TOKEN, "
            "FP8_PB_WO, NVFP4, NVFP4_AWQ, W4A16_NVFP4, MXFP4, MXFP8, found 'W9' | ",
        ),
        (
            {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "INT8"},
            "quantization_config.kv_cache_quant_algo: expected FP8 or NVFP4, found 'INT8' | ",
        ),
    ],
)
def test_refusals(section: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(section, DENSE)
    (problem,) = caught.value.problems
    said = f"{problem.where}: expected {problem.expected}, found {problem.found} | {problem.hint}"
    assert said == message


def test_section_beside_the_configuration() -> None:
    beside = HfConfig(
        parse(json.dumps({"quantization": {"quant_algo": "FP8"}}), "hf_quant_config.json"),
        parse_config(text_of("llama")).family, [()], whole=False,
    )  # fmt: skip
    found = quantization(parse_config(text_of("llama")), DENSE, "bf16", beside)
    assert (found.method, found.place) == ("modelopt", "hf_quant_config.json")
