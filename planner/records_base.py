"""What every catalog entry has: an id, names, sources that figures cite; and sizes of images."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictStr, model_validator

from planner.errors import nearest
from planner.figures import ID_PATTERN, URL_PATTERN, Confidence, Count, Part, Texts, Tokens, refusal


class Source(Part):
    """Where figures come from; ``via`` names the source in which this one was quoted."""

    title: StrictStr
    url: Annotated[StrictStr, Field(pattern=URL_PATTERN)] | None = None
    confidence: Confidence | None = None
    read: StrictStr | None = None
    via: StrictStr | None = None


Id = Annotated[StrictStr, Field(pattern=ID_PATTERN, max_length=60)]


class Record(Part):
    """What every catalog entry has."""

    id: Id
    label: StrictStr
    aliases: Texts = ()
    note: StrictStr = ""
    sources: dict[StrictStr, Source] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _via_exists(self) -> Record:
        for name, source in self.sources.items():
            if source.via is not None and source.via not in self.sources:
                raise refusal(
                    "the id of a source of this file", f"'{source.via}'",
                    nearest(source.via, self.sources), ("sources", name, "via"),
                )  # fmt: skip
        return self


class Images(Part):
    """The largest image that the model takes, as its vision tower sees it."""

    width: Count
    patches: Count
    tokens: Tokens
