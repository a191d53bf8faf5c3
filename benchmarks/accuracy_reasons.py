"""Why a planned pool and the log differ, as far as the row tells; doubts that lie in the row."""

from __future__ import annotations

from accuracy_cases import GIB, Prepared, Row

OWN_SHARE_SLACK = 0.02
"""How far the printed parts of a log may be from the utilisation that it states."""

UNIFIED = frozenset({"gb10", "jetson-thor"})
"""Cards on which vLLM counts as free what the host has available (utils/mem_utils.py)."""

UNSTATED = "a setting that the row does not state: "
LOG = "the log: "
DOUBTS = (UNSTATED, LOG)
"""Reasons that lie in the row: the aim is not held against it, the error still counts."""


def seen(row: Row, name: str) -> float | None:
    """A printed figure; None where there is none."""
    value = (row.get("observed") or {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def too_heavy(p: Prepared) -> bool:
    """Whether the weights alone exceed what the engine may take."""
    weights, requested = p.value("weights_gpu"), p.value("memory_requested")
    return weights is not None and requested is not None and weights > requested


def _own_share(p: Prepared) -> float | None:
    """The utilisation that the printed parts of a log add up to, where it prints them all."""
    parts = [seen(p.row, n) for n in ("weights_gib", "activation_gib", "non_torch_gib",
                                       "kv_available_gib")]  # fmt: skip
    total = p.value("memory_total")
    if total is None or any(part is None for part in parts):
        return None
    return sum(part for part in parts if part is not None) * GIB / total


def pool_reason(p: Prepared, aim: float) -> str:
    """A doubt of the row, or what the log leaves beside weights and KV against the plan."""
    measured = (seen(p.row, "kv_available_gib") or 0) * GIB
    if not measured:
        return ""
    return _doubt(p, aim, measured) or f"{_difference(p)}{_hint(p, measured)}"


def _doubt(p: Prepared, aim: float, measured: float) -> str:
    own, stated = _own_share(p), float(p.row["gpu_memory_utilization"])
    if own is not None and abs(own - stated) > OWN_SHARE_SLACK:
        return f"{LOG}its own parts add up to a utilisation of {own:.2f}, not {stated:.2f}"
    without = p.value("kv_pool", graphs_gpu=0.0) if p.value("graphs_gpu") else None
    if without is not None and abs(without / measured - 1) <= aim:
        return f"{UNSTATED}no estimate of CUDA graphs taken out meets the log"
    return ""


def _difference(p: Prepared) -> str:
    """The overhead of the log against the planned one, with the parts that are printed."""
    loaded = seen(p.row, "weights_gib")
    ours = (p.value("loading_gpu") or 0) / GIB
    requested = (p.value("memory_requested") or 0) / GIB
    there = seen(p.row, "kv_available_gib") or 0
    over = (p.value("engine_overhead") or 0) / GIB
    rest = requested - there - (ours if loaded is None else loaded)
    beside = "overhead" if loaded is not None else "overhead (beside planned weights)"
    known = [f"{name} {value:.2f}" for key, name in (
        ("activation_gib", "activation"), ("non_torch_gib", "non-torch"),
        ("cuda_graph_gib", "graphs")) if (value := seen(p.row, key)) is not None]  # fmt: skip
    told = f" ({', '.join(known)})" if known else ""
    off = "" if loaded is None else f"; weights {loaded:.2f}, planned {ours:.2f}"
    return f"{beside} {rest:.2f} GiB in the log, planned {over:.2f}{told}{off}"


def _hint(p: Prepared, measured: float) -> str:
    """What is known of such misses: memory shared with the host, another kernel."""
    if p.gpu in UNIFIED:
        return "; unified memory: pages of the host count too, and no figure of theirs is known"
    other = p.value("kv_pool", on_hopper=0.0) or 0.0
    ours = p.value("kv_pool") or 0.0
    if abs(other - measured) < abs(ours - measured):
        return f"; {other / measured - 1:+.1%} with Marlin, where Triton's kernels are missing"
    return ""
