"""A comparison as data for other programs: raw numbers in base units, every name in English.

``format_version`` is ``MAJOR.MINOR``: readers ignore keys that they do not know within a major
version and refuse another major one. The shape is :data:`SHAPE`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from planner.diff import MARKS, Delta, Diff
from planner.diff_drivers import GROUPS
from planner.diff_inputs import Stand
from planner.diff_policy import Breach, Rule
from planner.diff_restate import catalog_hash, formula_hash
from planner.diff_why import Part, Why
from planner.planning import Plan
from planner.saved import product_version

KIND = "plan-diff"
FORMAT_VERSION = "1.0"

SHAPE: dict[str, str] = {
    "kind": "'plan-diff'",
    "format_version": "MAJOR.MINOR of this shape",
    "capsheet": "the release that wrote it",
    "steps[]": "one comparison, or the consecutive ones along a line of cards",
    "steps[].old, .new": "name, title, as_of, gpus, formulas and catalog (hashes), cases (count)",
    "steps[].comparable": "ok; barriers[] {field, old, new, reason}; warnings[]",
    "steps[].pairing": "pairs[] {old, new} as case ids; swaps[]; added[]; removed[]; lines[]",
    "steps[].summary": "pairs, better, worse, changed, unknown, same, crossings, moved, by",
    "steps[].status[]": "a mark per pair: better, worse, changed, unknown, same",
    "steps[].metrics.NAME": "unit, better, old[], new[], delta[], mark[]: a value per pair",
    "steps[].totals.NAME": "unit, better, old, new, delta, mark: figures of the whole plan",
    "steps[].crossings[]": "kind, metric, label, pair (null for the plan), old, new, mark",
    "steps[].ranking[]": "pair, question, old, new (null where unknown), old_tied, new_tied",
    "steps[].attribution[]": (
        "metric, unit, pair, method, order[], old, new, total, residual, mixtures, "
        "infeasible_mixtures, exact_ranges, refused; corrections {old, new}; cases_changed; "
        "groups[] {id, value, members[] {id, value, range[2], alone, old, new}}"
    ),
    "steps[].inputs[]": "group, driver, name, unit, pairs, old and new {value, owner, sources[]}",
    "steps[].corrections": "facts[] {side, kind, id, name, old, new}; formulas[] of metrics",
    "steps[].like_for_like[]": "pair, note, metrics[], rows[] {label, values[], infeasible}",
    "steps[].uncertainty[]": "side, kind, id, name, confidence, metric, result, low, high",
    "policy": "rules[]; breached[] {rule, step, pair, reason}",
}
"""Every key of the document, in words."""


def document(
    steps: Sequence[Diff],
    rules: Sequence[Rule] = (),
    breaches: Sequence[Sequence[Breach]] = (),
) -> dict[str, Any]:
    """One or several comparisons as plain data; numbers are base units, unknown is null."""
    broken = [
        {"rule": b.rule.text, "step": i, "pair": b.pair, "reason": b.reason}
        for i, some in enumerate(breaches)
        for b in some
    ]
    body = {
        "kind": KIND, "format_version": FORMAT_VERSION, "capsheet": product_version(),
        "steps": [_step(found) for found in steps],
        "policy": {"rules": list(dict.fromkeys(r.text for r in rules)), "breached": broken},
    }  # fmt: skip
    return dict(_plain(body))


def _plain(value: Any) -> Any:
    """Whole floats as integers, not-a-number as null."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value == int(value) and abs(value) < 2**53 else value
    return value


