"""How near the product comes to engines: exact answers, and start-up logs.

By hand: ``python benchmarks/accuracy.py --reference FILE.csv`` answers every row of a file of vLLM
0.33.0's planning functions with the product's formulas and its catalog; ``--logs FILE.yaml`` plans
the cases of start-up logs. Each prints a line per kind and a summary last; the exit status is 0
only if every aim is met.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (0, 1)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--reference", type=Path, metavar="FILE.csv", help="answers of vLLM 0.33.0")
    parser.add_argument("--logs", type=Path, metavar="FILE.yaml", help="start-up logs")
    chosen = parser.parse_args(arguments)
    if chosen.reference is None and chosen.logs is None:
        parser.error("give --reference or --logs")
    parts = {"accuracy_reference": chosen.reference, "accuracy_logs": chosen.logs}
    good = True
    for name, path in parts.items():
        if path is not None:
            part = importlib.import_module(name)
            good = bool(part.main(path)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
