"""Which layers are which: the spellings by which configurations tell layers apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.errors import one_of
from planner.importers.counts_parts import Counts, LayerBlock, layers
from planner.importers.hf_config import HfConfig

IsLayer = Callable[[HfConfig, int], bool]
WordOf = Callable[[HfConfig, int], str]


def either(rule: IsLayer, when: LayerBlock, otherwise: LayerBlock) -> LayerBlock:
    """One block in the layers that a rule picks, another in the rest."""
    return lambda config, layer: (when if rule(config, layer) else otherwise)(config, layer)


def by_word(key: str, word: WordOf, blocks: Mapping[str, LayerBlock]) -> LayerBlock:
    """The block that stands under the word of a layer; ``key`` is where the words come from."""

    def block(config: HfConfig, layer: int) -> Counts:
        found = word(config, layer)
        if found not in blocks:
            config.refuse(key, one_of(blocks), f"'{found}' for layer {layer}")
        return blocks[found](config, layer)

    return block


def nothing(config: HfConfig, layer: int) -> Counts:
    """A layer without this block."""
    return Counts()


# ---- words and lists --------------------------------------------------------------------------


def entry(config: HfConfig, key: str, layer: int) -> Any:
    """What a list says of a layer; lists may go on over modules beside the model.

    Raises:
        InputError: no list, or too short.
    """
    items = config.items(key)
    if layer >= len(items):
        config.refuse(key, f"an entry for layer {layer}", f"{len(items)} of them")
    return items[layer]


def typed(config: HfConfig, layer: int) -> str:
    """The word of ``layer_types``, which many families compute where a file has none."""
    return str(entry(config, "layer_types", layer))


_LETTERS = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}


def patterned(config: HfConfig, layer: int) -> str:
    """The word of ``layers_block_type``, or of a letter in ``hybrid_override_pattern``."""
    if config.get("layers_block_type") is not None:
        return str(entry(config, "layers_block_type", layer))
    letters = str(config.require("hybrid_override_pattern"))
    if layer >= len(letters) or letters[layer] not in _LETTERS:
        config.refuse("hybrid_override_pattern", f"{one_of(_LETTERS)} for layer {layer}", "another")
    return _LETTERS[letters[layer]]


def pattern_length(config: HfConfig) -> int:
    """Number of layers, which a pattern says where ``num_hidden_layers`` is absent."""
    if config.get("num_hidden_layers") is not None:
        return layers(config)
    if config.get("layers_block_type") is not None:
        return len(config.items("layers_block_type"))
    return len(str(config.require("hybrid_override_pattern")))


# ---- mixers -----------------------------------------------------------------------------------


def linear_attention(config: HfConfig, layer: int) -> bool:
    """Layers whose mixer keeps a state."""
    return typed(config, layer) == "linear_attention"


def listed_linear(config: HfConfig, layer: int) -> bool:
    """The layers that ``kda_layers`` lists (from 1), or as ``layer_types`` says."""
    part = config.section("linear_attn_config")
    if part is None or part.get("kda_layers") is None:
        return linear_attention(config, layer)
    return layer + 1 in part.items("kda_layers")


def convolution(config: HfConfig, layer: int) -> bool:
    """Layers of short convolutions."""
    return typed(config, layer) == "conv"


def sliding(config: HfConfig, layer: int) -> bool:
    """Layers that look back over a window."""
    return typed(config, layer) == "sliding_attention"


def cross_attention(config: HfConfig, layer: int) -> bool:
    """Layers that attend to the output of a tower."""
    return layer in config.items("cross_attention_layers")


def shares_kv(config: HfConfig, layer: int) -> bool:
    """The last layers, which use the keys and values of an earlier one."""
    return layer >= layers(config) - config.whole_or("num_kv_shared_layers", 0)


def owns_indexer(config: HfConfig, layer: int) -> bool:
    """Layers with an indexer of their own: by a list, a pattern of letters, or one in so many."""
    if config.get("indexer_types") is not None:
        return bool(entry(config, "indexer_types", layer) != "shared")
    letters = config.get("index_topk_pattern")
    if letters is not None:
        return str(letters)[layer : layer + 1] == "F"
    offset, every = (
        config.whole_or("index_skip_topk_offset", 2),
        config.whole_or("index_topk_freq", 1),
    )
    return max(layer - offset + 1, 0) % max(1, every) == 0


def indexes_blocks(config: HfConfig, layer: int) -> bool:
    """Layers that read chosen blocks: 1 in ``sparse_attention_freq``."""
    part = config.section("sparse_attention_config")
    return part is not None and bool(entry(part, "sparse_attention_freq", layer))


def rotates(config: HfConfig, layer: int) -> bool:
    """Layers with rotary positions: 1 in ``no_rope_layers`` (its name says the reverse)."""
    return config.get("no_rope_layers") is None or bool(entry(config, "no_rope_layers", layer))


def own_latent(config: HfConfig, layer: int) -> bool:
    """Layers that keep a latent of their own: named as their own source."""
    sources = config.get("kv_source_layers")
    return sources is None or entry(config, "kv_source_layers", layer) == layer


# ---- feed-forward -----------------------------------------------------------------------------


def sparse_after_first(config: HfConfig, layer: int) -> bool:
    """All but the first ``first_k_dense_replace``, every ``moe_layer_freq``-th or as listed."""
    if config.get("mlp_layer_types") is not None:
        return bool(entry(config, "mlp_layer_types", layer) != "dense")
    frequency = config.get("moe_layer_freq")
    if isinstance(frequency, list):
        return bool(entry(config, "moe_layer_freq", layer))
    every = max(1, config.whole_or("moe_layer_freq", 1))
    return layer >= config.whole_or("first_k_dense_replace", 0) and layer % every == 0


def sparse_after_dense(config: HfConfig, layer: int) -> bool:
    """All but the first ``num_dense_layers``."""
    return layer >= config.whole("num_dense_layers")


def sparse_by_step(config: HfConfig, layer: int) -> bool:
    """Every ``decoder_sparse_step``-th layer that ``mlp_only_layers`` does not name."""
    if not config.whole_or("num_experts", 0):
        return False
    dense = config.get("mlp_only_layers")
    named = isinstance(dense, list) and layer in dense
    return not named and (layer + 1) % max(1, config.whole_or("decoder_sparse_step", 1)) == 0


def sparse_by_period(config: HfConfig, layer: int) -> bool:
    """One layer in ``expert_layer_period``, from ``expert_layer_offset``, if there are experts."""
    period = max(1, config.whole("expert_layer_period"))
    several = config.whole("num_experts") > 1
    return several and layer % period == config.whole("expert_layer_offset")


def sparse_interleaved(config: HfConfig, layer: int) -> bool:
    """The layers that ``moe_layers`` names, or every ``interleave_moe_layer_step``-th."""
    if config.get("moe_layers") is not None:
        return layer in config.items("moe_layers")
    return (layer + 1) % max(1, config.whole_or("interleave_moe_layer_step", 1)) == 0


def sparse_between(config: HfConfig, layer: int) -> bool:
    """Layers from ``moe_layer_start_index`` to ``moe_layer_end_index``, every interval-th."""
    last = config.get("moe_layer_end_index")
    end = layers(config) - 1 if last in (None, -1) else config.whole("moe_layer_end_index")
    every = max(1, config.whole_or("moe_layer_interval", 1))
    return config.whole_or("moe_layer_start_index", 0) <= layer <= end and (layer + 1) % every == 0


def sparse_enumerated(first: int, last: int | None) -> IsLayer:
    """The layers that ``moe_layers_enum`` lists; else those that the published models have."""

    def rule(config: HfConfig, layer: int) -> bool:
        words = config.get("moe_layers_enum")
        if words is None:
            return first <= layer and (last is None or layer <= last)
        items = words.split(",") if isinstance(words, str) else config.items("moe_layers_enum")
        return str(layer) in [str(item).strip() for item in items]

    return rule


def several_experts(config: HfConfig, layer: int) -> bool:
    """Whether there is more than one expert: files of dense models may name one."""
    return config.whole_or("num_experts", 0) > 1


def has_experts(config: HfConfig, layer: int) -> bool:
    """Whether the model has any experts."""
    return config.whole_or("num_experts", 0) > 0
