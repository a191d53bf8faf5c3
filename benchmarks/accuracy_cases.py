"""One log row to the product's own columns: facts of the catalog, settings of the row, no formula.

A figure that neither the row nor the catalog states is taken from the engine's stated defaults and
listed in ``Prepared.assumed``; what has no default stays unknown, and so do the metrics on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from accuracy_names import KvChoice, Names

from planner.catalog import Catalog, Fact, GroupFacts
from planner.drafts import MTP, Drafted
from planner.engine import Array, Columns
from planner.errors import Span
from planner.expr.check import STAGE
from planner.inputs import Case, Inputs
from planner.metrics import MetricSet
from planner.records import Model

GIB = 2**30
Row = Mapping[str, Any]
STATES_CACHED_SINCE = (0, 27)
"""vLLM pull request 50991 (2026-08-04, after 0.26.0) caches prefixes of hybrids by default."""
STATES_CACHED_DATE = "2026-08-04"


PACKED_SINCE = (0, 25)
"""DeepSeek-V4-Flash at 0.25.0 (recipes issue 762) fits packed blocks; 0.22 does not."""

POOLED_SINCE = (0, 30)
"""GLM-5.3-Flash and Qwen3.8-Flash-Next, pooled keys beside states, are not served before; builds of
forks and commits had layouts of their own, and are not scored."""
FAMILIES = {
    "vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "tensorrt-llm", "trt-llm": "tensorrt-llm",
    "trtllm": "tensorrt-llm", "llama.cpp": "llama.cpp", "llama-server": "llama.cpp",
}  # fmt: skip
"""Engines as they are spelt, and their family."""

DATES = {
    "2025-03-18": (0, 8), "2025-07-24": (0, 10), "2025-10-02": (0, 11), "2026-03-01": (0, 17),
    "2026-05-15": (0, 21), "2026-10-15": (0, 33),
}  # fmt: skip
"""About when releases of vLLM that changed rules came out, for rows that state none."""

PLAN_SETTINGS = ("prefix_caching", "batched_tokens", "max_num_seqs")
"""Settings of a row that are inputs of the whole plan."""


class UnscorableError(Exception):
    """A row from which nothing can be computed, with the reason."""


def engine_of(row: Row) -> str:
    """The engine's family: vllm, sglang, tensorrt-llm, llama.cpp, or the words as given."""
    words = re.sub(r"[\s_]+", "-", str(row.get("engine") or "").lower())
    return next((name for spelt, name in FAMILIES.items() if spelt in words), words)


def release(row: Row) -> tuple[int, ...] | None:
    """The first two numbers of the engine's version, where it is one."""
    written = str(row.get("engine_version") or "")
    if re.search(r"\bnim\b", str(row.get("engine")).lower()):
        return None  # a container's own number
    found = re.search(r"(?<![\d.-])v?(\d{1,2})\.(\d+)", written)
    # Development builds that count from 0.1 hide the release: the date says more than the number.
    if not found or re.search(r"\b0\.1\.dev\d", written):
        return None
    return int(found[1]), int(found[2])


def _dated(row: Row) -> tuple[int, ...] | None:
    """The release of vLLM that was newest at the date of the row."""
    date = str(row.get("date") or "")
    if engine_of(row) != "vllm" or not date:
        return None
    return max((number for day, number in DATES.items() if day <= date), default=(0, 0))


