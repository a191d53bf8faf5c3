"""The schema of price observations: what somebody asked or paid for a GPU, when, and who says so.

A price is never used by itself. A plan takes one only when somebody selects it by its id.
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from planner.figures import Figure, listed, quantity, refusal
from planner.records_base import Id, Record
from planner.units import parse_unit

HourlyKind = Literal[
    "on_demand", "community", "spot", "flex_start", "capacity_block", "monthly", "reserved",
    "contract_index", "market_median", "tco_hyperscaler", "tco_neocloud", "assumption", "estimate",
]  # fmt: skip
PurchaseKind = Literal["purchase_list", "purchase_street", "purchase_node"]
PER_HOUR, PER_GPU = "usd/gpu/h", "usd/gpu"
# Unit of the price and of the bill that it was divided from, by kind.
_UNITS = {kind: (PER_HOUR, "usd/h") for kind in get_args(HourlyKind)} | {
    kind: (PER_GPU, "usd") for kind in get_args(PurchaseKind)
}
_DATE = re.compile(r"([0-9]{4})(?:-(?:(0[1-9]|1[0-2])(?:-([0-9]{2}))?|Q([1-4])))?")
_DATE_WORDS = "a date such as '2026-11-29', '2026-11', '2026-Q4' or '2026'"
_ROUNDED = 5e-3  # how far a price per GPU may be from the bill divided by its GPUs
# Field of an observation, and which of the two units it is in.
_AMOUNTS = {"value": 0, "low": 0, "high": 0, "billed": 1}


def first_day(text: str) -> datetime.date | None:
    """The first day that a date, month, quarter or year covers; None when the text is none."""
    found = _DATE.fullmatch(text)
    if not found:
        return None
    year, month, day, quarter = found.groups()
    try:
        return datetime.date(int(year), int(month or 3 * int(quarter or 1) - 2), int(day or 1))
    except ValueError:
        return None


def _known_day(text: str) -> str:
    if first_day(text) is None:
        raise refusal(_DATE_WORDS, f"'{text}'")
    return text


class Price(Figure):
    """One observation.

    ``value`` is in usd per GPU and second for rents, in usd per GPU for purchases; a package that
    shows up as several devices counts as that many GPUs. ``low`` and ``high`` are the band of the
    source, ``billed`` is what was asked for ``gpus`` of them together.
    """

    id: Id
    kind: Literal[HourlyKind, PurchaseKind]
    value: float
    low: float | None = None
    high: float | None = None
    term: StrictStr = ""
    provider: StrictStr = ""
    instance: StrictStr = ""
    region: StrictStr = ""
    gpus: Annotated[StrictInt, Field(ge=1)] | None = None
    billed: float | None = None
    date: Annotated[StrictStr, AfterValidator(_known_day)] | None = None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Amounts as a person writes them, with units; an observation has no short form."""
        full = handler(schema)
        properties = handler.resolve_ref_schema(full)["properties"]
        for name, which in _AMOUNTS.items():
            units = dict.fromkeys(pair[which] for pair in _UNITS.values())
            properties[name] = {"type": "string", "examples": [f"2.5 {unit}" for unit in units]}
        properties["source"] = {"anyOf": [{"type": "string"}, properties["source"]]}
        return full

    @property
    def written_unit(self) -> str:
        """The unit in which people write this price: per hour, or per GPU."""
        return _UNITS[self.kind][0]

    @property
    def amount(self) -> float:
        """The price in :attr:`written_unit`."""
        return self.value / float(parse_unit(self.written_unit).factor)

    def _written(self, value: float) -> str:
        return f"{value / float(parse_unit(self.written_unit).factor):.4g} {self.written_unit}"

    @property
    def age_key(self) -> datetime.date:
        """The first day that the date covers: an observation is taken as old as it may be."""
        return (first_day(self.date) if self.date else None) or datetime.date.min

    @model_validator(mode="before")
    @classmethod
    def _amounts(cls, data: Any) -> Any:
        units = _UNITS.get(str(data.get("kind"))) if isinstance(data, dict) else None
        if units is None:
            return data  # whatever it is, the fields refuse it with its place
        return dict(data) | {
            name: quantity(units[which], False, data[name], (name,))
            for name, which in _AMOUNTS.items()
            if name in data
        }

    @model_validator(mode="after")
    def _consistent(self) -> Price:
        if self.low is not None and self.low > self.value:
            raise refusal("at most the price", "more", "", ("low",))
        if self.high is not None and self.high < self.value:
            raise refusal("at least the price", "less", "", ("high",))
        if (self.billed is None) != (self.gpus is None):
            raise refusal("billed and gpus together", "one of them", "", ("value",))
        if self.billed is not None and self.gpus is not None:
            share = self.billed / self.gpus
            if abs(share - self.value) > _ROUNDED * share:
                expected = f"{self._written(share)}, the bill divided by its GPUs"
                raise refusal(expected, self._written(self.value), "", ("value",))
        if self.date is None and not self.note:
            raise refusal("a date, or a note that says why there is none", "neither")
        return self


class Prices(Record):
    """The observations of one GPU; the id is that of the GPU."""

    prices: Annotated[tuple[Price, ...], BeforeValidator(listed), Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> Prices:
        seen: set[str] = set()
        for index, price in enumerate(self.prices):
            if price.id in seen:
                raise refusal("each id once", f"'{price.id}' again", "", ("prices", index, "id"))
            seen.add(price.id)
        return self

    @model_validator(mode="after")
    def _read_after(self) -> Prices:
        """Nobody reads a price before it was asked."""
        for index, price in enumerate(self.prices):
            for name in price.source:
                read = first_day(self.sources[name].read or "")
                if read is not None and price.age_key > read:
                    raise refusal(
                        f"a date up to {read}, when '{name}' was read", f"'{price.date}'", "",
                        ("prices", index, "date"),
                    )  # fmt: skip
        return self
