"""The folder of figures beside the repository. Facts were converted from it; it never ships."""

from __future__ import annotations

from pathlib import Path

from support.tools import REPOSITORY, missing


def shared_folder(repository: Path = REPOSITORY) -> Path:
    """The folder ``shared`` beside the repository, or the running test ends here."""
    folder = repository.parent / "shared"
    if not (folder / "data").is_dir():
        missing("the folder ../shared", "agreement with the collected measurements")
    return folder