@dataclass(frozen=True)
class Prepared:
    """A row with the catalog's entries and the columns of its one case."""

    row: Row
    model: Model
    groups: tuple[GroupFacts, ...]
    weight_format: str | None
    gpu: str | None
    columns: Columns
    given: Mapping[str, Any]
    metrics: MetricSet
    assumed: tuple[str, ...]
    engine: str
    kv_known: bool
    unplanned: str
    undrafted: str

    def value(self, name: str, **other: float) -> float | None:
        """One metric in base units, with further inputs or metrics given; None is unknown."""
        if name not in self.metrics.metrics and name not in self.metrics.fields:
            return None
        columns = self.columns
        if other:
            given = {k: self._column(k, v) for k, v in other.items()}
            columns = Columns(self.metrics, {**self.given, **given})
        values = np.asarray(columns[name], dtype=float)
        number = float(values.reshape(-1)[0])
        return None if np.isnan(number) else number

    def _column(self, name: str, value: float) -> Array:
        """The value in the shape of the name: of every stage, of the plan, or of the case."""
        if self.metrics.type_of(name).grain == STAGE:
            stages = self.given["stage_index"].shape[0]
            return np.full((stages, 1, 1), value)
        return np.asarray(value) if name in PLAN_SETTINGS else np.asarray([value])

    @property
    def one_kind(self) -> bool:
        """Whether all layers keep every token: pool by tokens is then a rate."""
        return all(
            not g.facts["group_window"].value and not g.facts["group_state_heads"].value
            and not g.facts["group_conv_taps"].value
            for g in self.groups
        )  # fmt: skip


