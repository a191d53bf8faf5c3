"""Headers of safetensors files: what they hold by component, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest
from oracle_params import TENSORS_OF
from support.safetensors import Shapes, header
from test_counts import SMALL_DEEPSEEK, config_of, published

from planner.importers.counts import Counts, count
from planner.importers.hf_files import (
    INDEX,
    Census,
    Share,
    census,
    compare,
    read_folder,
    read_header,
)
from planner.importers.hf_tensors import Naming, Tensor


def one_file(folder: Path, shapes: Shapes, dtypes: Mapping[str, str] | str = "BF16") -> None:
    (folder / "model.safetensors").write_bytes(header(shapes, dtypes))


def held(folder: Path, layers: int, packed_bits: int = 4) -> Census:
    checkpoint = read_folder(folder)
    assert checkpoint is not None and checkpoint.complete
    return census(checkpoint, layers, packed_bits)


# ---- whole checkpoints ------------------------------------------------------------------------

WHOLE = [
    "llama-3.1-8b", "qwen2.5-7b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "gemma-2-9b",
    "gemma-3-1b", "deepseek-v2-lite", "deepseek-v3.2", "nemotron-nano-9b", "nemotron-3-nano",
    "qwen3-next-80b",
]  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_names_tell_the_components_that_the_shape_gives(tmp_path: Path, name: str) -> None:
    """The tensors of the second route, written as a file and read by their names alone."""
    data = published(name)
    if "hybrid_override_pattern" not in data:
        data["num_hidden_layers"] = min(8, data["num_hidden_layers"])
    counts, shapes = count(config_of(data)), TENSORS_OF[data["model_type"]](data)
    one_file(tmp_path, shapes)
    found = held(tmp_path, data["num_hidden_layers"])
    assert {name: found.params(name) for name in Counts.COMPONENTS} == counts.parts()
    assert found.params("mtp") == counts.mtp
    assert found.elements == sum(prod(shape) for shape in shapes.values())
    assert found.bytes == 2 * found.elements and found.buffers == 0
    assert found.copies == found.elements - counts.total - (counts.mtp or 0)
    assert [d for d in compare(counts, found) if d.reason == "not explained"] == []


def test_copies_of_embedding_and_head_are_told_apart(tmp_path: Path) -> None:
    data = SMALL_DEEPSEEK
    counts = count(config_of(data))
    one_file(tmp_path, TENSORS_OF["deepseek_v3"](data))
    found = held(tmp_path, data["num_hidden_layers"])
    assert found.copies == 2 * 2 * data["vocab_size"] * data["hidden_size"]
    (difference,) = compare(counts, found)
    assert (difference.what, difference.stored) == ("copies", found.copies)
    assert "once more" in difference.reason


def test_a_tied_head_that_is_stored_again(tmp_path: Path) -> None:
    data = published("qwen3-0.6b")
    shapes = TENSORS_OF["qwen3"](data | {"tie_word_embeddings": False})
    one_file(tmp_path, shapes)
    (difference,) = compare(count(config_of(data)), held(tmp_path, 28))
    assert difference.reason == "the tied head is stored a second time"
    assert (difference.computed, difference.stored) == (0, 155_582_464)


def test_a_head_and_modules_that_are_not_stored(tmp_path: Path) -> None:
    data = published("qwen3-next-80b") | {"num_hidden_layers": 4}
    shapes = TENSORS_OF["qwen3_next"](data)
    one_file(tmp_path, {n: s for n, s in shapes.items() if not n.startswith(("mtp.", "lm_head"))})
    reasons = {d.what: d.reason for d in compare(count(config_of(data)), held(tmp_path, 4))}
    assert set(reasons) == {"mtp", "lm_head"}
    assert "not in these files" in reasons["mtp"] and "no head is stored" in reasons["lm_head"]


def test_what_nothing_explains_says_so(tmp_path: Path) -> None:
    data = published("llama-3.1-8b")
    shapes = TENSORS_OF["llama"](data) | {"model.layers.3.mlp.fourth_proj.weight": (7, 11)}
    one_file(tmp_path, shapes)
    (difference,) = compare(count(config_of(data)), held(tmp_path, 32))
    assert (difference.what, difference.reason) == ("mlp", "not explained")
    assert difference.stored - (difference.computed or 0) == 77


# ---- quantised tensors ------------------------------------------------------------------------

EXPERT = "model.layers.0.mlp.experts.0.up_proj"


@pytest.mark.parametrize(
    ("tensors", "params", "weight_bytes", "scale_bytes"),
    [
        pytest.param(
            {"weight": ("F8_E4M3", (256, 512)), "weight_scale_inv": ("F32", (2, 4))},
            256 * 512, 256 * 512, 4 * 8, id="fp8 block",
        ),
        pytest.param(
            {"weight": ("U8", (256, 256)), "weight_scale": ("F8_E4M3", (256, 32)),
             "weight_scale_2": ("F32", ()), "input_scale": ("F32", ())},
            256 * 512, 256 * 256, 256 * 32 + 8, id="nvfp4",
        ),
        pytest.param(
            {"weight_packed": ("U8", (256, 256)), "weight_scale": ("U8", (256, 16))},
            256 * 512, 256 * 256, 256 * 16, id="mxfp4 of compressed-tensors",
        ),
        pytest.param(
            {"weight_packed": ("I32", (256, 64)), "weight_scale": ("BF16", (256, 4)),
             "weight_shape": ("I64", (2,))},
            256 * 512, 256 * 256, 2 * 256 * 4 + 16, id="int4 of compressed-tensors",
        ),
        pytest.param(
            {"qweight": ("I32", (64, 256)), "qzeros": ("I32", (4, 32)), "scales": ("F16", (4, 256)),
             "g_idx": ("I32", (512,))},
            512 * 256, 4 * 64 * 256, 4 * 128 + 2 * 1024 + 4 * 512, id="int4 of gptq",
        ),
        pytest.param(
            {"weight": ("I8", (256, 256)), "scale": ("F8_E8M0", (256, 16))},
            256 * 512, 256 * 256, 256 * 16, id="fp4 in bytes",
        ),
        pytest.param(
            {"weight": ("I8", (256, 512)), "weight_scale": ("BF16", (256, 1))},
            256 * 512, 256 * 512, 2 * 256, id="int8",
        ),
    ],
)  # fmt: skip
def test_packed_weights_and_scales(
    tmp_path: Path,
    tensors: dict[str, tuple[str, tuple[int, ...]]],
    params: int,
    weight_bytes: int,
    scale_bytes: int,
) -> None:
    shapes = {f"{EXPERT}.{name}": shape for name, (_, shape) in tensors.items()}
    one_file(tmp_path, shapes, {f"{EXPERT}.{name}": dtype for name, (dtype, _) in tensors.items()})
    found = held(tmp_path, 1)
    assert found.shares == {"experts": Share(params, weight_bytes, scale_bytes)}
    assert found.bytes == weight_bytes + scale_bytes


def test_eight_bit_weights_in_words(tmp_path: Path) -> None:
    one_file(tmp_path, {"model.layers.0.mlp.up_proj.qweight": (128, 256)}, "I32")
    assert held(tmp_path, 1, packed_bits=8).params("mlp") == 4 * 128 * 256


def test_blocks_of_gpt_oss(tmp_path: Path) -> None:
    """Two weights a byte in blocks of 32 with one byte of scale: 4.25 bits each."""
    name = "model.layers.0.mlp.experts.gate_up_proj"
    shapes = {f"{name}_blocks": (4, 60, 90, 16), f"{name}_scales": (4, 60, 90)}
    one_file(tmp_path, shapes | {f"{name}_bias": (4, 60)}, {
        f"{name}_blocks": "U8", f"{name}_scales": "U8", f"{name}_bias": "BF16",
    })  # fmt: skip
    share = held(tmp_path, 1).shares["experts"]
    assert share.params == 4 * 60 * 90 * 32 + 4 * 60
    assert (share.weight_bytes - 480 + share.scale_bytes) * 8 == 4.25 * 4 * 60 * 90 * 32


def test_buffers_are_no_parameters(tmp_path: Path) -> None:
    """Llama 2 keeps rotary frequencies: 64 for each layer, which hubs count."""
    names = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": (64,) for i in range(2)}
    one_file(tmp_path, names, "F32")
    found = held(tmp_path, 2)
    assert (found.elements, found.buffers, found.bytes, found.shares) == (128, 128, 512, {})


def test_scales_that_are_weights_stay_weights(tmp_path: Path) -> None:
    """Gemma 4 scales its router: no quantised weight stands beside it."""
    layer = "model.language_model.layers.0"
    shapes = {f"{layer}.router.scale": (16,), f"{layer}.router.per_expert_scale": (4,)}
    one_file(tmp_path, shapes)
    assert held(tmp_path, 1).params("router") == 20


def test_differences_add_up_to_what_hubs_count(tmp_path: Path) -> None:
    """DeepSeek-V3 in FP8 blocks: modules, copies and scales, and nothing else."""
    data = SMALL_DEEPSEEK
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in TENSORS_OF["deepseek_v3"](data).items():
        shapes[name] = shape
        if name.endswith("proj.weight"):
            rows, columns = shape
            shapes[f"{name}_scale_inv"] = (-(-rows // 128), -(-columns // 128))
    one_file(tmp_path, shapes)
    found, counts = held(tmp_path, data["num_hidden_layers"]), count(config_of(data))
    differences = compare(counts, found)
    assert [d.what for d in differences] == ["copies", "scales"]
    assert counts.mtp is not None
    extra = sum(d.stored - (d.computed or 0) for d in differences)
    assert counts.total + counts.mtp + extra == found.elements


def test_packed_weights_explain_a_smaller_hub_total(tmp_path: Path) -> None:
    """A hub shows half of the experts of a model in packed FP4, and their scales beside them."""
    data = published("mixtral-8x7b") | {"num_hidden_layers": 1}
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, str] = {}
    for name, shape in TENSORS_OF["mixtral"](data).items():
        packed_name = ".experts." in name
        shapes[name] = (shape[0], shape[1] // 2) if packed_name else shape
        dtypes[name] = "U8" if packed_name else "BF16"
        if packed_name:
            shapes[f"{name}_scale"], dtypes[f"{name}_scale"] = (shape[0], shape[1] // 16), "F8_E4M3"
    one_file(tmp_path, shapes, dtypes)
    counts, found = count(config_of(data)), held(tmp_path, 1)
    assert found.packed == counts.experts // 2 and found.scales == counts.experts // 16
    extra = sum(d.stored - (d.computed or 0) for d in compare(counts, found))
    assert counts.total + extra == found.elements
    assert found.shares["experts"].weight_bytes * 2 == counts.experts


# ---- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("model.visual.blocks.3.attn.qkv.weight", "vision"),
        ("model.vision_tower.encoder.layers.30.mlp.fc1.weight", "vision"),
        ("multi_modal_projector.linear_1.weight", "vision"),
        ("model.embed_audio.embedding_projection.weight", "vision"),
        ("model.language_model.embed_tokens.weight", "embedding"),
        ("language_model.lm_head.weight", "lm_head"),
        ("embed.weight", "embedding"),
        ("head.weight", "lm_head"),
        ("output.weight", "lm_head"),
        ("layers.0.ffn.gate.bias", "router"),
        ("layers.0.ffn.experts.7.w1.weight", "experts"),
        ("layers.0.ffn.shared_experts.w1.weight", "shared"),
        ("layers.0.attn.wq_a.weight", "attention"),
        ("layers.0.attn.compressor.wkv.weight", "indexer"),
        ("layers.0.attn.indexer.wq_b.weight", "indexer"),
        ("layers.0.hc_attn_fn", "other"),
        ("mtp.0.attn.wq_a.weight", "mtp"),
        ("model.layers.4.eh_proj.weight", "mtp"),
        ("model.layers.3.self_attn.indexer.k_norm.bias", "indexer"),
        ("model.layers.1.linear_attn.norm.weight", "state"),
        ("model.layers.0.mamba.dt_layernorm.weight", "state"),
        ("model.layers.0.feed_forward.router.weight", "router"),
        ("model.layers.0.feed_forward.shared_expert.up_proj.weight", "shared"),
        ("model.layers.0.block_sparse_moe.router.layer.weight", "router"),
        ("model.layers.0.shared_mlp.input_linear.weight", "shared"),
        ("model.embed_tokens_per_layer.weight", "other"),
        ("model.layers.0.laurel.post_laurel_norm.weight", "other"),
        ("encoder.layer.0.attention.output.dense.weight", "attention"),
        ("encoder.layer.0.attention.output.LayerNorm.bias", "norm"),
        ("encoder.layer.0.output.dense.weight", "mlp"),
        ("embeddings.position_embeddings.weight", "embedding"),
        ("pooler.dense.weight", "other"),
        ("decoder.block.0.layer.1.EncDecAttention.q.weight", "attention"),
        ("decoder.block.0.layer.2.DenseReluDense.wi_0.weight", "mlp"),
        ("shared.weight", "embedding"),
        ("model.decoder.layers.0.encoder_attn_layer_norm.weight", "norm"),
        ("model.decoder.layers.0.encoder_attn.k_proj.weight", "attention"),
        ("model.decoder.layers.0.fc1.weight", "mlp"),
        ("model.encoder.conv1.weight", "other"),
        ("model.layers.0.self_attn.q_norm.weight", "norm"),
        ("model.norm.weight", "norm"),
    ],
)
def test_component_of_a_name(name: str, component: str) -> None:
    assert Naming.of({}, layers=4).component(name) == component


def test_delta_attention_under_the_name_of_attention() -> None:
    """Kimi-Linear calls both mixers self_attn; what stands beside the matrices tells them apart."""
    names = ["model.layers.0.self_attn.A_log", "model.layers.0.self_attn.q_proj.weight",
             "model.layers.1.self_attn.q_proj.weight"]  # fmt: skip
    naming = Naming.of(dict.fromkeys(names, "BF16"), 2)
    assert [naming.component(name) for name in names] == ["state", "state", "attention"]


# ---- folders ----------------------------------------------------------------------------------


def index(folder: Path, shards: Mapping[str, str], total: Any = 8) -> None:
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": shards})
    (folder / INDEX).write_text(text, "utf-8")


def test_a_folder_by_its_index(tmp_path: Path) -> None:
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    index(tmp_path, {"lm_head.weight": first, "model.norm.weight": second}, 16)
    (tmp_path / first).write_bytes(header({"lm_head.weight": (2, 2)}))
    partly = read_folder(tmp_path)
    assert partly is not None and not partly.complete
    assert partly.absent == (second,) and partly.total_bytes == 16
    assert [tensor.name for tensor in partly.tensors] == ["lm_head.weight"]
    (tmp_path / second).write_bytes(header({"model.norm.weight": (4,)}))
    whole = read_folder(tmp_path)
    assert whole is not None and whole.complete
    assert census(whole, 1).bytes == whole.total_bytes


def test_a_folder_without_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    assert read_folder(tmp_path) is None


def test_the_same_weights_once_more_are_passed_over(tmp_path: Path) -> None:
    one_file(tmp_path, {"model.norm.weight": (4,)})
    (tmp_path / "consolidated.safetensors").write_bytes(header({"norm.weight": (4,)}))
    found = read_folder(tmp_path)
    assert found is not None and found.names == ("model.norm.weight",)


def test_nothing_behind_a_header_is_read(tmp_path: Path) -> None:
    """A header alone is enough, and what follows it may be anything."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(header({"model.norm.weight": (4,)}) + b"\xff" * 3)
    assert read_header(path) == (Tensor("model.norm.weight", "BF16", (4,)),)
