"""Names as logs and threads write them, to the catalog's entries.

What a name means stands in the catalog (ids, labels, hub ids, aliases). Here is only how names are
bent: owners, brackets, quantised suffixes and dates of a release come off until an entry has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from planner.catalog import Catalog
from planner.errors import InputError
from planner.records import Model, aliases
from planner.records_gpu import Gpu

# Parts of a name that change neither layers nor parameters: tuning, number formats, dates.
SUFFIX = re.compile(
    r"-(instruct|chat|it|base|hf|sft|fp8|fp4|bf16|fp16|fp32|awq|gptq|int4|int8|w4a16|w8a8|nvfp4"
    r"|mxfp4|exl3|gguf|autoround|mixed|marlin|dynamic|quantized|[48]bit|\d{4}|\d{6}|class|shape)$"
)
PREFIX = re.compile(r"^(meta|nvidia|c4ai|ai21)-")
SIZE_SLACK = 0.08
"""A card is sold by a round number; the entry's marketed memory may be this far from it."""


def plain(name: str) -> str:
    """A name in one spelling: no owner, no brackets, small letters, dashes between words."""
    bare = re.sub(r"\([^)]*\)", " ", name).strip().split("/")[-1]
    return re.sub(r"[\s_]+", "-", bare.strip()).lower()


def forms(name: str) -> Iterator[str]:
    """The name, then shorter ones."""
    short = plain(name)
    yield short
    while (found := PREFIX.sub("", short)) != short or (found := SUFFIX.sub("", short)) != short:
        short = found
        yield short


@dataclass(frozen=True, slots=True)
class KvChoice:
    """KV formats of keys and values; ``latent_only`` keeps no values beside an MLA latent."""

    keys: str
    values: str
    latent_only: bool = False
    assumed: str = ""


class Names:
    """Looks names up in a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @cached_property
    def _models(self) -> dict[str, str]:
        """Every form of every name of a model; one that two models share names neither."""
        exact: dict[str, str] = {}
        short: dict[str, set[str]] = {}
        for record in self.catalog.all("model"):
            for name in (record.id, record.label, *aliases(record)):
                first, *others = forms(name)
                exact[first] = record.id
                for other in others:
                    short.setdefault(other, set()).add(record.id)
        unique = {name: next(iter(ids)) for name, ids in short.items() if len(ids) == 1}
        return unique | exact

    def model(self, name: str) -> str | None:
        """The id of a model, or None where the catalog has no such name."""
        return next((self._models[form] for form in forms(name) if form in self._models), None)

    # ---- cards ---------------------------------------------------------------------------------

    @cached_property
    def _gpus(self) -> list[tuple[Gpu, set[str]]]:
        return [
            (gpu, {plain(name) for name in (gpu.id, gpu.label, *gpu.aliases)})
            for gpu in self.catalog.all("gpu")
            if isinstance(gpu, Gpu)
        ]

    def gpu(self, name: str | None) -> str | None:
        """The id of a card: the longest run of words that names one of the stated size.

        Where several entries are left, the SXM board is meant.
        """
        if not name:
            return None
        words = plain(name).split("-")
        size = re.search(r"(\d+) ?-?gb\b", plain(name).replace("-gb", "gb"))
        gigabytes = float(size[1]) if size else None
        words = [re.sub(r"(?<=\d)gb$", "", word) for word in words]
        runs = [
            "-".join(words[start : start + length])
            for length in range(len(words), 0, -1)
            for start in range(len(words) - length + 1)
        ]
        for run in runs:
            found = [gpu for gpu, names in self._gpus if run in names and _fits(gpu, gigabytes)]
            if len(found) == 1:
                return found[0].id
        begun = [g for g, _ in self._gpus if g.id.split("-")[0] in words and _fits(g, gigabytes)]
        boards = [g for g in begun if "sxm" in g.id.split("-")]
        left = boards if len(begun) > 1 else begun
        return left[0].id if len(left) == 1 and gigabytes is not None else None

    # ---- formats -------------------------------------------------------------------------------

    def _format(self, kind: str, word: str) -> str | None:
        try:
            return self.catalog.entry(kind, word.strip().lower()).record.id
        except InputError:
            return None

    def kv(self, text: str | None) -> KvChoice | None:
        """KV formats of a stated KV dtype; ``auto`` is the model's data type."""
        if not text or text.strip(" ?") in ("", "see notes"):
            return None
        pair = re.fullmatch(r"K (\S+) / V (\S+)", text.strip())
        if pair:
            keys = self._format("kv_format", pair[1])
            values = keys if pair[2] == "-" else self._format("kv_format", pair[2])
            return KvChoice(keys, values, pair[2] == "-") if keys and values else None
        inside = re.search(r"\(([^)]*)\)", text)
        packed = inside and re.search(r"(\d+) B/token/layer", inside[1])
        if packed:
            return self._packed(float(packed[1]))
        outer = re.sub(r"\([^)]*\)", " ", text).strip()
        for word in ([inside[1].strip(" ?")] if inside else []) + [outer, *outer.split("/")]:
            if found := self._format("kv_format", word):
                return KvChoice(found, found)
            loose = re.fullmatch(r"(\D+?)[ _-]*(\d)[ -]?bit", word.lower())
            if loose and (found := self._format("kv_format", f"{loose[1]}-{loose[2]}bit")):
                return KvChoice(found, found)
        if outer.lower() == "auto":
            return KvChoice("bf16", "bf16", assumed="auto KV dtype taken as 16 bit")
        return None

    def _packed(self, width: float) -> KvChoice | None:
        for word in self.catalog.ids("kv_format"):
            facts = self.catalog.facts("kv_format", word)
            if facts["kv_latent_bytes"].value == width:
                return KvChoice(word, word)
        return None

    def weights(self, text: str | None, model: Model, name: str) -> str | None:
        """The weight format of a stated quantisation; None where it is none of the catalog's."""
        said = (text or "").lower()
        if "partial" in said:
            return None
        if "native" in said or not said:
            # Nothing stated: a name that is the checkpoint's own says its published format.
            return model.weight_format if "native" in said or self._own(model, name) else None
        if re.match(r"(runtime|online) fp8", said):
            return "fp8-tensor"
        for word in re.findall(r"[a-z0-9_.]+", re.sub(r"^none\b", "", said)) or ["bf16"]:
            if word in ("awq", "gptq", "auto_round", "autoround", "marlin"):
                word = "int4"
            if found := self._format("weight_format", word):
                native = self.catalog.entry("weight_format", model.weight_format).record.id
                return native if native.startswith(found) else found
        return None

    def _own(self, model: Model, name: str) -> bool:
        return model.hf_id is not None and name == model.hf_id


def _fits(gpu: Gpu, gigabytes: float | None) -> bool:
    marketed = gpu.memory.marketed.value if gpu.memory.marketed else None
    if gigabytes is None or not isinstance(marketed, int | float):
        return True
    return abs(marketed / 1e9 / gigabytes - 1) <= SIZE_SLACK
