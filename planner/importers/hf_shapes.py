"""One layer as a catalog writes it: a kind, its shape names, and where each value came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.importers.hf_config import CONFIG, HfConfig

DERIVED, ENGINE, TRANSFORMERS = "derived", "engine", "transformers"
DTYPES = {
    "float32": "fp32", "fp32": "fp32", "bfloat16": "bf16", "bf16": "bf16", "float16": "fp16",
    "fp16": "fp16", "half": "fp16", "float": "fp32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """A value and its origin: ``config``, ``transformers``, ``derived`` or ``engine``.

    ``why``: the path of the key, or how the value follows from others.
    """

    value: int | bool | str | None
    origin: str
    why: str


Shape = Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer holds of one kind; ``owns``: it has a cache of its own."""

    kind: str
    shape: Shape
    owns: bool = True
    notes: tuple[str, ...] = field(default=())


def given(config: HfConfig, key: str, value: int | bool | str | None) -> Given:
    """A value that was read under ``key``, with where it was found."""
    reading = config.readings[key]
    return Given(value, CONFIG if reading.origin == CONFIG else TRANSFORMERS, reading.place)


def whole(config: HfConfig, key: str) -> Given:
    """A whole number that must be there.

    Raises:
        InputError: it is absent, or something else.
    """
    return given(config, key, config.whole(key))


def switch(config: HfConfig, which: bool | str) -> Given:
    """A flag of the configuration, or one that its architecture settles."""
    if isinstance(which, bool):
        return Given(which, DERIVED, "as the architecture has it")
    value = config.flag(which)
    if which in config.readings:
        return given(config, which, value)
    return Given(value, DERIVED, f"no {which}")


def q_heads(config: HfConfig) -> Given:
    """Query heads of one layer."""
    return whole(config, "num_attention_heads")


def kv_heads(config: HfConfig) -> Given:
    """KV heads of one layer; as many as query heads where the configuration names none."""
    if config.get("num_key_value_heads") is None:
        return Given(q_heads(config).value, DERIVED, "as many as query heads")
    return whole(config, "num_key_value_heads")


def head_dim(config: HfConfig) -> Given:
    """Elements of one head; the hidden size over the query heads where none is named."""
    if config.whole_or("head_dim", 0):
        return whole(config, "head_dim")
    heads, size = config.whole("num_attention_heads"), config.whole("hidden_size")
    if not heads or size % heads:
        config.refuse("num_attention_heads", f"a divisor of the hidden size {size}", f"{heads}")
    return Given(size // heads, DERIVED, "hidden_size / num_attention_heads")


def model_dtype(config: HfConfig) -> Given:
    """The dtype that the model computes in, bf16, fp16 or fp32.

    Raises:
        InputError: the configuration names another one.
    """
    word = config.get("dtype")
    if word is None:
        return Given("bf16", ENGINE, "no dtype is named; served in bf16")
    return given(config, "dtype", _dtype(config, "dtype", str(word)))


def _dtype(config: HfConfig, key: str, word: str) -> str:
    name = DTYPES.get(word.removeprefix("torch."))
    if name is None:
        config.refuse(key, "bfloat16, float16 or float32", f"'{word}'")
    return name


def conv_dtype(config: HfConfig) -> Given:
    """The dtype of a convolution state: that of the model."""
    dtype = model_dtype(config)
    return Given(dtype.value, ENGINE, f"as the model ({dtype.why})")


def state_dtype(config: HfConfig, key: str = "", otherwise: str = "") -> Given:
    """The dtype of a recurrent state: as ``key`` says, else ``otherwise``, else as the model."""
    word = config.get(key) if key else None
    if word not in (None, "auto"):
        return given(config, key, _dtype(config, key, str(word)))
    if otherwise:
        return Given(otherwise, ENGINE, f"{otherwise} unless the configuration says otherwise")
    return conv_dtype(config)


def attention_shape(config: HfConfig, **other: Given) -> dict[str, Given]:
    """Heads and their size, and whether K and V have a bias; ``other`` adds or replaces."""
    shape = {"q_heads": q_heads(config), "kv_heads": kv_heads(config)}
    if "key_dim" not in other:
        shape["head_dim"] = head_dim(config)
    bias = switch(config, config.family.kv_bias)
    return shape | ({"kv_bias": bias} if bias.value else {}) | other
