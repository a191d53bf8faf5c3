"""The schema of catalog entries: what a file must hold, in which units, from which sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictStr, model_validator

from planner import layer_kinds
from planner.errors import nearest, one_of
from planner.figures import (
    BlockRule,
    Budget,
    Bytes,
    Count,
    Dtype,
    Figure,
    Flag,
    MemoryBasis,
    Params,
    Part,
    Ratio,
    TokenLine,
    Tokens,
    Words,
    listed,
    refusal,
)
from planner.places import Places
from planner.records_base import Id, Images, Record, Source
from planner.records_gpu import Gpu
from planner.records_places import GroupPlaces, check_places
from planner.yamlfile import YamlFile

__all__ = [
    "Components",
    "ConfigSource",
    "Engine",
    "Entry",
    "Format",
    "Gpu",
    "Id",
    "LayerGroup",
    "Model",
    "Record",
    "Source",
    "Verification",
    "aliases",
]


class Components(Part):
    """Parameter counts by component; the ones given add up to ``total``, so absent ones are 0.

    ``indexer`` is what sparse attention adds, ``other`` what fits no component (named in a note).
    ``mtp`` is a module beside the model (multi-token prediction) and no part of ``total``.
    """

    ADDENDS: ClassVar[tuple[str, ...]] = (
        "embedding", "lm_head", "attention", "mlp", "shared", "experts", "router", "norm", "state",
        "vision", "indexer", "other",
    )  # fmt: skip

    total: Params
    embedding: Params
    lm_head: Params | None = None
    attention: Params | None = None
    mlp: Params | None = None
    shared: Params | None = None
    experts: Params | None = None
    router: Params | None = None
    norm: Params | None = None
    state: Params | None = None
    vision: Params | None = None
    indexer: Params | None = None
    other: Params | None = None
    mtp: Params | None = None

    @classmethod
    def hint_for(cls, key: str) -> tuple[str, str] | None:
        """Active parameters are no component: they follow from the experts that a token visits."""
        words = "memory holds every expert; what a token visits follows from experts_per_token"
        return ("a component that is stored", words) if "active" in key else None

    @model_validator(mode="after")
    def _adds_up(self) -> Components:
        given = [getattr(self, name) for name in self.ADDENDS]
        values = [figure.value for figure in given if figure is not None]
        if self.total.value is not None and None not in values and sum(values) != self.total.value:
            raise refusal(
                f"the sum of the components, {sum(values):.0f} params",
                f"{self.total.value:.0f} params", "", ("total",),
            )  # fmt: skip
        return self


class LayerGroup(GroupPlaces):
    """Equal layers: a kind and the published shape names of that kind (see ``layer_kinds``)."""

    label: StrictStr = ""
    q_heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    key_dim: Count | None = None
    value_dim: Count | None = None
    window: Tokens | None = None
    chunk: Tokens | None = None
    kv_lora_rank: Count | None = None
    qk_nope_head_dim: Count | None = None
    qk_rope_head_dim: Count | None = None
    index_topk: Tokens | None = None
    index_heads: Count | None = None
    index_head_dim: Count | None = None
    key_bytes: Bytes | None = None
    k_heads: Count | None = None
    v_heads: Count | None = None
    k_head_dim: Count | None = None
    v_head_dim: Count | None = None
    heads: Count | None = None
    groups: Count | None = None
    state_size: Count | None = None
    inner_size: Count | None = None
    channels: Count | None = None
    conv_kernel: Count | None = None
    conv_dtype: Dtype | None = None
    state_dtype: Dtype | None = None
    gate_rank: Count | None = None
    q_lora_rank: Count | None = None
    index_query_size: Count | None = None
    index_weights: Flag | None = None
    read_limit: Tokens | None = None
    tokens: Tokens | None = None
    tokens_per_state: Count | None = None
    elements: Count | None = None
    kv_bias: Flag | None = None
    v_projection: Flag | None = None
    scale_sets: Count | None = None
    shared_layers: Count | None = None
    block: Tokens | None = None

    @property
    def shape(self) -> dict[str, Figure]:
        """The shape names that are written, without ``kind``, ``layers``, ``places``, ``label``."""
        return {
            name: value
            for name in type(self).model_fields
            if name not in ("layers", "places") and isinstance(value := getattr(self, name), Figure)
        }

    @model_validator(mode="after")
    def _fits_kind(self) -> LayerGroup:
        kind = layer_kinds.KINDS.get(self.kind)
        if kind is None:
            raise refusal(
                one_of(layer_kinds.KINDS, 20), f"'{self.kind}'",
                nearest(self.kind, layer_kinds.KINDS), ("kind",),
            )  # fmt: skip
        given = set(self.shape)
        spread = {n for short in given for n in kind.stands_for.get(short, (short,))}
        missing = [n for n in kind.takes if n not in spread | {"q_heads"}]
        takes = one_of([*kind.takes, *kind.stands_for], 20)
        known = one_of([*kind.takes, *kind.stands_for, *kind.may_take], 20)
        foreign = sorted(spread - {*kind.takes, *kind.may_take, *layer_kinds.COMMON})
        if missing:
            raise refusal(f"'{missing[0]}' for {self.kind}", "no such key", takes)
        if foreign:
            raise refusal(known, f"'{foreign[0]}'", f"{self.kind} has none", (foreign[0],))
        return self


class ConfigSource(Part):
    """How the configuration was obtained, and from which source."""

    kind: Literal["full", "transcribed", "secondary", "recalled", "defaults"]
    source: StrictStr | None = None


class Verification(Part):
    """How far the parameter counts were checked, and against what."""

    level: Literal[
        "hub_total_matched", "two_methods_agree", "recalled_config_arithmetic_only", "single_method"
    ]
    source: StrictStr | None = None
    note: StrictStr = ""


class Model(Record):
    """A model as published."""

    hf_id: StrictStr | None = None
    family: StrictStr
    vendor: StrictStr
    licence: Words = Field(default_factory=Words)
    released: Words = Field(default_factory=Words)
    config_source: ConfigSource
    weight_format: Id
    layers: Count
    hidden_size: Count
    vocab_size: Count
    q_heads: Count
    max_context: Tokens
    rotary_width: Count | None = None
    deepstack_levels: Count | None = None
    images: Images | None = None
    experts: Count | None = None
    experts_per_token: Count | None = None
    moe_first: Count | None = None
    moe_period: Count | None = None
    moe_places: Places | None = None
    dense_places: Places | None = None
    tied_embedding: Flag
    params: Components
    layer_groups: Annotated[tuple[LayerGroup, ...], BeforeValidator(listed), Field(
        min_length=1, max_length=6
    )]  # fmt: skip
    verification: Verification

    @model_validator(mode="after")
    def _consistent(self) -> Model:
        routed = self.params.experts is not None
        for name in ("experts", "experts_per_token"):
            if routed and getattr(self, name) is None:
                raise refusal("a count, as params.experts is given", "no such key", "", (name,))
            if not routed and getattr(self, name) is not None:
                raise refusal("params.experts beside it", "a model without experts", "", (name,))
        if not routed and self.moe_places is not None:
            raise refusal("params.experts beside it", "no such key", "", ("moe_places",))
        if self.moe_first is not None and self.moe_places is not None:
            raise refusal("moe_places, or moe_first and moe_period", "both", "", ("moe_places",))
        lists = {"moe_places": self.moe_places, "dense_places": self.dense_places}
        if self.layers.value is not None:
            check_places(int(self.layers.value), self.layer_groups, lists)
        head = self.params.lm_head
        if self.tied_embedding.value and head is not None and head.value:
            raise refusal(
                "0 or no key, as the embedding is tied", f"{head.value:.0f} params", "",
                ("params", "lm_head"),
            )  # fmt: skip
        for part in ("config_source", "verification"):
            name = getattr(self, part).source
            if name is not None and name not in self.sources:
                raise refusal(
                    "the id of a source of this file", f"'{name}'", nearest(name, self.sources),
                    (part, "source"),
                )  # fmt: skip
        return self


class EngineDefaults(Part):
    """Assumptions that a scenario takes over when it says nothing else."""

    memory_utilization: Ratio | None = None
    overhead: Bytes | None = None
    reserve: Ratio
    hot_experts: Ratio
    hot_traffic: Ratio
    batched_tokens: Tokens | None = None
    max_num_seqs: Count | None = None
    prefix_caching: Flag | None = None
    speculative_tokens: Count | None = None
    checkpoint_copies: Count | None = None


class EngineStep(Part):
    """Tokens and requests of one step where nobody sets them, by the memory of the card."""

    tokens_small: Tokens
    tokens_middle: Tokens
    tokens_large: Tokens
    requests_small: Count
    requests_large: Count


class EngineTakes(Part):
    """What the engine takes of a GPU beside weights and KV, part by part."""

    logit: Bytes
    token_kept: Bytes
    token_working: Bytes
    keeps_workspace: Flag
    images: Bytes
    patch_kept: Bytes
    patch_split: Bytes
    runtime: Bytes
    collectives: Bytes
    fast_link: Bytes
    graph: Bytes


class EngineStatic(Part):
    """What stays outside the static share where nobody sets the share: SGLang's rule."""

    fixed: Bytes
    token: Bytes
    rank: Bytes
    floor: Bytes


