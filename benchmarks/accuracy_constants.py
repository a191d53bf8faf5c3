"""The figures of engine entries that rest on logs: which ones, and what stands without them.

Everything else in the parts of the overhead is counted (bytes of a logit, numbers that live through
a step). Leaving a source out answers how near a plan comes to a log that no figure has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose

from accuracy_cases import GIB, Prepared

UNITS = {"GiB": GIB, "MiB": 2**20, "B": 1}


@dataclass(frozen=True, slots=True)
class Constant:
    """A field of engine entries, the source (part of its address) that it rests on, and why.

    ``without`` is the figure that would stand if that source were not known.
    """

    field: str
    releases: str
    value: float
    source: str
    without: float
    why: str
    unit: str = "GiB"

    def bytes_of(self, figure: float) -> float:
        """A figure of this constant in bytes."""
        return figure * UNITS[self.unit]


CONSTANTS = (
    Constant("engine_runtime", "0.17 on", 0.25, "llm-d-planner/pull/205", 0.13,
             "0.24 to 0.25 in logs of one H100; without them the 0.13 of release 0.11 would stand"),
    Constant("engine_fast_link", "0.17 on", 1.45, "llm-d-planner/pull/205", 0.04,
             "2.07 and 2.13 with 2 and 4 H100, less runtime and NCCL; without them that of 0.11"),
    Constant("engine_runtime", "0.11 to 0.16", 0.13, "empirical-vllm-memory", 0.25,
             "0.13 to 0.14 in logs of one H100; without them that of 0.19"),
    Constant("engine_fast_link", "0.11 to 0.16", 0.04, "empirical-vllm-memory", 1.42,
             "0.54 with 2 H100, less runtime and NCCL; without it that of 0.9"),
    Constant("engine_fast_link", "0.6 to 0.9", 1.42, "vllm/pull/10511", 0.04,
             "3.58 with 2 H100 less 1.79 with one and NCCL; without them that of 0.11"),
    Constant("engine_runtime", "0.10", 0.03, "vLLM-benchmarking", 0.13,
             "what logs on A100 leave beside the logits; without them that of 0.11"),
    Constant("engine_patch_kept", "all", 15, "club-3090", 16.6,
             "with the divided part 22.6 in a log of two ranks; without it the other's 24.9", "B"),
    Constant("engine_patch_split", "all", 15, "club-3090", 16.6, "the same", "B"),
    Constant("engine_patch_kept", "all", 15, "talos", 15.1, "without it the first one's 22.6", "B"),
    Constant("engine_patch_split", "all", 15, "talos", 15.1, "the same", "B"),
    Constant("engine_graph", "0.21 on", 8, "llm-d-planner/pull/205", 7.6,
             "5.5 to 8.4 in logs of H100; without them what a log of an A100 shows", "MiB"),
)  # fmt: skip


def without(prepared: Prepared) -> Mapping[str, float]:
    """Figures in bytes that would stand if the source of this row had not been seen."""
    source = str(prepared.row.get("source"))
    seen = [c for c in CONSTANTS if c.source in source]
    return {
        c.field: c.bytes_of(c.without)
        for c in seen
        if isclose(prepared.value(c.field) or 0, c.bytes_of(c.value), rel_tol=1e-6)
    }
