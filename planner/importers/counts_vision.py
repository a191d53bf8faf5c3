"""Vision and audio towers with the projectors behind them, counted as one component.

A tower reads its own section; what the section leaves out is as in the published models of the
family, which the shortened configurations in circulation leave out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.importers.counts_parts import Counts, attention, feed_forward, hidden, linear, norm
from planner.importers.hf_config import HfConfig

COLOURS = 3
_SECTION = "vision_config"


class Tower:
    """Figures of one section; each look gives what stands there, or the published figure."""

    def __init__(self, config: HfConfig, section: str = _SECTION) -> None:
        self.text, self.part = hidden(config), config.section(section)

    def _written(self, key: str) -> Any:
        """What the section says, or None."""
        return None if self.part is None else self.part.get(key)

    def whole(self, key: str, published: int) -> int:
        """A whole number."""
        written = self._written(key)
        return published if written is None or self.part is None else self.part.whole(key)

    def ratio(self, key: str, published: float) -> float:
        """A number that need not be whole."""
        written = self._written(key)
        good = isinstance(written, (int, float)) and not isinstance(written, bool)
        return float(written) if good and 0 < written < 1e3 else published

    def length(self, key: str, published: int) -> int:
        """Length of a list."""
        written = self._written(key)
        return published if written is None or self.part is None else len(self.part.items(key))


def encoder(
    width: int, inner: int, *, bias: bool, shifts: bool, gated: bool = False,
    mixed: int | None = None,
) -> int:  # fmt: skip
    """One layer: attention as wide as the stream (or ``mixed``), feed-forward, two norms."""
    inside = mixed or width
    matrices = attention(width, inside, inside, inside, inside, bias=bias, out_bias=bias)
    return matrices + feed_forward(width, inner, gated=gated, bias=bias) + 2 * norm(width, shifts)


def merger(width: int, out: int, *, cells: int = 4, normed: int = 0, shifts: bool = True) -> int:
    """Joins neighbouring patches: a norm over ``normed`` channels and two layers with biases."""
    wide = width * cells
    return norm(normed or width, shifts) + linear(wide, wide, True) + linear(wide, out, True)


def qwen2_vl(config: HfConfig) -> Counts:
    """Tower of Qwen2-VL: plain feed-forward, four times as wide as the stream."""
    t = Tower(config)
    width, side = t.whole("embed_dim", 1280), t.whole("patch_size", 14)
    pixels = COLOURS * t.whole("temporal_patch_size", 2) * side**2
    layer = encoder(width, t.whole("mlp_ratio", 4) * width, bias=True, shifts=True)
    join = merger(width, t.text, cells=t.whole("spatial_merge_size", 2) ** 2)
    return Counts(vision=linear(pixels, width) + t.whole("depth", 32) * layer + join)


def qwen2_5_vl(config: HfConfig) -> Counts:
    """Windowed tower of Qwen2.5-VL: root-mean-square norms, gated feed-forward."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 1280), t.whole("patch_size", 14)
    pixels = COLOURS * t.whole("temporal_patch_size", 2) * side**2
    inner = t.whole("intermediate_size", 3420)
    layer = encoder(width, inner, bias=True, shifts=False, gated=True)
    cells = t.whole("spatial_merge_size", 2) ** 2
    join = merger(width, t.whole("out_hidden_size", t.text), cells=cells, shifts=False)
    return Counts(vision=linear(pixels, width) + t.whole("depth", 32) * layer + join)


def qwen3_vl(levels: int) -> Callable[[HfConfig], Counts]:
    """Tower of Qwen3-VL; ``levels`` further mergers feed early layers of the text tower."""

    def tower(config: HfConfig) -> Counts:
        t = Tower(config)
        width, side = t.whole("hidden_size", 1152), t.whole("patch_size", 16)
        pixels = COLOURS * t.whole("temporal_patch_size", 2) * side**2
        start = linear(pixels, width, True) + t.whole("num_position_embeddings", 2304) * width
        layer = encoder(width, t.whole("intermediate_size", 4304), bias=True, shifts=True)
        cells, out = t.whole("spatial_merge_size", 2) ** 2, t.whole("out_hidden_size", t.text)
        deep = merger(width, out, cells=cells, normed=width * cells)
        deep *= t.length("deepstack_visual_indexes", levels)
        layers = t.whole("depth", 27) * layer
        return Counts(vision=start + layers + merger(width, out, cells=cells) + deep)

    return tower


