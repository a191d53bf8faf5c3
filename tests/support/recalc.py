"""Two spreadsheet engines that calculate a workbook anew and give back every value.

Both work on a copy without cached values: LibreOffice would otherwise print what the file says.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from reports.workbook.package import Package, fill_values, sheet_parts, strip_values
from support.tools import need, need_module
from support.xlsx import Cells, Value, is_error, position, read_formulas, read_values

# LibreOffice's setting "recalculate on load: always" (0); its default trusts cached values.
_ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


def stripped(source: Path, target: Path) -> Path:
    """Copy a workbook without the cached values of its formulas.

    Raises:
        AssertionError: a cached value stayed, so an engine could print it back unseen.
    """
    package = Package.read(source)
    strip_values(package)
    package.write(target)
    left = read_values(target).keys() & read_formulas(target).keys()
    assert not left, f"cached values stayed: {sorted(left)[:5]}"
    return target


def falsified(source: Path, target: Path, number: float) -> Path:
    """Copy a workbook with one wrong number as the cached value of every formula."""
    package, formulas = Package.read(source), read_formulas(source)
    for sheet, part in sheet_parts(package).items():
        values = {address: number for name, address in formulas if name == sheet}
        package.set(part, fill_values(package.get(part), values))
    package.write(target)
    return target


def convert(path: Path, kind: str, folder: Path, *, recalculate: bool) -> Path:
    """Convert a document by LibreOffice with a fresh profile and give the new file's path.

    Raises:
        RuntimeError: LibreOffice wrote nothing; its output is the message.
    """
    soffice = need("soffice", "the workbook's behaviour in LibreOffice")
    target = folder / f"{path.stem}.{kind}"
    with tempfile.TemporaryDirectory() as profile:
        if recalculate:
            settings = Path(profile) / "user" / "registrymodifications.xcu"
            settings.parent.mkdir()
            settings.write_text(_ALWAYS_RECALCULATE, encoding="utf-8")
        done = subprocess.run(
            [
                soffice,
                f"-env:UserInstallation={Path(profile).as_uri()}",
                "--headless",
                "--norestore",
                "--convert-to",
                kind,
                "--outdir",
                str(folder),
                str(path),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if done.returncode or not target.is_file():
        raise RuntimeError(f"soffice could not convert {path.name}: {done.stdout}{done.stderr}")
    return target


def recalculate_libreoffice(path: Path) -> Cells:
    """Every value after a forced recalculation; numbers carry 15 significant digits.

    Raises:
        RuntimeError: a formula names something that is not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        bare = stripped(path, Path(folder) / path.name)
        out = Path(folder) / "out"
        out.mkdir()
        return _understood(read_values(convert(bare, "xlsx", out, recalculate=True)))


def recalculate_formualizer(path: Path) -> Cells:
    """Every value after a recalculation in this process; numbers carry all digits.

    Raises:
        RuntimeError: a formula has a syntax, function, name or cycle that the engine refuses.
    """
    need_module("formualizer", "the workbook's behaviour in a second engine")
    import formualizer

    with tempfile.TemporaryDirectory() as folder:
        bare = stripped(path, Path(folder) / path.name)
        book = formualizer.Workbook.from_bytes(bare.read_bytes(), load_limits=_ROOM)
        typed = read_values(bare)
    # Not its file-to-file recalculation, which takes 256 columns at most.
    book.set_temporal_egress("serial")
    book.evaluate_all()
    found = {
        (sheet, address): _plain(book.get_value(sheet, *position(address)))
        for sheet, address in read_formulas(path)
    }
    return _understood(
        typed | {place: value for place, value in found.items() if value is not None}
    )


# Its own limits on parts and expanded size end at about 1,500 cases of a plan.
_ROOM = {"max_part_bytes": 2**31, "max_expanded_bytes": 2**33, "max_input_bytes": 2**31}

# The kinds that say "this value does not exist"; all others say "this formula was not understood".
_KINDS = {"Div": "#DIV/0!", "Na": "#N/A", "Num": "#NUM!", "Ref": "#REF!", "Value": "#VALUE!"}


def _plain(value: Any) -> Value | None:
    if isinstance(value, dict):
        return _KINDS.get(value["kind"], f"#NAME? ({value['kind']})")
    return float(value) if _is_number(value) else value


def _understood(cells: Cells) -> Cells:
    """The same cells, unless an engine did not understand one: that must not pass as "no value"."""
    refused = [
        f"{sheet}!{address}: {value}"
        for (sheet, address), value in cells.items()
        if isinstance(value, str) and value.startswith("#NAME?")
    ]
    if refused:
        raise RuntimeError("formulas that the engine does not understand: " + ", ".join(refused))
    return cells


def same_value(a: object, b: object, relative: float = 1e-9) -> bool:
    """True for equal texts, flags, and numbers within ``relative``; any two errors are the same.

    Engines spell errors differently (the root of -1 is #NUM! in one, #VALUE! in another), and a
    failed number is NaN outside spreadsheets: all of these only say "no value".
    """
    if _failed(a) or _failed(b):
        return _failed(a) and _failed(b)
    if not (_is_number(a) and _is_number(b)):
        return type(a) is type(b) and a == b
    return a == b or abs(a - b) <= relative * max(abs(a), abs(b))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _failed(value: object) -> bool:
    return is_error(value) or (isinstance(value, float) and not math.isfinite(value))


def differences(expected: Cells, found: Cells, relative: float = 1e-9) -> list[str]:
    """One line for each cell of ``expected`` that ``found`` lacks or gives otherwise."""
    return [
        f"{sheet}!{address}: expected {value!r}, found {found.get((sheet, address))!r}"
        for (sheet, address), value in expected.items()
        if (sheet, address) not in found or not same_value(value, found[sheet, address], relative)
    ]
