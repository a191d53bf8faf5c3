"""The numbered list of sources: what stands behind a figure or a formula, each once."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.facts import Fact
from planner.planning import Plan
from reports.view_parts import SourceItem
from reports.view_units import clean

Key = tuple[str, str]


@dataclass
class Sources:
    """Numbers sources in the order in which they are first used."""

    plan: Plan
    _items: dict[Key, tuple[int, str, list[str]]] = field(default_factory=dict)

    def number(self, title: str, url: str, read: str, used_for: str) -> int:
        """The number of a source; the same title and address share one."""
        key = (clean(title), clean(url))
        if key not in self._items:
            self._items[key] = (len(self._items) + 1, clean(read), [])
        number, _, uses = self._items[key]
        if used_for not in uses:
            uses.append(used_for)
        return number

    def of_fact(self, kind: str, word: str, fact: Fact) -> tuple[int, ...]:
        """The numbers of a catalog figure's sources."""
        return self.of_ids(kind, word, fact.source)

    def of_ids(self, kind: str, word: str, ids: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers of the sources that an entry names by id."""
        known = self.plan.inputs.sources.get((kind, word), {})
        label = clean(self.plan.inputs.labels.get((kind, word), word))
        numbers = []
        for one in ids:
            source = known.get(one)
            if source is None:  # an entry may cite a word that it does not list
                numbers.append(self.number(one, "", "", label))
            else:
                numbers.append(self.number(source.title, source.url, source.read, label))
        return tuple(dict.fromkeys(numbers))

    def items(self) -> tuple[SourceItem, ...]:
        """The list, by number."""
        return tuple(
            SourceItem(number, title, url, read, tuple(uses))
            for (title, url), (number, read, uses) in self._items.items()
        )
