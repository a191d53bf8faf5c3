"""The schema of a GPU entry: three memory figures, dense peaks only, links, and its line."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from planner.figures import ByteRate, Bytes, FlopRate, Gpus, Part, Power, Words, refusal
from planner.records_base import Id, Record

_ROUNDED = 0.01  # how far a printed sum of both directions may be from twice one direction
_DENSE_HINT = (
    "only dense peaks are planned with: write peak_dense, and halve a figure that is printed "
    "with 2:4 sparsity"
)


class PeakDense(Part):
    """Dense matrix peak by number format.

    An absent format has no native path; one without a value has a path of unknown speed.
    """

    fp32: FlopRate | None = None
    tf32: FlopRate | None = None
    bf16: FlopRate | None = None
    fp16: FlopRate | None = None
    fp8: FlopRate | None = None
    fp6: FlopRate | None = None
    fp4: FlopRate | None = None
    int8: FlopRate | None = None
    int4: FlopRate | None = None

    @classmethod
    def hint_for(cls, key: str) -> tuple[str, str] | None:
        """A sparse figure is refused with the way to a dense one."""
        return ("a dense figure", _DENSE_HINT) if "sparse" in key else None


class Memory(Part):
    """The three figures for one GPU's memory; no one of them follows from another.

    ``marketed`` is the number on the box, in decimal GB unless the vendor prints GiB. ``framework``
    is the total of the newest dated log that names the card; where no log bears a date, it is the
    lowest total whose log is recorded, since a plan must not promise what a driver keeps back.
    """

    marketed: Bytes
    device: Bytes = Field(default_factory=Bytes)
    framework: Bytes = Field(default_factory=Bytes)
    type: StrictStr = ""


class ScaleUp(Part):
    """The fast link between GPUs, per GPU."""

    tech: StrictStr = ""
    one_way: ByteRate = Field(default_factory=ByteRate)
    both_ways: ByteRate = Field(default_factory=ByteRate)
    max_domain: Gpus

    @model_validator(mode="after")
    def _directions(self) -> ScaleUp:
        one, both = self.one_way.value, self.both_ways.value
        if one and both and abs(float(both) / float(one) - 2) > _ROUNDED:
            raise refusal(
                f"twice the {float(one) / 1e9:g} GB/s of one direction",
                f"{float(both) / 1e9:g} GB/s", "one_way is a single direction", ("both_ways",),
            )  # fmt: skip
        return self


class HostLink(Part):
    """The link to the host."""

    tech: StrictStr = ""
    one_way: ByteRate = Field(default_factory=ByteRate)


class Gpu(Record):
    """One orderable GPU variant, as the system shows it.

    A package that shows up as several devices is entered as one of them: every figure is for one
    device, and ``devices_per_package`` says how many there are. ``generation`` counts along
    ``line``; siblings share a number. ``variant_of`` names the part that this one is a regional,
    binned or differently equipped form of.
    """

    vendor: StrictStr
    architecture: StrictStr
    line: Id
    generation: StrictInt
    predecessor: Id | None = None
    variant_of: Id | None = None
    devices_per_package: Annotated[StrictInt, Field(ge=1, le=8)] = 1
    status: Literal["shipping", "announced", "legacy"]
    launch: Words = Field(default_factory=Words)
    form_factor: StrictStr = ""
    memory: Memory
    memory_bandwidth: ByteRate
    peak_dense: PeakDense
    scale_up: ScaleUp
    host_link: HostLink | None = None
    power: Power = Field(default_factory=Power)
    compute_capability: Words = Field(default_factory=Words)

    @classmethod
    def hint_for(cls, key: str) -> tuple[str, str] | None:
        """Any other spelling of FLOPS than ``peak_dense`` is refused with the reason."""
        unmarked = re.search(r"peak|flop|tops|sparse", key.lower())
        return ("peak_dense, the only spelling of FLOPS", _DENSE_HINT) if unmarked else None
