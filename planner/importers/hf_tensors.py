"""Tensors of a checkpoint by name: which component each belongs to, and what is stored in it.

Names come from files of others. They are matched, never followed and never run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

# Bits of one element, by the names that safetensors files give dtypes.
DTYPE_BITS: dict[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16,
    "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip

Role = Literal["weight", "packed", "scale", "buffer", "copy"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One stored tensor: name, dtype and shape as its file says."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of stored elements."""
        return prod(self.shape)

    @property
    def bits(self) -> int:
        """Bits of all its elements."""
        return self.elements * DTYPE_BITS[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of all its elements."""
        return -(-self.bits // 8)


# What a name says of the part that holds the tensor; the first pattern that fits decides.
_TOWER = re.compile(
    r"(^|\.)(vision_tower|vision_model|visual|vit|vision_encoder|vision_embedder|audio_tower"
    r"|embed_vision|embed_audio|multi_modal_projector|mm_projector|vision_adapter|patch_merger"
    r"|vision_language_adapter|pre_mm_projector_norm)(\.|$)"
)
_PARTS: tuple[tuple[str, str], ...] = (
    ("indexer", r"\.(indexer|compressor)\.|\.index_[qk]_(proj|norm)\."),
    ("other", r"embed_tokens_per_layer|per_layer_(model_)?projection\.|per_layer_input_gate"),
    ("other", r"altup|laurel|(^|\.)hc_|_hc(_|\.)|layer_scalar|_res_proj\.|\.pooler\."),
    ("lm_head", r"^(language_model\.)?(model\.)?(lm_head|proj_out|output|head)\."),
    ("embedding", r"embed_tokens\.|(word|position|token_type)_embeddings\.|^shared\."),
    ("embedding", r"(^|\.)(tok_embeddings|wte|embed|embeddings)\.weight$"),
    ("router", r"e_score_correction_bias|expert_bias|moe_statics|\.router\."),
    ("router", r"\.(mlp|ffn|mixer|moe|feed_forward|block_sparse_moe)\.gate\.(weight|bias|wg)"),
    ("norm", r"routed_expert_norm"),
    ("shared", r"\.shared_(experts?|mlp)(_gate)?\.|\.share_expert\."),
    ("shared", r"latent_proj\.|routed_expert_(up|down)_proj\."),
    ("experts", r"\.experts\.|\.moe\.(gate|up|down)_proj\.|\.block_sparse_moe\.input_linear"),
    ("state", r"\.(linear_attn|mamba|ssm|delta_attn)\.|\.conv\.(conv|in_proj|out_proj)\."),
    ("state", r"\.mixer\.(in_proj|out_proj|conv1d|x_proj|dt_proj|norm|A_log|D|dt_bias)"),
    ("norm", r"(norm\d*|[Ll]ayer_?[Nn]orm\w*|ln_\w+|norm_f)(\.|$)"),
    ("attention", r"\.(self_attn|attention|attn|cross_attn|encoder_attn)(\.|_)"),
    ("attention", r"\.(SelfAttention|EncDecAttention)\.|\.mixer\.[qkvo]_proj\."),
    ("mlp", r"\.(mlp|ffn|feed_forward|DenseReluDense|fc1|fc2)\.|\.mixer\.(up|down)_proj\."),
    ("mlp", r"\.(intermediate|output)\.dense\."),
)
_COMPONENTS = (("vision", _TOWER), *((part, re.compile(pattern)) for part, pattern in _PARTS))


# Numbers that decode stored weights, and buffers: neither is a parameter.
_SCALE = re.compile(
    r"(weight_scale(_inv|_2)?|weight_global_scale|input_(global_)?scale|output_scale"
    r"|activation_scale|[kvq]_scale|scales|_scale_inv|zeros|g_idx|weight_(zero_point|shape|g_idx))$"
)
_BUFFER = re.compile(
    r"(inv_freq|tid2eid|position_ids|std_(bias|scale)|(in|out)put_m(in|ax)|attn\.(masked_)?bias)$"
)
_PACKED = re.compile(r"(weight_packed|qweight|_blocks)$")
_LAYER = re.compile(r"(?:^|\.)layers\.(\d{1,4})\.")
_BESIDE = re.compile(r"^(model\.)?(mtp|mtp_layers|mtp_block)\.")
_COPY = re.compile(r"(^|\.)(embed_tokens|lm_head|emb\.tok_emb|shared_head\.head|head)\.")
_DELTA = re.compile(r"\.self_attn\.(A_log|q_conv1d|q_conv|conv1d)")
_BYTES, _WORDS = ("U8", "I8"), "I32"


@dataclass(frozen=True, slots=True)
class Naming:
    """What one name alone does not say.

    ``layers``: decoder layers of the model, behind which modules beside it begin. ``states``:
    layers whose ``self_attn`` is a state mixer. ``scales``: dtype of the scale of each weight that
    has one ("" where dtypes are not known).
    """

    layers: int
    states: frozenset[int]
    scales: Mapping[str, str]

    @classmethod
    def of(cls, dtypes: Mapping[str, str], layers: int) -> Naming:
        """The naming of a checkpoint with these tensors and a model with this many layers."""
        states, scales = set(), {}
        for name, dtype in dtypes.items():
            layer = _LAYER.search(name)
            if layer and _DELTA.search(name):
                states.add(int(layer[1]))
            weight = _weight_of(name)
            if weight in dtypes:
                scales[weight] = dtype
        return cls(layers, frozenset(states), scales)

    def component(self, name: str) -> str:
        """Component that a tensor belongs to; "mtp" for modules beside the model."""
        layer = _LAYER.search(name)
        index = int(layer[1]) if layer else -1
        if _BESIDE.search(name) or (index >= self.layers and not _TOWER.search(name)):
            return "mtp"
        if index in self.states and ".self_attn." in name:
            return "state"
        return next((part for part, pattern in _COMPONENTS if pattern.search(name)), "other")

    def role(self, tensor: Tensor) -> Role:
        """Whether a tensor holds weights, several in each element, a copy, or none at all."""
        name, dtype = tensor.name, tensor.dtype
        if _BUFFER.search(name):
            return "buffer"
        if _SCALE.search(name) or _weight_of(name) in self.scales:
            return "scale"
        if self.component(name) == "mtp" and _COPY.search(name):
            return "copy"
        scale = self.scales.get(name, "")
        halves = (dtype == "U8" and scale) or (dtype == "I8" and scale == "F8_E8M0")
        named = _PACKED.search(name) and dtype in (*_BYTES, _WORDS)
        return "packed" if halves or named else "weight"

    def weights(self, tensor: Tensor, bits: int) -> int:
        """Number of weights that a tensor holds; ``bits`` is the width of a packed one."""
        role = self.role(tensor)
        if role == "packed":
            return tensor.elements * (DTYPE_BITS[tensor.dtype] // bits)
        return tensor.elements if role == "weight" else 0


def _weight_of(name: str) -> str:
    """Name of the weight that a name ending in ``scale`` would belong to; "" for others."""
    if name.endswith(".weight_scale"):
        return name.removesuffix("_scale")
    return name.removesuffix("scale") + "weight" if name.endswith(".scale") else ""
