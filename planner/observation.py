"""What was planned beside what an engine stated when it started, and which assumption differs.

Everything here tolerates missing values: what the log or the plan does not say stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from planner.importers.startup_log import BLOCKS, GROUPS, Observation, token_report
from planner.planning import Plan

GIB = 2**30
AGREES = 0.005
"""Errors up to this share need no cause: the last digit of a log is as large."""
_DIGITS = 0.02 * GIB
"""What the last digits of four amounts in a log may hide when they are added."""
_MATTERS = 0.1
"""Parts of a difference up to this share of all parts are not named."""

Figure = float | str | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity: planned and measured in base units, and the plan's error relative to the log.

    ``cause`` names the assumption behind the difference, ``note`` what is known of the line itself.
    """

    quantity: str
    label: str
    unit: str
    planned: Figure
    measured: Figure
    error: float | None = None
    cause: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The parts of a memory budget on one GPU, in bytes; ``share`` is the memory utilization."""

    total: float | None
    share: float | None
    requested: float | None
    weights: float | None
    overhead: float | None
    pool: float | None


def measured_ledger(seen: Observation, basis: float | None = None) -> Ledger:
    """The budget of the rank with the smallest pool, as far as the log states it.

    Args:
        seen: what the log states.
        basis: memory that the utilization multiplies, used where the log states none.
    """
    share = _first(seen.value("utilization"), seen.value("mem_fraction"))
    free = seen.value("free_at_start") if seen.engine == "sglang" else None
    total = _first(seen.value("device_total"), free, basis)
    requested = seen.value("requested")
    if requested is None and total is not None and share is not None and _of_total(seen):
        requested = total * share
    weights, pool = seen.value("weights"), seen.value("kv_pool")
    overhead = _buffers(seen)
    if overhead is None and requested is not None and weights is not None and pool is not None:
        draft = seen.value("weights_draft") or 0.0
        overhead = requested - weights - draft - pool
    return Ledger(total, share, requested, weights, overhead, pool)


def _of_total(seen: Observation) -> bool:
    """Whether the share is one of total memory; on Gaudi it is one of what loading left."""
    return seen.engine == "vllm" and seen.word("platform") != "Gaudi"


def _buffers(seen: Observation) -> float | None:
    """llama.cpp takes no share of the memory: its overhead is what it prints as buffers."""
    if seen.engine != "llama.cpp" or seen.value("compute_buffer") is None:
        return None
    devices = [one for one in seen.by_rank("compute_buffer") if not _host(one)]
    sizes = [
        sum(found[rank].number for name in ("compute_buffer", "output_buffer")
            if rank in (found := seen.by_rank(name)))
        for rank in devices
    ]  # fmt: skip
    return max(sizes, default=None)


def _host(device: str) -> bool:
    return device.startswith("CPU") or device.endswith("_Host")


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


# ---- the plan's side ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """One observation and one case of a plan."""

    seen: Observation
    plan: Plan
    index: int

    def planned(self, *names: str) -> float | None:
        """The first of these inputs or metrics that the plan has."""
        for name in names:
            if name in self.plan.metrics.fields or name in self.plan.metrics.metrics:
                value = self.plan.value(name, self.index)
                return float(value) if isinstance(value, (int, float)) else None
        return None

    @property
    def plan_ledger(self) -> Ledger:
        return Ledger(
            self.planned("memory_total"), self.planned("memory_utilization"),
            self.planned("memory_requested"), self.planned("weights_gpu"),
            self.planned("engine_overhead"), self.planned("kv_pool"),
        )  # fmt: skip

    @property
    def log_ledger(self) -> Ledger:
        return measured_ledger(self.seen)

    @property
    def kv_format(self) -> str:
        """The KV format of the log in the words of the catalog; ``auto`` is the data type."""
        word = self.seen.word("kv_dtype") or ""
        word = self.seen.word("dtype") or word if word == "auto" else word
        return _FORMATS.get(word, word)

    @property
    def one_rate(self) -> bool:
        """Whether pool by tokens is a rate: one kind of layers, or a line that counts blocks."""
        report = token_report(self.seen)
        if self.seen.engine != "vllm" or report in (BLOCKS, GROUPS):
            return report != GROUPS
        groups = self.plan.inputs.groups[self.plan.cases[self.index].model]
        windows = groups[0].facts["group_window"].value
        return len(groups) == 1 and not windows and not self.planned("state_per_request")

    @property
    def other_tp(self) -> str:
        """What to say where the log runs on another number of ranks, which splits all else."""
        planned, stated = self.planned("tp"), self.seen.value("tp")
        differs = planned is not None and stated is not None and planned != stated
        return f"tensor parallel {stated:.0f}, planned {planned:.0f}" if differs else ""


_FORMATS = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
    "K f16 / V f16": "fp16", "K q8_0 / V q8_0": "q8_0",
}  # fmt: skip


def compare(seen: Observation, plan: Plan, case: int = 0) -> tuple[Compared, ...]:
    """Planned beside measured for one case, the quantities that either side knows.

    Args:
        seen: one engine start.
        plan: the plan.
        case: position of the case in the plan.
    """
    pair = _Pair(seen, plan, case)
    rows = [row for rule in _RULES for row in rule(pair)]
    notes: dict[str, str] = {}
    for doubt in seen.doubts:
        notes.setdefault(doubt.quantity, f"line {doubt.line}: {doubt.text}")
    return tuple(_noted(row, notes) for row in rows if row.measured is not None)


def _noted(row: Compared, notes: dict[str, str]) -> Compared:
    note = notes.get(row.quantity, "")
    return Compared(
        row.quantity, row.label, row.unit, row.planned, row.measured, row.error, row.cause, note
    )


def _row(
    quantity: str, label: str, unit: str, planned: Figure, measured: Figure, cause: str = ""
) -> Compared:
    error = None
    if isinstance(planned, float) and isinstance(measured, float) and measured:
        error = (planned - measured) / abs(measured)
    elif planned == measured == 0.0:
        error = 0.0
    told = cause if error is None or abs(error) > AGREES else ""
    return Compared(quantity, label, unit, planned, measured, error, told)


# ---- settings ----------------------------------------------------------------------------------


def _setting(
    quantity: str, label: str, unit: str, planned: Figure, stated: Figure, cause: str
) -> Compared:
    """A setting is the same or another; there is no error to speak of."""
    unlike = planned is not None and stated is not None and planned != stated
    return Compared(quantity, label, unit, planned, stated, None, cause if unlike else "")


def _settings(pair: _Pair) -> Iterable[Compared]:
    case, seen = pair.plan.cases[pair.index], pair.seen
    name = pair.plan.inputs.labels.get(("model", case.model), case.model)
    word = seen.word("model")
    other = "" if word is None or _alike(word, case.model) else "perhaps another model"
    yield Compared("model", "Model", "", name, word, None, other)
    yield _setting("tp", "Tensor parallel", "gpu", pair.planned("tp"), seen.value("tp"),
                   "weights and KV are split otherwise")  # fmt: skip
    unlike = pair.kv_format not in ("", "auto", case.kv_format)
    yield Compared("kv_dtype", "KV format", "", case.kv_format, seen.word("kv_dtype"), None,
                   f"KV format {pair.kv_format} in the log" if unlike else "")  # fmt: skip
    limit = seen.value("max_model_len")
    yield _setting("max_model_len", "Context limit", "token/request", pair.planned("context"),
                   limit, "concurrency is per request at the limit")  # fmt: skip
    yield _setting("block_size", "KV block", "token/block", pair.planned("engine_block_size"),
                   seen.value("block_size"), "block rule of the engine entry")  # fmt: skip


def _alike(word: str, model: str) -> bool:
    """Whether a name or path in a log may mean the model with this id."""
    stated, planned = (re.sub("[^a-z0-9]", "", text.lower()) for text in (word, model))
    return planned in stated or stated in planned


# ---- memory ------------------------------------------------------------------------------------


def _gib(amount: float) -> str:
    return f"{amount / GIB:.2f} GiB"


def _signed(amount: float) -> str:
    return f"{amount / GIB:+.2f} GiB"


def _terms(plan: Ledger, log: Ledger) -> list[tuple[float, str]]:
    """What each assumption adds to the pool of the log against that of the plan, in bytes."""
    terms = []
    if None not in (plan.total, plan.share) and log.total is not None:
        assert plan.total is not None and plan.share is not None
        terms.append((
            (log.total - plan.total) * plan.share,
            f"memory basis {_gib(log.total)}, planned {_gib(plan.total)}",
        ))  # fmt: skip
    total = _first(log.total, plan.total)
    if plan.share is not None and log.share is not None and total is not None:
        terms.append((
            (log.share - plan.share) * total,
            f"memory utilization {log.share:g}, planned {plan.share:g}",
        ))  # fmt: skip
    for name in ("weights", "overhead"):
        ours, theirs = getattr(plan, name), getattr(log, name)
        if ours is not None and theirs is not None:
            terms.append((ours - theirs, f"{name} {_gib(theirs)}, planned {_gib(ours)}"))
    return terms


def _largest(terms: list[tuple[float, str]]) -> str:
    """The terms that matter, the largest first, each with what it adds."""
    size = sum(abs(amount) for amount, _ in terms)
    kept = [one for one in terms if size and abs(one[0]) > _MATTERS * size]
    kept.sort(key=lambda one: -abs(one[0]))
    return "; ".join(f"{words} ({_signed(amount)})" for amount, words in kept)


def _pool_cause(plan: Ledger, log: Ledger) -> str:
    """The assumptions behind the difference of the pools, and what they leave open of it."""
    terms = _terms(plan, log)
    if plan.pool is None or log.pool is None:
        return _largest(terms)
    gap = log.pool - plan.pool
    if not terms:
        return f"the log explains nothing of {_signed(gap)}"
    rest, size = gap - sum(amount for amount, _ in terms), sum(abs(amount) for amount, _ in terms)
    if abs(rest) <= max(_DIGITS, _MATTERS * max(size, abs(gap))):
        return _largest(terms)
    told = f"the log does not explain the other {_signed(rest)}"
    return "; ".join(words for words in (_largest(terms), told) if words)


def _weights_cause(pair: _Pair) -> str:
    if pair.other_tp:
        return pair.other_tp
    word = pair.seen.word("quantization")
    case = pair.plan.cases[pair.index]
    loaded = f"the log states {word}" if word else "see which parts the format keeps wide"
    draft = "; a draft model was loaded beside it" if pair.seen.all("weights_draft") else ""
    return f"weight format {case.weight_format}: {loaded}{draft}"


# What logs state of the overhead by parts: the metric beside it, its label, what explains a miss.
_PARTS = {
    "activation": ("activation_peak", "Activation peak",
                   "assumptions batched_tokens and max_num_seqs, trial step of this release"),
    "non_torch": ("runtime_gpu", "Runtime, NCCL",
                  "runtime of the engine entry; other processes on the card count too"),
    "cuda_graph_estimated": ("graphs_gpu", "CUDA graphs",
                             "graphs of the engine entry; there is no formula for them"),
}  # fmt: skip


def _overhead_cause(seen: Observation) -> str:
    parts = {
        "activation": "activation", "non_torch": "non-torch", "cuda_graph_estimated": "graphs",
    }  # fmt: skip
    known = [f"{words} {_gib(value)}" for name, words in parts.items()
             if (value := seen.value(name)) is not None]  # fmt: skip
    if seen.engine == "sglang":
        return "SGLang keeps activations and graphs in the share that is not static"
    return "assumption overhead" + (f": {', '.join(known)} in the log" if known else "")


def _memory(pair: _Pair) -> Iterable[Compared]:
    plan, log, seen = pair.plan_ledger, pair.log_ledger, pair.seen
    share = "mem_fraction" if seen.value("utilization") is None else "utilization"
    yield _row("device_total", "Memory basis, one GPU", "byte/gpu", plan.total, log.total,
               "memory figure of the card, or which one the engine multiplies")  # fmt: skip
    yield _row(share, "Memory utilization", "1", plan.share, log.share,
               "assumption memory_utilization")  # fmt: skip
    basis = [one for one in _terms(plan, log) if one[1].startswith("memory")]
    yield _row("requested", "Memory requested, one GPU", "byte/gpu", plan.requested, log.requested,
               _largest(basis))  # fmt: skip
    yield _row("weights", "Weights, one GPU", "byte/gpu", plan.weights, log.weights,
               _weights_cause(pair))  # fmt: skip
    yield _row("overhead", "Engine overhead", "byte/gpu", plan.overhead, log.overhead,
               _overhead_cause(seen))  # fmt: skip
    for name, (metric, label, cause) in _PARTS.items():
        if (part := pair.planned(metric)) is not None:
            yield _row(name, label, "byte/gpu", part, seen.value(name), cause)
    yield _row("kv_pool", "KV pool, one GPU", "byte/gpu", plan.pool, log.pool,
               _pool_cause(plan, log))  # fmt: skip


# ---- cache -------------------------------------------------------------------------------------


def _cache(pair: _Pair) -> Iterable[Compared]:
    seen, pool, tokens = pair.seen, pair.seen.value("kv_pool"), pair.seen.value("kv_tokens")
    rate = seen.value("token_bytes")
    if rate is None and pool is not None and tokens and pair.one_rate:
        rate = pool / tokens
    ours = pair.planned("kv_per_token_gpu")
    differs = pair.kv_format not in ("", "auto", pair.plan.cases[pair.index].kv_format)
    cause = f"KV format {pair.kv_format}" if differs else "layers or heads that hold a cache"
    cause = pair.other_tp or cause
    yield _row("token_bytes", "KV per token, one GPU", "byte/token/gpu", ours, rate, cause)
    line = pair.planned("pool_tokens")  # what this engine prints, where its rule is known
    capacity = line if line is not None or not pair.one_rate else pair.planned("token_capacity")
    known = line is not None or pair.one_rate
    why = "" if known else "layers of several kinds share the pool; compare concurrency"
    yield _row("kv_tokens", "Tokens in the pool", "token", capacity, tokens,
               why or _split(pair.plan_ledger.pool, pool, ours, rate, "KV per token"))  # fmt: skip
    yield _row("gpu_blocks", "Blocks of the pool", "block", pair.planned("pool_blocks"),
               seen.value("gpu_blocks"), "the KV pool and the block rule")  # fmt: skip
    yield _concurrency(pair)


def _concurrency(pair: _Pair) -> Compared:
    seen, context = pair.seen, pair.planned("context")
    at, times = seen.value("concurrency_at"), seen.value("max_concurrency")
    planned = _first(pair.planned("pool_concurrency"), pair.planned("concurrency_quotient"))
    label = "Concurrency" if at is None else f"Concurrency at {at:,.0f} tokens"
    if times is not None and at != context:
        other = f"planned at {context or 0:,.0f} tokens; plan with contexts: [{at or 0:.0f} tokens]"
        return _row("max_concurrency", label, "request", None, times, other)
    pool = seen.value("kv_pool")
    held = pool / times if pool is not None and times else None
    cause = _split(pair.plan_ledger.pool, pool, pair.planned("kv_reserved_gpu"), held,
                   "what a request reserves (block rule, windows, states)")  # fmt: skip
    return _row("max_concurrency", label, "request", planned, times, cause)


def _split(
    pool: float | None, seen_pool: float | None, unit: float | None, seen_unit: float | None,
    words: str,
) -> str:  # fmt: skip
    """Which of pool and unit is further off; the quotient of the two is what was compared."""
    if not pool or not seen_pool or not unit or not seen_unit:
        return "the KV pool"
    by_pool, by_unit = abs(pool / seen_pool - 1), abs(unit / seen_unit - 1)
    first, second = ("the KV pool", words) if by_pool >= by_unit else (words, "the KV pool")
    share = min(by_pool, by_unit) / max(by_pool, by_unit) if by_pool or by_unit else 0
    return f"{first}, then {second}" if share > 0.1 else first


_RULES: tuple[Callable[[_Pair], Iterable[Compared]], ...] = (_settings, _memory, _cache)
