"""The waterfall of a bridge: the texts are those of the table beside it, so they add up alike."""

from __future__ import annotations

from reports.charts import Part, Step, WaterfallChart
from reports.charts_waterfall import Tone
from reports.view_diff_parts import Bridge
from reports.words import say


def waterfall_of(bridge: Bridge, name: str = "") -> WaterfallChart | None:
    """The chart of a divided difference; None where the difference is not divided.

    Args:
        bridge: what to draw.
        name: the case in the title, where more than one is shown.
    """
    if bridge.refused or bridge.total_raw is None or not bridge.groups:
        return None
    steps = tuple(
        Step(
            group.label, group.raw, _text(group.text, group.raw, bridge),
            _tone(group.raw, bridge.better),
            tuple(Part(one.label, one.raw, _text(one.text, one.raw, bridge),
                       _tone(one.raw, bridge.better)) for one in group.shares),
        )
        for group in bridge.groups
    )  # fmt: skip
    where = f", {name}" if name else ""
    return WaterfallChart(
        say(f"What moved {bridge.label}{where}?"), bridge.unit,
        (say("old"), _number(bridge.old_raw), bridge.old),
        (say("new"), _number(bridge.new_raw), bridge.new),
        steps,
    )  # fmt: skip


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) else None


def _tone(amount: float, better: str) -> Tone:
    if not amount or better not in ("up", "down"):
        return "plain"
    return "better" if (amount > 0) == (better == "up") else "worse"


def _text(text: str, amount: float, bridge: Bridge) -> str:
    """The amount, and whether it is for the better: a colour says nothing by itself."""
    tone = _tone(amount, bridge.better)
    return text if tone == "plain" else f"{text} {say(tone)}"
