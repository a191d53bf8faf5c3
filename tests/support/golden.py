"""Golden files: what the program must say, kept beside the input; ``--update`` renews them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest

# What an update changed, printed at the end of the run.
MOVED: list[str] = []


class Golden:
    """Compares with a kept text, or keeps the new one under ``--update``."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def check(self, path: Path, found: str, name: str) -> None:
        """``found`` must be the text of the file; ``name`` is how messages call the file."""
        kept = path.read_text("utf-8") if path.exists() else ""
        if found == kept:
            return
        difference = "\n".join(_difference(kept, found))
        if self.update:
            path.write_text(found, "utf-8")
            MOVED.append(f"{name}\n{difference}")
            return
        pytest.fail(f"{name} is not what it was (pytest --update renews it)\n{difference}", False)


def _difference(kept: str, found: str) -> Iterator[str]:
    lines = difflib.unified_diff(kept.splitlines(), found.splitlines(), "kept", "found", "", "", 1)
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))
