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

# Parts of a name that change neither layers nor parameters: tuning, number formats, dates, files.
SUFFIX = re.compile(
    r"(-(instruct|chat|it|pt|base|hf|sft|thinking|think|abliterated|mtp|class|shape|unsloth"
    r"|fp8|fp4|bf16|fp16|fp32|nvfp4|mxfp4|int4|int8|nf4|kv|bnb|awq|gptq|exl[23]|autoround|quark|qat"
    r"|w4a16|w4a8|w8a8|w8a16|mixed|marlin|dynamic|block|quantized|[48]bit|\d+g|g\d+|\d{4}|\d{6})"
    r"|\.(w4a16|w4a8|w8a8|w8a16)|[-.]gguf|-(ud-)?i?q\d(-\d|-[kxsml]+)*"
    r"|(?<=fp4)-v\d|(?<=gptq|-awq)-[348]b)$"
)
PREFIX = re.compile(r"^(meta|nvidia|c4ai|ai21)-")
QUANTISED = (
    r"(?:fp8|nvfp4|fp4|mxfp4|int4|int8|awq|gptq|autoround|w4a16|w8a8|w8a16|bnb|nf4|exl[23]|gguf"
    r"|[48]bit)(?![a-z])"
)
"""Words in the name of a checkpoint that say how its weights are stored."""
MEANT = {
    **dict.fromkeys(("awq", "gptq", "awq_marlin", "gptq_marlin", "auto_round", "autoround",
                     "w4a16"), "int4"),
    **dict.fromkeys(("w8a8", "w8a16"), "int8"),
    **dict.fromkeys(("fp8_w8a8", "modelopt_fp8"), "fp8"),
    **dict.fromkeys(("fp4", "modelopt_fp4"), "nvfp4"),
}  # fmt: skip
"""What engines and tools call a format of the catalog, where the word alone says it."""
BOARDS = frozenset({"sxm", "pcie", "nvl", "ws", "server"})
EDITIONS = {
    **{board: {board} for board in BOARDS},
    **{word: {"ws"} for word in ("workstation", "max", "q")},
}
"""Words that name an edition of a card, and the part of the id that says so."""
SIZE_SLACK = 0.08
"""A card is sold by a round number; the entry's marketed memory may be this far from it."""


def plain(name: str) -> str:
    """A name in one spelling: no owner, no brackets, small letters, dashes between words."""
    bare = re.sub(r"\([^)]*\)", " ", name).strip().split("/")[-1]
    return re.sub(r"[\s_:]+", "-", bare.strip()).lower()


