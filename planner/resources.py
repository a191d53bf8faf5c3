"""Where shipped catalogs, templates and metrics lie: inside the wheel or beside the package."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def data_dir(name: str) -> Path:
    """Folder ``name`` shipped inside the wheel, or beside the package in a checkout.

    Raises:
        FileNotFoundError: the installation lacks the folder.
    """
    for folder in (_HERE / "_shipped" / name, _HERE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}/ is missing from this installation of capsheet")


def metrics_dir() -> Path:
    """Folder of the built-in metric files."""
    return _HERE / "metrics"
