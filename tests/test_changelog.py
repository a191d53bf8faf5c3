"""The change log names every metric of the newest release."""

from __future__ import annotations

import re

from support.golden import Golden
from support.tools import REPOSITORY

from planner.metrics import OPTIONAL, MetricSet

CHANGELOG = REPOSITORY / "CHANGELOG.md"


def listed() -> str:
    metrics = MetricSet.load(also=OPTIONAL)
    lines = []
    for name, table in metrics.tables.items():
        names = [f"`{metric.name}`" for metric in metrics.of_table(name)]
        names += [f"`{n}`" for n, variant in metrics.variants.items() if variant.table == name]
        if names:
            lines.append(f"- {table.label}: {', '.join(names)}")
    return "\n".join(lines)


def test_metrics_of_the_release_are_named(golden: Golden) -> None:
    text = CHANGELOG.read_text("utf-8")
    start = text.index("### Metrics\n\n") + len("### Metrics\n\n")
    end = text.find("\n\n", start)
    rest = text[end:] if end >= 0 else "\n"
    golden.check(CHANGELOG, text[:start] + listed() + rest, "CHANGELOG.md")


def test_the_newest_release_is_that_of_the_package() -> None:
    version = re.search(r'^version = "(.*)"', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    newest = re.search(r"^## (.*)$", CHANGELOG.read_text("utf-8"), re.M)
    assert version and newest and version[1] == newest[1]
