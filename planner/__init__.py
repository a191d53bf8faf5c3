"""Planning engine for LLM serving: catalogs and scenarios in, a plan of checked numbers out.

``planner.plan("scenario.yaml")`` gives a ``Plan``; ``planner.load`` a saved one,
from its JSON file or from the workbook or page that it rides in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.cli_saved import load
    from planner.errors import InputError
    from planner.planning import Plan, plan

__all__ = ["InputError", "Plan", "load", "plan"]

_HOMES = {"InputError": "errors", "Plan": "planning", "plan": "planning", "load": "cli_saved"}


def __getattr__(name: str) -> Any:
    # Imported when first asked for: `import planner` alone costs nothing.
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"planner.{_HOMES[name]}"), name)
