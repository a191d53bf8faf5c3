"""Documents as pictures, for a person's eye and for checks that something was drawn at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.recalc import convert
from support.tools import need


def pdf_pages(pdf: Path, folder: Path, dpi: int = 80) -> list[Path]:
    """One PNG per page of a PDF, in order."""
    pdftoppm = need("pdftoppm", "the look of printed pages")
    stem = folder / pdf.stem
    subprocess.run([pdftoppm, "-r", str(dpi), "-png", str(pdf), str(stem)], check=True, timeout=300)
    return sorted(folder.glob(f"{pdf.stem}-*.png"))


def render_pdf_png(path: Path, folder: Path, dpi: int = 80) -> list[Path]:
    """One PNG per printed page of a workbook, with the values that the file itself carries."""
    return pdf_pages(convert(path, "pdf", folder, recalculate=False), folder, dpi)