def gemma3(config: HfConfig) -> Counts:
    """SigLIP without its pooling head, and one matrix to the text tower."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 1152), t.whole("patch_size", 14)
    places = (t.whole("image_size", 896) // max(1, side)) ** 2
    start = linear(COLOURS * side**2, width, True) + places * width
    layer = encoder(width, t.whole("intermediate_size", 4304), bias=True, shifts=True)
    layers = t.whole("num_hidden_layers", 27) * layer
    return Counts(vision=start + layers + norm(width, True) + norm(width) + linear(width, t.text))


def gemma4(config: HfConfig) -> Counts:
    """Tower of Gemma 4: sandwich norms, norms of queries and keys, a table for each axis."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 768), t.whole("patch_size", 16)
    heads = max(1, t.whole("num_attention_heads", 12))
    dim = t.whole("head_dim", width // heads)
    start = linear(COLOURS * side**2, width)
    start += 2 * t.whole("position_embedding_size", 10240) * width
    layer = encoder(
        width, t.whole("intermediate_size", 3072), bias=False, shifts=False, gated=True,
        mixed=heads * dim,
    )  # fmt: skip
    layer += 2 * norm(width) + 2 * norm(dim)
    layers = t.whole("num_hidden_layers", 16) * layer
    return Counts(vision=start + layers + linear(width, t.text) + gemma4_sound(config))


def pixtral(width: int = 1024, inner: int = 4096, depth: int = 24) -> Callable[[HfConfig], Counts]:
    """Pixtral tower with the patch merger and projector of Mistral 3; its published sizes."""

    def tower(config: HfConfig) -> Counts:
        t = Tower(config)
        size, side = t.whole("hidden_size", width), t.whole("patch_size", 14)
        layer = encoder(
            size, t.whole("intermediate_size", inner), bias=False, shifts=False, gated=True
        )
        start = linear(COLOURS * side**2, size) + norm(size)
        cells = config.whole_or("spatial_merge_size", 2) ** 2
        bias = config.flag("multimodal_projector_bias")
        join = norm(size) + linear(cells * size, size)
        join += linear(size, t.text, bias) + linear(t.text, t.text, bias)
        return Counts(vision=start + t.whole("num_hidden_layers", depth) * layer + join)

    return tower


def llama4(config: HfConfig) -> Counts:
    """Tower of Llama 4 with its pixel-shuffle adapter."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 1408), t.whole("patch_size", 14)
    inner = t.whole("intermediate_size", 5632)
    places = (t.whole("image_size", 336) // max(1, side)) ** 2 + 1
    start = linear(COLOURS * side**2, width) + width + places * width + 2 * norm(width, True)
    layer = encoder(width, inner, bias=True, shifts=True)
    middle, out = t.whole("projector_input_dim", 4096), t.whole("projector_output_dim", 4096)
    join = linear(inner, middle) + linear(out, out)
    join += linear(t.whole("vision_output_dim", 4096), t.text)
    return Counts(vision=start + t.whole("num_hidden_layers", 34) * layer + join)


def mllama(config: HfConfig) -> Counts:
    """Tower of Llama 3.2 Vision: tiles with tables of their own, gated layers at the end."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 1280), t.whole("patch_size", 14)
    places = (t.whole("image_size", 560) // max(1, side)) ** 2 + 1
    ratios, tiles = t.length("supported_aspect_ratios", 8) + 1, t.whole("max_num_tiles", 4)
    start = linear(COLOURS * side**2, width) + width + 2 * norm(width, True)
    tables = 1 + places * width + ratios * tiles * places * width
    tables += 2 * (ratios * tiles * width + 1)
    layer = attention(width, width, width, width, width) + 2 * norm(width, True)
    layer += feed_forward(width, t.whole("intermediate_size", 5120), gated=False, bias=True)
    local, last = t.whole("num_hidden_layers", 32), t.whole("num_global_layers", 8)
    layers = local * layer + last * (layer + 2)
    out = linear(t.whole("vision_output_dim", 7680), t.text, True)
    return Counts(vision=start + tables + layers + out)


def kimi_k25(config: HfConfig) -> Counts:
    """MoonViT of Kimi-K2.5 with its patch merger."""
    t = Tower(config)
    width, side = t.whole("vt_hidden_size", 1152), t.whole("patch_size", 14)
    places = t.whole("init_pos_emb_height", 64) * t.whole("init_pos_emb_width", 64)
    start = linear(COLOURS * side**2, width, True) + places * width + norm(width, True)
    layer = encoder(width, t.whole("vt_intermediate_size", 4304), bias=True, shifts=True)
    out = merger(t.whole("mm_hidden_size", width), t.text)
    return Counts(vision=start + t.whole("vt_num_hidden_layers", 27) * layer + out)


def kimi_k3(config: HfConfig) -> Counts:
    """MoonViT of Kimi-K3: no biases, wider attention, a norm behind the patch merger."""
    t = Tower(config)
    width, side = t.whole("vt_hidden_size", 1024), t.whole("patch_size", 14)
    places = t.whole("init_pos_emb_height", 64) * t.whole("init_pos_emb_width", 64)
    start = linear(COLOURS * side**2, width) + places * width + norm(width)
    inner, mixed = t.whole("vt_intermediate_size", 4096), t.whole("qkv_hidden_size", 1536)
    layer = encoder(width, inner, bias=False, shifts=False, mixed=mixed)
    wide = 4 * t.whole("mm_hidden_size", width)
    out = linear(wide, wide) + linear(wide, t.text) + norm(t.text)
    return Counts(vision=start + t.whole("vt_num_hidden_layers", 27) * layer + out)


def minimax_m3(config: HfConfig) -> Counts:
    """Tower of MiniMax-M3 with a projector before and one after the merging of patches."""
    t = Tower(config)
    width, side = t.whole("hidden_size", 1280), t.whole("patch_size", 14)
    start = linear(COLOURS * t.whole("temporal_patch_size", 2) * side**2, width) + norm(width, True)
    layer = encoder(width, t.whole("intermediate_size", 5120), bias=True, shifts=True)
    middle, cells = config.whole_or("projector_hidden_size", t.text), 4
    join = linear(width, middle, True) + linear(middle, t.text, True)
    join += linear(cells * t.text, middle, True) + linear(middle, t.text, True)
    return Counts(vision=start + t.whole("num_hidden_layers", 32) * layer + join)


def step3p7(config: HfConfig) -> Counts:
    """Tower of Step-3.7: scaled layers, two convolutions that halve the grid."""
    t = Tower(config)
    width, side = t.whole("width", t.whole("hidden_size", 1536)), t.whole("patch_size", 14)
    places = (t.whole("image_size", 728) // max(1, side)) ** 2
    start = linear(COLOURS * side**2, width) + places * width + norm(width, True)
    inner = int(width * t.ratio("mlp_ratio", 8960 / 1536))
    layer = encoder(width, inner, bias=True, shifts=True) + 2 * width
    taps = 9
    shrink = linear(taps * width, 2 * width, True) + linear(taps * 2 * width, 4 * width, True)
    layers = t.whole("layers", t.whole("num_hidden_layers", 47)) * layer
    return Counts(vision=start + layers + shrink + linear(4 * width, t.text))


# ---- sound, and Gemma 3n ----------------------------------------------------------------------

# MobileNet-V5 at 300M, encoder only: one fixed network, which configurations name and do not spell.
MOBILENET_V5_300M = 294_126_912


def gemma3n(config: HfConfig) -> Counts:
    """The fixed image network, the conformer for sound, and an embedder for each."""
    sight, sound = Tower(config), Tower(config, "audio_config")
    count = MOBILENET_V5_300M + _embedder(sight, 2048) + _embedder(sound, 1536)
    return Counts(vision=count + conformer(sound, 1536, "conf_", "conf_conv_kernel_size"))


def _embedder(t: Tower, published: int) -> int:
    """A table of soft tokens, two norms, one matrix to the text tower."""
    width = t.whole("hidden_size", published)
    return t.whole("vocab_size", 128) * width + 2 * norm(width) + linear(width, t.text)


def gemma4_sound(config: HfConfig) -> int:
    """The conformer of Gemma 4 with its projection, where the model has one."""
    if config.section("audio_config") is None:
        return 0
    t = Tower(config, "audio_config")
    out = t.whole("output_proj_dims", 1536)
    projection = linear(t.whole("hidden_size", 1024), out, True) + linear(out, t.text)
    return conformer(t, 1024, "", "conv_kernel_size") + projection


def conformer(t: Tower, published: int, prefix: str, taps: str) -> int:
    """Layers of feed-forward, attention with relative places, convolution, feed-forward.

    ``published``: the width where none is written. ``prefix``, ``taps``: how keys are spelled.
    """
    width = t.whole("hidden_size", published)
    dim = width // max(1, t.whole(f"{prefix}num_attention_heads", 8))
    half = feed_forward(width, 4 * width, gated=False) + 2 * norm(width)
    attend = attention(width, width, width, width, width) + linear(width, width) + dim
    convolve = linear(width, 2 * width) + t.whole(taps, 5) * width + linear(width, width)
    layer = 2 * half + attend + convolve + 5 * norm(width)
    return _spectra(t, width) + t.whole(f"{prefix}num_hidden_layers", 12) * layer


def _spectra(t: Tower, width: int) -> int:
    """Two convolutions of three by three over spectra, each with a norm, and a matrix."""
    first, second, taps = 128, 32, 9
    bands = t.whole("input_feat_size", 128) // 4
    convolutions = taps * first + norm(first) + taps * first * second + norm(second)
    return convolutions + linear(second * bands, width)


def glm5_next(config: HfConfig) -> Counts:
    """Tower of GLM-5.3-Flash: gated with biases, normed heads, root-mean-square norms.

    Behind it one convolution joins neighbouring patches at the size of the text, then a projection
    with a norm and a gated network without biases.
    """
    t = Tower(config)
    width, side = t.whole("hidden_size", 1024), t.whole("patch_size", 14)
    out = t.whole("out_hidden_size", t.text)
    pixels = COLOURS * t.whole("temporal_patch_size", 2) * side**2
    layer = encoder(width, t.whole("intermediate_size", 4096), bias=True, shifts=False, gated=True)
    layer += 2 * norm(width // max(1, t.whole("num_heads", 16)))
    cells = t.whole("spatial_merge_size", 2) ** 2
    join = norm(width) + linear(width * cells, out, True) + linear(out, out) + norm(out, True)
    join += feed_forward(out, t.whole("projection_intermediate_size", 10240))
    return Counts(vision=linear(pixels, width, True) + t.whole("depth", 24) * layer + join)