class Cases:
    """Prepares rows against one catalog and one set of metrics."""

    def __init__(self, catalog: Catalog | None = None, metrics: MetricSet | None = None) -> None:
        self.catalog = catalog or Catalog.open([])
        self.metrics = metrics or MetricSet.load([])
        self.names = Names(self.catalog)

    @cached_property
    def any_gpu(self) -> str:
        """Stands in where the card is unknown; nothing that depends on it is then scored."""
        return self.catalog.ids("gpu")[0]

    def prepare(self, row: Row) -> Prepared:
        """The columns of a row.

        Raises:
            UnscorableError: the catalog has no such model.
        """
        word = self.names.model(str(row["model"]))
        if word is None:
            raise UnscorableError(f"model not in the catalog: {row['model']}")
        model = self.catalog.model(word)
        kv_text = str(row.get("kv_cache_dtype") or "")
        kv = self.names.kv(kv_text)
        weights = self.names.weights(row.get("model_quant"), model, str(row["model"]))
        gpu = self.names.gpu(row.get("gpu"))
        assumed = [kv.assumed] if kv and kv.assumed else []
        drafted, undrafted = self._drafted(model, row)
        groups = self._groups(model, row, drafted.groups, kv is not None and kv.latent_only)
        if kv and kv.keys == "fp8" and any(g.kind == "compressed_mla" for g in groups):
            kv = KvChoice("ds-v4", "ds-v4")  # every FP8 word means this record (kv_semantics 1.2)
        settings = self._settings(row, groups, gpu, assumed)
        inputs = self._inputs(row, word, gpu, weights or "bf16", kv.keys if kv else "bf16",
                              drafted, groups, settings)  # fmt: skip
        given = dict(inputs.columns(self.metrics))
        if kv and kv.values != kv.keys:
            facts = self.catalog.facts("kv_format", kv.values)
            given["kv_value_bytes"] = np.asarray([facts["kv_value_bytes"].value], dtype=float)
        given |= {name: np.asarray(settings[name], dtype=float) for name in PLAN_SETTINGS}
        if self._stated_block(row, groups):
            given["engine_block_size"] = np.asarray([float(row["block_size"])])
        return Prepared(
            row, model, groups, weights, gpu, Columns(self.metrics, given), given, self.metrics,
            tuple(assumed), self.engine_entry(row),
            kv is not None and not re.search(r"inferred|\?", kv_text),
            undrafted or _unplanned(row, groups), undrafted,
        )  # fmt: skip

    def _stated_block(self, row: Row, groups: tuple[GroupFacts, ...]) -> bool:
        """The stated block of a hybrid is the aligned one, which the rule has to find itself."""
        states = any(g.facts["group_state_heads"].value for g in groups)
        return bool(row.get("block_size")) and not states

    def _drafted(self, model: Model, row: Row) -> tuple[Drafted, str]:
        """The model with the draft of the row, and why that draft cannot be planned."""
        plain, words = self.catalog.drafted(model.id, ""), str(row.get("speculative") or "")
        if not words:
            return plain, ""
        if not _OWN_MODULE.search(words):
            return plain, f"speculation ({words}): the draft is not in the catalog"
        with_module = self.catalog.drafted(model.id, MTP)
        if any(g.facts["group_draft_layers"].value is None for g in with_module.groups):
            return plain, f"speculation ({words}): the model has no MTP module on record"
        states = any(g.facts["group_state_heads"].value for g in plain.groups)
        if states and _draft_tokens(row) is None:
            return (
                plain,
                f"speculation ({words}): states hold draft tokens, whose number is not stated",
            )
        return with_module, ""

    def _groups(
        self, model: Model, row: Row, groups: tuple[GroupFacts, ...], latent_only: bool
    ) -> tuple[GroupFacts, ...]:
        """The layer groups; llama.cpp's older MLA modes keep other tensors than the latent."""
        mode = _mla_mode(row, latent_only)
        found = []
        for group, entry in zip(groups, model.layer_groups, strict=True):
            facts = dict(group.facts)
            if group.kind == "mla" and mode == "1":
                # A transposed copy of the latent, without its rotary part, stands as values.
                facts["group_value_dim"] = replace(facts["group_mix_dim"], unit="1/token")
            elif group.kind == "mla" and mode == "0":
                facts |= _expanded(facts, entry)
            found.append(replace(group, facts=facts))
        return tuple(found)

    def _settings(
        self, row: Row, groups: tuple[GroupFacts, ...], gpu: str | None, assumed: list[str]
    ) -> dict[str, float | str]:
        """Inputs of the case by field name; those that the metrics do not have are not read."""
        batched, running = row.get("max_num_batched_tokens"), row.get("max_num_seqs")
        number = release(row)
        states = any(g.facts["group_state_heads"].value for g in groups)
        cached = _caches_states(row, number)
        if states:
            assumed.append(f"prefix caching of states {'on' if cached else 'off'}")
        tp, dp = float(row.get("tp") or 1), float(row.get("dp") or 1)
        if engine_of(row) == "sglang" and dp > 1:
            tp = tp / dp  # SGLang's tp counts the ranks of all attention data-parallel groups
        return {
            "tp": tp, "pp": float(row.get("pp") or 1), "dp": dp, "ep": 1.0,
            "dcp": float(row.get("dcp") or 1), "compute_dtype": "bf16",
            "context": float(row.get("max_model_len") or np.nan),
            "cached_tokens": 0.0, "prompt_tokens": 1.0, "output_tokens": 1.0, "batch": 1.0,
            "prefix_caching": float(cached),
            "batched_tokens": float(batched or np.nan), "max_num_seqs": float(running or np.nan),
        }  # fmt: skip

    def engine_entry(self, row: Row) -> str:
        """The engine entry of the newest release that is not after the row's; else plain."""
        family, number = engine_of(row), release(row) or _dated(row)
        if re.search(r"\bV0\b", str(row.get("engine_version"))):
            number = min(
                number or (0, 0), (0, 7)
            )  # the older engine, which releases up to 0.10 had
        if family == "vllm" and re.search(r"hpu|gaudi", str(row.get("engine")).lower()):
            return "vllm-gaudi"
        found = {
            word: tuple(int(n) for n in re.findall(r"\d+", word.removeprefix(family)))[:2]
            for word in self.catalog.ids("engine")
            if word.startswith(f"{family}-")
        }
        known = [w for w, since in found.items() if number is None or since <= number]
        return max(known, key=lambda word: found[word], default="plain")

    def _inputs(
        self, row: Row, model: str, gpu: str | None, weights: str, kv: str,
        drafted: Drafted, groups: tuple[GroupFacts, ...], settings: Mapping[str, float | str],
    ) -> Inputs:  # fmt: skip
        card, engine = gpu or self.any_gpu, self.engine_entry(row)
        entries = [("model", model), ("gpu", card), ("engine", engine),
                   ("weight_format", weights), ("kv_format", kv)]  # fmt: skip
        facts = {(kind, word): self.catalog.facts(kind, word) for kind, word in entries}
        facts["model", model] |= drafted.facts
        defaults = self.catalog.defaults(engine)
        plan = {
            name: np.nan if fact.value is None else float(fact.value)
            for name, fact in defaults.items()
        }
        share = row.get("gpu_memory_utilization")
        if share is not None:
            plan["memory_utilization"] = float(share)
        if drafted.facts:
            plan["speculative_tokens"] = _draft_tokens(row) or 1.0
        for name, field in self.metrics.fields.items():
            if field.entity == "plan":
                plan.setdefault(name, np.nan if field.default is None else field.default)
        case = Case(str(row["id"]), model, card, weights, kv, "log", settings)
        known = [n for n, f in self.metrics.fields.items() if f.entity == "case"]
        case = replace(case, inputs={**dict.fromkeys(known, np.nan), **settings})
        return Inputs({"name": "log"}, "log", (case,), {}, plan, {}, facts, {model: groups}, {})


