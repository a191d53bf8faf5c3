"""Planned beside measured for the quantities that a row may score; misses get the reason found.

Printed figures have two decimals of a GiB or of a concurrency: a planned figure that the digits
allow counts as met, and its error is still the one to the printed figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from accuracy_cases import GIB, Prepared, engine_of
from accuracy_reasons import DOUBTS, LOG, UNSTATED, pool_reason, seen, too_heavy

HALF_DIGIT = 0.005
BYTES = "KV bytes per token, one GPU"
TOKENS = "tokens given the pool"
BLOCKS = "tokens given the blocks (exact)"
CONCURRENCY = "concurrency given the pool"
NEEDED = "memory of one request"
WEIGHTS = "weights, one GPU"
ACTIVATION = "activation peak"
POOL = "KV pool from model, card and settings"
AIMS: dict[str, float] = {
    BYTES: 0.005, BLOCKS: 0.0, TOKENS: 0.005, CONCURRENCY: 0.005, NEEDED: 0.005, WEIGHTS: 0.02,
    ACTIVATION: 0.1, POOL: 0.02,
}  # fmt: skip
MEDIAN_ONLY = frozenset({ACTIVATION, POOL})
"""Quantities whose aim is one for the median; every row counts in the others."""
SCORED_AS = {
    BYTES: "kv_bytes_per_token", BLOCKS: "kv_tokens_given_pool", TOKENS: "kv_tokens_given_pool",
    CONCURRENCY: "max_concurrency", NEEDED: "needed_gib_for_one", WEIGHTS: "weights_gib",
    ACTIVATION: "activation_gib", POOL: "kv_pool_gib",
}  # fmt: skip


class SkippedError(Exception):
    """The quantity of this row cannot be scored, with the reason."""


@dataclass(frozen=True, slots=True)
class Score:
    """One quantity of one row; ``met`` honours the printed digits, ``excused`` a doubt of the log.

    Figures are in base units; ``error`` is planned against measured, relative and signed.
    """

    quantity: str
    row: str
    kind: str
    planned: float
    measured: float
    met: bool
    reason: str = ""
    excused: bool = False

    @property
    def error(self) -> float:
        """Relative error of the planned figure."""
        return self.planned / self.measured - 1


def scores(prepared: Prepared) -> Iterator[Score | tuple[str, str]]:
    """Scores of the quantities that the row allows, or the quantity with why it has none."""
    for quantity, rule in _RULES.items():
        if SCORED_AS[quantity] not in (prepared.row.get("score_on") or ()):
            continue
        try:
            found = rule(prepared)
        except SkippedError as why:
            yield quantity, str(why)
        else:
            if found is not None:
                yield found


def _need(value: float | None, words: str) -> float:
    if value is None:
        raise SkippedError(f"unknown: {words}")
    return value


def _score(
    p: Prepared, quantity: str, planned: float, measured: float, span: float = 0.0,
    reason: str = "",
) -> Score:  # fmt: skip
    """``span``: how far the printed digits let the planned figure move, in its own unit."""
    if measured == 0:
        raise SkippedError("the log states 0")
    off = max(0.0, abs(planned - measured) - span) / abs(measured)
    met = off <= AIMS[quantity]
    excused = not met and reason.startswith(DOUBTS)
    return Score(quantity, str(p.row["id"]), str(p.row["kind"]), planned, measured, met,
                 "" if met else reason, excused)  # fmt: skip


# ---- KV bytes per token --------------------------------------------------------------------------


def implied_rate(p: Prepared) -> tuple[float | None, str]:
    """Bytes per token that the log implies, and what it follows from; the hand figure otherwise."""
    check = p.row.get("check") or {}
    verdict = str(check.get("verdict") or "")
    if "circular" in verdict:
        raise SkippedError("model or setting was inferred from this very figure")
    if "not a rate" in verdict:
        raise SkippedError("not a rate: a fixed cost per request is folded in")
    if (stated := check.get("implied_bytes_per_token_per_gpu")) is not None:
        return float(stated), "implied"
    tokens = seen(p.row, "kv_tokens") or seen(p.row, "n_ctx")
    size = seen(p.row, "kv_size_gib") or (seen(p.row, "kv_size_mib") or 0) / 1024
    if not size and p.one_kind and p.row.get("token_report") == "blocks_x_block_size":
        size = seen(p.row, "kv_available_gib") or 0
    if size and tokens:
        return size * GIB / tokens, "implied"
    hand = check.get("hand_bytes_per_token_per_gpu")
    return (None if hand is None else float(hand)), "hand"


def kv_bytes(p: Prepared) -> Score:
    measured, _ = implied_rate(p)
    if not p.kv_known:
        raise SkippedError(f"KV format not stated: {p.row.get('kv_cache_dtype')}")
    planned = _need(p.value("kv_per_token_gpu"), "widths of the cached heads")
    found = _score(p, BYTES, planned, _need(measured, "pool or tokens"))
    check = p.row.get("check") or {}
    hand = check.get("hand_bytes_per_token_per_gpu")
    spread = check.get("verdict") == "rounding or rank spread"
    if not found.met and spread and hand and abs(planned / float(hand) - 1) <= AIMS[BYTES]:
        words = f"{LOG}pool of one rank, tokens are the least of all; the hand figure is met"
        return Score(BYTES, found.row, found.kind, planned, found.measured, False, words, True)
    if not found.met:
        return Score(BYTES, found.row, found.kind, planned, found.measured, False,
                     "layers, heads or widths of the cache differ from the entry")  # fmt: skip
    return found


# ---- tokens and concurrency ----------------------------------------------------------------------


def _pool(p: Prepared) -> float | None:
    pool = seen(p.row, "kv_available_gib")
    return None if pool is None or pool <= 0 else pool * GIB


def _blocks(p: Prepared) -> float | None:
    """Blocks that the log counts; ``blocks_available`` are those that were free at some time."""
    return seen(p.row, "gpu_blocks") or seen(p.row, "mamba_cache_blocks")


def _planned_here(p: Prepared) -> None:
    if not p.kv_known:
        raise SkippedError(f"KV format not stated: {p.row.get('kv_cache_dtype')}")
    if p.unplanned:
        raise SkippedError(p.unplanned)
    if engine_of(p.row) != "vllm":
        raise SkippedError(f"no block rule for {p.row.get('engine')}")


def _line(p: Prepared, given: dict[str, float]) -> float | None:
    """The token line as this release prints it."""
    blocks, size = p.value("pool_blocks", **given), p.value("block_tokens", **given)
    report = p.row.get("token_report")
    if report == "concurrency_x_max_model_len":
        times, context = p.value("pool_concurrency", **given), p.value("context", **given)
        return None if times is None or context is None else times * context
    if blocks is None or size is None:
        return None
    if report == "blocks_over_groups":
        groups = p.value("groups_in_pool", **given)
        return None if not groups else blocks // groups * size
    return blocks * size


def tokens_of_blocks(p: Prepared) -> Score | None:
    count, tokens = _blocks(p), seen(p.row, "kv_tokens")
    if count is None or tokens is None:
        return None
    _planned_here(p)

    def planned(**other: float) -> float | None:
        line = _line(p, {"pool_blocks": count, **other})
        return None if line is None else float(int(line))

    ours = _need(planned(), "block rule of the kinds")
    return _score(p, BLOCKS, ours, tokens, reason=_other_setting(p, planned, tokens, 0.0))


def tokens_of_pool(p: Prepared) -> Score | None:
    if _blocks(p) is not None and seen(p.row, "kv_tokens") is not None:
        return None
    _planned_here(p)
    pool = _need(_pool(p), "pool not printed")
    tokens = _need(seen(p.row, "kv_tokens"), "tokens not printed")

    def planned(**other: float) -> float | None:
        return _line(p, {"stage_pool": pool, **other})

    ours = _need(planned(), "block rule of the kinds")
    high = planned(stage_pool=pool + HALF_DIGIT * GIB) or ours
    low = planned(stage_pool=max(1.0, pool - HALF_DIGIT * GIB)) or ours
    size = p.value("block_tokens", stage_pool=pool) or 0
    span = max(high - ours, ours - low) + size
    return _score(p, TOKENS, ours, tokens, span, _other_setting(p, planned, tokens, span))


def concurrency(p: Prepared) -> Score:
    _planned_here(p)
    times = _need(seen(p.row, "max_concurrency"), "concurrency not printed")
    given: dict[str, float] = {}
    if (at := seen(p.row, "max_concurrency_at")) is not None:
        given["context"] = at
    pool, count = _pool(p), _blocks(p)
    if count is None and pool is None:
        count = _counted(p)
    if count is not None:
        given["pool_blocks"] = count
    elif pool is not None:
        given["stage_pool"] = pool

    def planned(**other: float) -> float | None:
        return p.value("pool_concurrency", **{**given, **other})

    ours = _need(planned(), "block rule of the kinds")
    span = HALF_DIGIT
    if "stage_pool" in given and pool is not None:
        span += (planned(stage_pool=pool + HALF_DIGIT * GIB) or ours) - ours
    return _score(p, CONCURRENCY, ours, times, span, _other_setting(p, planned, times, span))


def _counted(p: Prepared) -> float:
    """Blocks behind a token line that counts them; one that follows from the concurrency cannot."""
    tokens = _need(seen(p.row, "kv_tokens"), "neither pool nor blocks nor tokens are printed")
    report = p.row.get("token_report")
    if report not in ("blocks_x_block_size", "blocks_over_groups"):
        raise SkippedError("no pool in the log, and its tokens follow from its concurrency")
    over = p.value("groups_in_pool") if report == "blocks_over_groups" else 1.0
    size = p.value("block_tokens")
    return tokens / _need(size, "block") * _need(over, "groups")


def needed(p: Prepared) -> Score:
    _planned_here(p)
    measured = _need(seen(p.row, "needed_gib_for_one"), "not printed") * GIB
    at = _need(seen(p.row, "needed_at"), "length not printed")

    def planned(**other: float) -> float | None:
        blocks = p.value("request_blocks", **{"context": at, **other})
        size = p.value("block_bytes", **other)
        return None if blocks is None or size is None else blocks * size

    ours = _need(planned(), "block rule of the kinds")
    span = HALF_DIGIT * GIB
    return _score(p, NEEDED, ours, measured, span, _other_setting(p, planned, measured, span))


def _other_setting(
    p: Prepared, planned: Callable[..., float | None], measured: float, span: float
) -> str:
    """Which setting that the row does not state would meet the log."""

    def meets(**other: float) -> bool:
        found = planned(**other)
        return found is not None and abs(found - measured) - span <= AIMS[TOKENS] * measured

    cached = p.value("prefix_caching")
    if meets(prefix_caching=0.0 if cached else 1.0):
        return f"{UNSTATED}prefix caching {'off' if cached else 'on'} meets the log"
    flight = float(p.value("tokens_in_flight") or 0)
    unstated = "" if p.row.get("max_num_batched_tokens") else UNSTATED
    for words, times in (("twice", 2.0), ("half", 0.5)):
        if meets(tokens_in_flight=times * flight):
            return f"{unstated}{words} the tokens in flight meets the log"
    check = p.row.get("check") or {}
    if check.get("verdict") == "rounding or rank spread":
        return f"{LOG}pool printed for one rank, tokens and concurrency are the least of all"
    return "no setting tried meets the log: groups of a draft or a fork's own rule"


# ---- weights and pool ----------------------------------------------------------------------------


def weights(p: Prepared) -> Score:
    if p.weight_format is None:
        raise SkippedError(f"quantisation not of the catalog: {p.row.get('model_quant')}")
    if p.undrafted:
        raise SkippedError(p.undrafted)
    measured = _need(seen(p.row, "weights_gib"), "not printed") * GIB
    # Logs of pipeline stages quote the first rank.
    staged = float(p.row.get("pp") or 1) > 1
    planned = _need(p.value("stage_weights" if staged else "weights_gpu"), "parameter counts")
    if engine_of(p.row) == "vllm":
        planned += sum(p.value(n) or 0.0 for n in ("rotary_tables", "deepstack_buffers"))
    return _score(p, WEIGHTS, planned, measured, HALF_DIGIT * GIB, _weights_reason(p, planned))


def _weights_reason(p: Prepared, planned: float) -> str:
    less = (seen(p.row, "weights_gib") or 0) - planned / GIB
    words = f"{abs(less):.2f} GiB {'more' if less > 0 else 'less'} in the log"
    return f"{words}: cause not found"


def activation(p: Prepared) -> Score:
    if p.gpu is None:
        raise SkippedError(f"card not in the catalog: {p.row.get('gpu')}")
    if p.undrafted:
        raise SkippedError(p.undrafted)
    _profiled(p)
    measured = _need(seen(p.row, "activation_gib"), "not printed") * GIB
    # Logs of pipeline stages quote the first rank, which samples nothing.
    name = "activation_first" if float(p.row.get("pp") or 1) > 1 else "activation_peak"
    planned = _need(p.value(name), "no parts of the overhead in the engine entry")
    words = f"{measured / GIB:.2f} GiB in the log, planned {planned / GIB:.2f}"
    return _score(p, ACTIVATION, planned, measured, HALF_DIGIT * GIB, words)


def _profiled(p: Prepared) -> None:
    """The parts of the overhead are those of PyTorch on GPUs."""
    if p.gpu is not None and p.gpu.startswith(("tpu", "trainium", "inferentia")):
        raise SkippedError(f"no rule for what compiled programs take on {p.row.get('gpu')}")


def pool(p: Prepared) -> Score:
    if p.gpu is None:
        raise SkippedError(f"card not in the catalog: {p.row.get('gpu')}")
    if p.row.get("gpu_memory_utilization") is None:
        raise SkippedError("utilisation not stated")
    if engine_of(p.row) != "vllm":
        raise SkippedError(f"no memory rule for {p.row.get('engine')}")
    if p.gpu.startswith("gaudi"):
        raise SkippedError("Gaudi takes a share of the memory that loading leaves: no rule")
    _profiled(p)
    if p.weight_format is None:
        raise SkippedError(f"quantisation not of the catalog: {p.row.get('model_quant')}")
    if p.undrafted:
        raise SkippedError(p.undrafted)
    measured = _need(seen(p.row, "kv_available_gib"), "pool not printed") * GIB
    planned = _need(p.value("kv_pool"), "memory of the card, or weights of the draft")
    if not p.row.get("model_quant") and measured > 0 and too_heavy(p):
        raise SkippedError("quantisation not stated, and the published weights do not fit the card")
    return _score(p, POOL, planned, measured, HALF_DIGIT * GIB, pool_reason(p, AIMS[POOL]))


_RULES: dict[str, Callable[[Prepared], Score | None]] = {
    BYTES: kv_bytes, BLOCKS: tokens_of_blocks, TOKENS: tokens_of_pool, CONCURRENCY: concurrency,
    NEEDED: needed, WEIGHTS: weights,
    ACTIVATION: activation, POOL: pool,
}  # fmt: skip
