"""What is unknown in a column as the engine holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def has_holes(values: NDArray[Any]) -> bool:
    """Whether something is unknown: None among places, NaN among numbers, nothing among flags."""
    if values.dtype == object:
        return None in values.ravel().tolist()
    return values.dtype != bool and bool(np.isnan(values).any())