class EngineSlots(Part):
    """How an engine that counts token slots divides its pool: windows, states, copies."""

    window_ratio: Ratio
    state_ratio: Ratio
    copies_plain: Count
    copies_cached: Count
    state_element: Bytes


class Engine(Record):
    """The parameters of one inference engine release that formulas read."""

    release: StrictStr | None = None
    memory_basis: MemoryBasis
    block_size: Tokens
    block_rule: BlockRule | None = None
    token_line: TokenLine | None = None
    budget: Budget | None = None
    latent_block: Tokens | None = None
    latent_state_block: Tokens | None = None
    batches_in_flight: Count | None = None
    batches_per_stage: Count | None = None
    null_block: Count | None = None
    step: EngineStep | None = None
    takes: EngineTakes | None = None
    static: EngineStatic | None = None
    slots: EngineSlots | None = None
    pads_experts: Flag | None = None
    defaults: EngineDefaults


class WeightFormat(Part):
    """Bytes of one stored weight, scales included.

    ``tiled``: kernels take experts of this format in whole tiles, so engines pad them.
    """

    linear: Bytes
    expert: Bytes
    kept: Bytes
    tiled: Flag | None = None
    compute_dtype: Literal["bf16", "fp8", "fp4", "int8"]


class KvFormat(Part):
    """How one KV head stores a token: bytes per element, scales, rounding, packed latents.

    ``element`` is short for a ``key`` and a ``value`` of the same width.
    """

    element: Bytes | None = None
    key: Bytes | None = None
    value: Bytes | None = None
    head_scales: Bytes
    round: Bytes | None = None
    align: Bytes | None = None
    latent: Bytes | None = None

    @model_validator(mode="after")
    def _widths(self) -> KvFormat:
        pair = (self.key is not None, self.value is not None)
        if self.element is None and not all(pair):
            raise refusal("element:, or key: and value:", "no width")
        if self.element is not None and any(pair):
            raise refusal("element: alone, or key: and value:", "both")
        return self


class Format(Record):
    """A number format, for weights, for KV, or for both."""

    weight: WeightFormat | None = None
    kv: KvFormat | None = None

    @model_validator(mode="after")
    def _used(self) -> Format:
        if self.weight is None and self.kv is None:
            raise refusal("a weight: or kv: block", "neither")
        return self


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked record and the file it was read from."""

    record: Record
    file: YamlFile


def aliases(record: Record) -> tuple[str, ...]:
    """Other names of an entry: its aliases, and the hub id of a model."""
    hub = record.hf_id if isinstance(record, Model) else None
    return tuple(dict.fromkeys([*record.aliases, *([hub] if hub else [])]))
