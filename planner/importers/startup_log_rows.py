"""One row per line pattern: what a line says, in which unit, and by which releases.

A pattern is a regular expression in which ``<name>`` stands for the number, count or word of a
quantity and ``<name~>`` for a number with its unit. ``printed`` is the unit that an engine prints
where it means another one; ``since`` and ``until`` are the first and the last release in which the
line was seen, where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planner.importers.startup_log_quantities import QUANTITIES, Kind

_NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?"
_WHOLE = r"[0-9]{1,15}(?:,[0-9]{3}){0,5}"
_GROUPS: dict[Kind, str] = {
    "bytes": _NUMBER, "ratio": _NUMBER, "times": _NUMBER, "tokens": _WHOLE, "blocks": _WHOLE,
    "count": _WHOLE, "words": r"[^\s'\"(),;={}\[\]]{1,200}",
}  # fmt: skip
_MARK = re.compile(r"(?<!\?P)<([a-z_]+)(~?)>")
UNIT = "_unit"
"""Ending of a group that holds the unit of another one."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line pattern of one engine. ``needle`` is a text that every such line holds."""

    engine: str
    needle: str
    pattern: re.Pattern[str]
    unit: str = ""
    printed: str = ""
    since: str = ""
    until: str = ""
    starts: bool = False
    says: Mapping[str, str] = field(default_factory=dict)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities that such a line can state."""
        names = (*self.pattern.groupindex, *self.says)
        return tuple(name for name in names if name in QUANTITIES)


def _group(mark: re.Match[str]) -> str:
    name = mark[1]
    text = f"(?P<{name}>{_GROUPS[QUANTITIES[name].kind]})"
    return text + rf" ?(?P<{name}{UNIT}>[KMGT]?i?B)" if mark[2] else text


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes the rows of one engine."""

    engine: str

    def __call__(
        self,
        needle: str,
        pattern: str,
        unit: str = "GiB",
        *,
        printed: str = "",
        since: str = "",
        until: str = "",
        starts: bool = False,
        says: Mapping[str, str] | None = None,
    ) -> Row:
        """A row; ``unit`` is that of its amounts of memory."""
        expression = re.compile(_MARK.sub(_group, pattern))
        return Row(self.engine, needle, expression, unit, printed, since, until, starts, says or {})

    def keys(self, needle: str, form: str, keys: Mapping[str, str]) -> Iterator[Row]:
        """Rows of a line of settings; ``form`` holds KEY and VALUE, ``keys`` the quantities."""
        for key, name in keys.items():
            quote = "['\"]?" if QUANTITIES[name].kind == "words" else ""
            value = f"{quote}<{name}>"
            if QUANTITIES[name].kind == "words":
                value = rf"{quote}(?:torch\.)?(?!None\b)<{name}>"
            yield self(needle, form.replace("KEY", re.escape(key)).replace("VALUE", value))