def _fact(value: float, unit: str = "1") -> Fact:
    return Fact(value, unit, (), "derived", "", Span("log"))


# What logs and commands call speculation with the module of the model itself.
_OWN_MODULE = re.compile(r"\b(mtp|nextn)\b", re.IGNORECASE)


def _draft_tokens(row: Row) -> float | None:
    """Draft tokens of a step, where the words for speculation state them: ``mtp 3``, ``k=7``."""
    found = re.search(r"(?<![\w.])(\d+)(?![\w.])", str(row.get("speculative")).replace("=", " "))
    return float(found[1]) if found else None


def _caches_states(row: Row, number: tuple[int, ...] | None) -> bool:
    if number is not None:
        return number >= STATES_CACHED_SINCE
    return str(row.get("date") or "") >= STATES_CACHED_DATE


def _mla_mode(row: Row, latent_only: bool) -> str:
    """``-mla`` of ik_llama.cpp, which only notes and names state; vLLM and others keep latents."""
    if engine_of(row) != "llama.cpp" or latent_only:
        return "3"
    found = re.search(r"mla ?=? ?(\d)", f"{row.get('notes') or ''} {row['id']}")
    return found[1] if found else "3"


def _expanded(facts: Mapping[str, Fact], entry: object) -> dict[str, Fact]:
    """Keys and values of every query head, as they are before absorption."""
    nope, value = (getattr(entry, name, None) for name in ("qk_nope_head_dim", "v_head_dim"))
    rope = getattr(entry, "qk_rope_head_dim", None)
    if nope is None or value is None or rope is None:
        blank = _fact(0, "1/token")
        return {n: replace(blank, value=None) for n in ("group_key_dim", "group_value_dim")}
    return {
        "group_kv_heads": facts["group_q_heads"],
        "group_key_dim": _fact(nope.value + rope.value, "1/token"),
        "group_value_dim": _fact(value.value, "1/token"),
    }


def _unplanned(row: Row, groups: tuple[GroupFacts, ...]) -> str:
    """What the metrics have no rule for, and which changes blocks and pools."""
    kinds = {g.kind for g in groups}
    states = any(g.facts["group_state_heads"].value for g in groups)
    if "compressed_index_key" in kinds and states and (release(row) or (0,)) < POOLED_SINCE:
        return "pooled keys beside states: no release that has the rule is stated"
    packed = any(g.kind.startswith("compress") for g in groups)
    if packed and (release(row) or PACKED_SINCE) < PACKED_SINCE:
        return "kinds packed side by side in one block: the rule holds from 0.25 on"
    return ""
