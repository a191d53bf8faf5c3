"""A measured overhead as an engine entry of a local catalog, with the log as its source."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

import yaml

from planner import yamlfile
from planner.errors import InputError, Problem, Span
from planner.figures import read_record
from planner.importers.startup_log import Observation
from planner.observation import GIB, Ledger, measured_ledger
from planner.records import Engine, Entry

SOURCE = "start-up-log"
"""Id of the source in the entries that are written."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """One entry to write: its id, which is also its file name, and its YAML text."""

    id: str
    text: str


def overlay(
    seen: Observation, base: Entry, log: str, number: int = 0, basis: float | None = None
) -> Overlay:
    """The engine entry of one start: the base entry with what the log measured put over it.

    Args:
        seen: one engine start.
        base: the entry whose rules hold; its figures keep their sources.
        log: name of the log file.
        number: counts the entries of one release; 0 stands alone.
        basis: memory that the utilization multiplies, where the log states none.

    Raises:
        InputError: the log states too little for an overhead, or one below zero.
    """
    ledger = measured_ledger(seen, basis)
    overhead = ledger.overhead
    if overhead is None or overhead < 0:
        raise InputError(_refused(ledger, log))
    word = _id(seen, number)
    data = _entry(seen, base, word)
    data["sources"][SOURCE] = {
        "title": f"Start-up log of {seen.name}, file {log}" + _dated(seen),
        "confidence": "log",
    }
    figure = {"source": SOURCE, "confidence": "log"}
    stated = basis is None or seen.value("device_total") is not None
    data["defaults"]["overhead"] = {
        "value": f"{round(overhead / GIB, 4):g} GiB", **figure, "note": _how(seen, ledger, stated),
    }  # fmt: skip
    if ledger.share is not None:
        data["defaults"]["memory_utilization"] = {"value": round(ledger.share, 6), **figure}
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    read_record(yamlfile.parse(text, f"{word}.yaml"), Engine)
    return Overlay(word, text)


def _refused(ledger: Ledger, log: str) -> Problem:
    needs = {
        "memory requested": ledger.requested, "weights": ledger.weights, "KV pool": ledger.pool,
    }  # fmt: skip
    missing = [name for name, value in needs.items() if value is None]
    if ledger.overhead is not None:
        found = f"{ledger.overhead / GIB:.2f} GiB, since other processes held memory"
        return Problem(Span(log), "", "an overhead of 0 or more", found)
    hint = "a plan of the same case may supply the memory of the card: give --scenario"
    found = f"no {' and no '.join(missing) or 'such lines'}"
    return Problem(Span(log), "", "lines that state an overhead", found, hint)


def _id(seen: Observation, number: int) -> str:
    """Made of our words and of digits, never of text from the log."""
    platform = (seen.word("platform") or "").lower()
    parts = ["ik-llama.cpp" if platform.startswith("ik") else seen.engine]
    parts += [platform] if re.fullmatch("[a-z]{1,12}", platform) else []
    parts += [".".join(map(str, seen.release))] if seen.release else []
    parts += ["measured", *([str(number)] if number else [])]
    return "-".join(parts)[:60]


def _entry(seen: Observation, base: Entry, word: str) -> dict[str, Any]:
    old = copy.deepcopy(base.file.data)
    data: dict[str, Any] = {"id": word, "label": f"{seen.name}, overhead measured"}
    data["note"] = (
        f"The rules are those of the entry {base.record.id}; what one start measured stands over "
        "them. The overhead holds for that model, card and settings."
    )
    if seen.release is not None:
        data["release"] = ".".join(map(str, seen.release))
    data["sources"] = old.pop("sources", None) or {}
    dropped = (*data, "aliases")
    return data | {key: value for key, value in old.items() if key not in dropped}


def _dated(seen: Observation) -> str:
    return f", dated {seen.date}" if seen.date else ""


def _how(seen: Observation, ledger: Ledger, stated: bool) -> str:
    if ledger.requested is None or seen.engine == "llama.cpp":
        return "Compute and output buffers of the fullest device."
    basis = "" if stated else " The memory of the card is that of the plan, not of the log."
    draft = seen.value("weights_draft")
    less = f", draft model {draft / GIB:.2f} GiB" if draft else ""
    weights, pool = (ledger.weights or 0) / GIB, (ledger.pool or 0) / GIB
    return (
        f"Requested {ledger.requested / GIB:.2f} GiB less weights {weights:.2f} GiB{less} and KV "
        f"pool {pool:.2f} GiB.{basis}"
    )