def squeezed(name: str) -> str:
    """A name without its dashes: ``llama3.1-8b`` is ``llama-3.1-8b``."""
    return name.replace("-", "")


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
        shorter = tuple(forms(name))
        found = next((self._models[form] for form in shorter if form in self._models), None)
        loose = (self._loose.get(squeezed(form)) for form in shorter)
        return found or next((word for word in loose if word), None)

    @cached_property
    def _loose(self) -> dict[str, str]:
        """Names without dashes; one that two models share names neither."""
        found: dict[str, set[str]] = {}
        for name, word in self._models.items():
            found.setdefault(squeezed(name), set()).add(word)
        return {name: next(iter(words)) for name, words in found.items() if len(words) == 1}

    # ---- cards ---------------------------------------------------------------------------------

    @cached_property
    def _gpus(self) -> list[tuple[Gpu, set[str]]]:
        return [
            (
                gpu,
                {
                    form
                    for name in (gpu.id, gpu.label, *gpu.aliases)
                    for form in (plain(name), squeezed(plain(name)))
                },
            )
            for gpu in self.catalog.all("gpu")
            if isinstance(gpu, Gpu)
        ]

    def gpu(self, name: str | None) -> str | None:
        """The id of a card: the longest run of words that names one of the stated size.

        Where several entries are left, the SXM board is meant.
        """
        if not name:
            return None
        name = re.sub(r"^\d+ ?x ?", "", str(name))
        whole = [gpu for gpu, names in self._gpus if plain(name).removeprefix("nvidia-") in names]
        if len(whole) == 1:
            return whole[0].id
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
            found = [
                gpu for gpu, names in self._gpus
                if (run in names or squeezed(run) in names) and _fits(gpu, gigabytes)
            ]  # fmt: skip
            if len(found) == 1:
                return self._edition(found[0], words, gigabytes)
        begun = [g for g, _ in self._gpus if g.id.split("-")[0] in words and _fits(g, gigabytes)]
        begun = [g for g in begun if _boards(g) & set(words)] or begun
        boards = [g for g in begun if "sxm" in g.id.split("-")]
        left = boards if len(begun) > 1 else begun
        return left[0].id if len(left) == 1 and gigabytes is not None else None

    def _edition(self, gpu: Gpu, words: list[str], gigabytes: float | None) -> str:
        """The edition that the words name, where a bare name stands for another one."""
        told = set().union(*(EDITIONS.get(word, ()) for word in words))
        family = re.split(rf"-({'|'.join(sorted(BOARDS))})\b", gpu.id)[0]
        others = [
            g for g, _ in self._gpus
            if told & _boards(g) and g.id.startswith(family) and _fits(g, gigabytes)
        ]  # fmt: skip
        return others[0].id if told and not told & _boards(gpu) and len(others) == 1 else gpu.id

    # ---- formats -------------------------------------------------------------------------------

    def _format(self, kind: str, word: str) -> str | None:
        try:
            return self.catalog.entry(kind, word.strip().lower()).record.id
        except InputError:
            return None

    def kv(self, text: str | None) -> KvChoice | None:
        """KV formats of a stated KV dtype; ``auto`` is the model's data type."""
        text = str(text or "")
        if text.strip(" ?") in ("", "see notes"):
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
        said = [inside[1].strip(" ?"), *inside[1].split()[:1]] if inside else []
        for word in (*said, outer, outer.split(">")[-1]):
            if found := self._kv_word(word):
                return KvChoice(found, found)
        parts = {self._kv_word(word) for word in outer.split("/")}
        if None not in parts and len({self._widths(word) for word in parts if word}) == 1:
            first = self._kv_word(outer.split("/")[0]) or ""
            return KvChoice(first, first)
        if outer.lower() == "auto":
            return KvChoice("bf16", "bf16", assumed="auto KV dtype taken as 16 bit")
        return None

    def _kv_word(self, word: str) -> str | None:
        """The format of one word, whose parts may be joined in other ways and name a variant."""
        if found := self._format("kv_format", word):
            return found
        joined = re.sub(r"[\s-]+", "_", word.strip().lower())
        if re.fullmatch(r"fp8_?(inc|e4m3(fn)?|e5m2)", joined):
            return self._format("kv_format", "fp8")
        joined = "nvfp4" if joined == "fp4" else joined
        loose = re.fullmatch(r"(\D+?)_*(\d)_?bit", joined)
        return self._format("kv_format", f"{loose[1]}-{loose[2]}bit" if loose else joined)

    def _widths(self, word: str) -> tuple[object, ...]:
        facts = self.catalog.facts("kv_format", word)
        return tuple(facts[name].value for name in ("kv_key_bytes", "kv_value_bytes"))

    def _packed(self, width: float) -> KvChoice | None:
        for word in self.catalog.ids("kv_format"):
            facts = self.catalog.facts("kv_format", word)
            if facts["kv_latent_bytes"].value == width:
                return KvChoice(word, word)
        return None

    def weights(self, text: str | None, model: Model, name: str) -> str | None:
        """The weight format of a stated quantisation; None where it is none of the catalog's."""
        said = str(text or "").lower()
        if "partial" in said:
            return None
        if "native" in said or (not said and self._own(model, name)):
            return model.weight_format  # the published checkpoint itself
        if re.search(r"\b(runtime|online)\b", said) and "fp8" in said:
            return "fp8-tensor"
        if not said:  # nothing stated but in the name
            said = " ".join(re.findall(QUANTISED, plain(name)))
            if not said:
                return None
        words = re.findall(r"[a-z0-9_.]+", re.sub(r"^none\b", "", said))
        found = {self._format("weight_format", word) for word in (words or ["bf16"])} - {None}
        found = found or {self._format("weight_format", w) for w in _meant(said, words)} - {None}
        if len(found) != 1:
            return None
        (one,) = found
        if one == "int4" and re.search(r"\bg(roup)?[ _-]?(size)?[ _-]?32\b", said):
            return "int4-g32"
        native = self.catalog.entry("weight_format", model.weight_format).record.id
        return native if native.startswith(str(one)) else one

    def _own(self, model: Model, name: str) -> bool:
        return model.hf_id is not None and name == model.hf_id


def _meant(said: str, words: list[str]) -> list[str]:
    """Formats that words of engines and tools stand for."""
    eight = re.search(r"\b(int8|w8a8|w8a16|8[ -]?bit)\b", said)
    meant = {MEANT[word] for word in words if word in MEANT}
    if "int4" in meant and eight:
        return [word for word in meant if word != "int4"] + ["int8"]
    return sorted(meant)


def _boards(gpu: Gpu) -> set[str]:
    return set(gpu.id.split("-")) & BOARDS


def _fits(gpu: Gpu, gigabytes: float | None) -> bool:
    marketed = gpu.memory.marketed.value if gpu.memory.marketed else None
    if gigabytes is None or not isinstance(marketed, int | float):
        return True
    return abs(marketed / 1e9 / gigabytes - 1) <= SIZE_SLACK