def _step(found: Diff) -> dict[str, Any]:
    sides, pairing = found.sides, found.pairing
    return {
        "old": _plan(sides.old),
        "new": _plan(sides.new),
        "comparable": {
            "ok": not found.barriers,
            "barriers": [asdict(b) for b in found.barriers],
            "warnings": list(found.warnings),
        },
        "pairing": {
            "pairs": [
                {"old": sides.old.cases[i].id, "new": sides.new.cases[j].id}
                for i, j in sides.pairs
            ],
            "swaps": [asdict(s) for s in pairing.swaps],
            "added": [sides.new.cases[j].id for j in pairing.added],
            "removed": [sides.old.cases[i].id for i in pairing.removed],
            "lines": list(pairing.lines),
        },
        "summary": {
            "pairs": len(sides.pairs),
            **{mark: found.counts.get(mark, 0) for mark in MARKS},
            "crossings": len(found.crossings), "moved": found.moved, "by": found.by,
            "tolerance": found.options.tolerance,
        },
        "status": list(found.statuses),
        "metrics": {n: _delta(found, d) for n, d in found.deltas.items()},
        "totals": {n: _total(found, d) for n, d in found.totals.items()},
        "only_old": list(found.only[0]),
        "only_new": list(found.only[1]),
        "crossings": [asdict(c) for c in found.crossings],
        "ranking": [asdict(r) for r in found.ranks],
        "attribution": [_why(found, w) for w in found.whys],
        "inputs": [
            {"group": i.group, "driver": i.driver, "name": i.name, "unit": _unit(found, i.name),
             "pairs": i.pairs, "old": _stand(i.old), "new": _stand(i.new)}
            for i in found.inputs
        ],
        "corrections": {
            "facts": [
                {"side": f.side, "kind": f.kind, "id": f.word, "name": f.name, "old": f.old,
                 "new": f.new, "sources": [asdict(s) for s in f.sources]}
                for f in found.facts
            ],
            "formulas": list(found.formulas),
        },
        "like_for_like": [asdict(p) for p in found.panels],
        "uncertainty": [
            {"side": d.side, "kind": d.kind, "id": d.owner, "name": d.name,
             "confidence": d.stand.confidence, "value": d.stand.value, "metric": d.metric,
             "result": d.result, "low": d.low, "high": d.high,
             "readings": [list(r) for r in d.readings]}
            for d in found.doubts
        ],
    }  # fmt: skip


def _plan(plan: Plan) -> dict[str, Any]:
    scenario = plan.inputs.scenario
    return {
        "name": plan.name, "title": plan.title, "as_of": scenario["as_of"],
        "owner": scenario["owner"], "gpus": list(dict.fromkeys(c.gpu for c in plan.cases)),
        "formulas": formula_hash(plan.metrics), "catalog": catalog_hash(plan),
        "cases": len(plan.cases),
    }  # fmt: skip


def _delta(found: Diff, delta: Delta) -> dict[str, Any]:
    return {
        "unit": _unit(found, delta.name), "better": delta.metric.entry.better,
        "old": list(delta.old), "new": list(delta.new), "delta": list(delta.changes),
        "mark": list(delta.marks),
    }  # fmt: skip


def _total(found: Diff, delta: Delta) -> dict[str, Any]:
    whole = _delta(found, delta)
    return {k: v[0] if isinstance(v, list) else v for k, v in whole.items()}


def _unit(found: Diff, name: str) -> str:
    metrics = found.sides.new.metrics
    there = name in metrics.metrics or name in metrics.fields
    return metrics.unit_of(name) if there else "1"


def _why(found: Diff, why: Why) -> dict[str, Any]:
    return {
        "metric": why.metric, "unit": _unit(found, why.metric), "pair": why.pair,
        "method": why.method, "order": list(why.order), "old": why.old, "new": why.new,
        "total": why.total, "residual": why.residual, "mixtures": why.mixtures,
        "infeasible_mixtures": why.infeasible, "exact_ranges": why.exact,
        "note": why.note, "refused": why.refused,
        "corrections": dict(zip(("old", "new"), why.corrections, strict=True)),
        "cases_changed": why.cases,
        "groups": [
            {"id": b.id, "label": GROUPS[b.id], "value": b.share,
             "members": [_part(p) for p in b.parts]}
            for b in why.bundles
        ],
    }  # fmt: skip


def _part(part: Part) -> dict[str, Any]:
    return {
        "id": part.driver.id, "label": part.driver.label, "value": part.share,
        "range": [part.low, part.high], "alone": part.alone, "old": part.old, "new": part.new,
    }  # fmt: skip


def _stand(stand: Stand) -> dict[str, Any]:
    return {
        "value": stand.value, "owner": stand.owner, "confidence": stand.confidence,
        "place": stand.place, "note": stand.note, "sources": [asdict(s) for s in stand.sources],
    }  # fmt: skip
