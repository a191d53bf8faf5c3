"""What concerns the book as a whole: document properties, calculation, a document riding inside.

The rider is a custom XML part related to the workbook, with the usual property part beside it: the
place that spreadsheet programs keep on saving, and that readers pass over.
"""

from __future__ import annotations

import hashlib
import re

from reports.workbook.package_parts import (
    CONTENT_TYPES,
    Package,
    drop_elements,
    relate,
    relations,
    relations_name,
    set_content_type,
    workbook_part,
)
from reports.workbook.package_xml import elements, new_parser, parse, replaced, start_tag
from reports.workbook.package_zip import PackageError
from reports.workbook.rows_text import xml_attribute, xml_formula

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_CORE_TYPE = "application/vnd.openxmlformats-package.core-properties+xml"
_CORE_RELATION = _PACKAGE + "relationships/metadata/core-properties"
_CORE = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    f'<cp:coreProperties xmlns:cp="{_PACKAGE}metadata/core-properties"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{title}'
    "<dc:creator>{creator}</dc:creator><cp:lastModifiedBy>{creator}</cp:lastModifiedBy>"
    '<dcterms:created xsi:type="dcterms:W3CDTF">{stamp}</dcterms:created>'
    '<dcterms:modified xsi:type="dcterms:W3CDTF">{stamp}</dcterms:modified>'
    "</cp:coreProperties>"
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z)?")

_RIDER = "urn:capsheet:embedded"
_RIDER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ITEM = re.compile(r"customXml/item(\d+)\.xml")
_PROPERTIES_TYPE = "application/vnd.openxmlformats-officedocument.customXmlProperties+xml"
_PROPERTIES = (
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    f'<ds:datastoreItem ds:itemID="{{{{{{id}}}}}}" xmlns:ds="{_OFFICE}customXml">'
    f'<ds:schemaRefs><ds:schemaRef ds:uri="{_RIDER}"/></ds:schemaRefs></ds:datastoreItem>'
)


def set_core(package: Package, date: str, title: str = "", creator: str = "capsheet") -> None:
    """Write the document properties anew: no clock, no user.

    ``date`` is ``2026-03-01`` or ``2026-03-01T12:00:00Z``; it is both created and modified.

    Raises:
        ValueError: another form of date, or text that XML cannot hold.
    """
    if not _DATE.fullmatch(date):
        raise ValueError(f"expected a date such as 2026-03-01, found {date!r}")
    core = _CORE.format(
        title=f"<dc:title>{xml_formula(title)}</dc:title>" if title else "",
        creator=xml_formula(creator),
        stamp=date if "T" in date else date + "T00:00:00Z",
    )
    found = [r.target for r in relations(package) if r.type.endswith("/core-properties")]
    part = found[0] if found else "docProps/core.xml"
    package.set(part, core.encode("utf-8"))
    if not found:
        relate(package, "", _CORE_RELATION, part)
        set_content_type(package, part, _CORE_TYPE)


def set_full_calc(package: Package, on: bool) -> None:
    """Ask spreadsheet programs to calculate everything on load, or not to."""
    book = workbook_part(package)
    data = package.get(book)
    found = elements(data, {"calcPr", "definedNames", "sheets", "externalReferences"})
    calc = [element for element in found if element.name == "calcPr"]
    if calc:
        at, end = calc[0].start, calc[0].head_end
        kept = {k: v for k, v in calc[0].attributes.items() if k != "fullCalcOnLoad"}
        new = kept | ({"fullCalcOnLoad": "1"} if on else {})
        name = data[at + 1 : end].split(None, 1)[0].rstrip(b"/>").decode("utf-8")
        tag = start_tag(name, new, closed=end == calc[0].end)
    elif on and found:
        after = max(found, key=lambda element: element.end)
        prefix = data[after.start + 1 : after.head_end].partition(after.name.encode())[0]
        at = end = after.end
        tag = start_tag(prefix.decode("utf-8") + "calcPr", {"fullCalcOnLoad": "1"}, closed=True)
    else:
        return
    package.set(book, replaced(data, [(at, end, tag)]))


def drop_calc_chain(package: Package) -> bool:
    """Remove the calculation chain with all that names it; True when there was one.

    A chain that lists a cell without a formula makes spreadsheet programs offer a repair.
    """
    book = workbook_part(package)
    chains = [r for r in relations(package, book) if r.type.endswith("/calcChain")]
    for relation in chains:
        drop_elements(package, relations_name(book), "Relationship", "Id", relation.id)
        drop_elements(package, CONTENT_TYPES, "Override", "PartName", "/" + relation.target)
        package.drop(relation.target)
    return bool(chains)


def embed(package: Package, name: str, data: bytes) -> None:
    """Put a document, UTF-8 text such as JSON, into the workbook; one of that name is replaced.

    Raises:
        ValueError: a name not in small letters, bytes that are no UTF-8 or that XML cannot hold.
    """
    if not _RIDER_NAME.fullmatch(name):
        raise ValueError(f"expected a name of small letters and digits, found {name!r}")
    text = xml_formula(data.decode("utf-8"))
    document = (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        f'<document xmlns="{_RIDER}" name="{xml_attribute(name)}">{text}</document>'
    )
    found = _riders(package)
    number = found[name] if name in found else _free_number(package)
    item, properties = f"customXml/item{number}.xml", f"customXml/itemProps{number}.xml"
    package.set(item, document.encode("utf-8"))
    package.set(properties, _PROPERTIES.format(id=_guid(name)).encode("utf-8"))
    set_content_type(package, item, "application/xml")
    set_content_type(package, properties, _PROPERTIES_TYPE)
    relate(package, workbook_part(package), _OFFICE + "relationships/customXml", item)
    relate(package, item, _OFFICE + "relationships/customXmlProps", properties)


def extract(package: Package, name: str) -> bytes:
    """The document that ``embed`` put in.

    Raises:
        PackageError: the workbook carries none of that name.
    """
    found = _riders(package)
    if name not in found:
        raise PackageError(f"expected a workbook that carries {name!r}, found none")
    return "".join(_rider(package.get(f"customXml/item{found[name]}.xml"))[1]).encode("utf-8")


def _riders(package: Package) -> dict[str, int]:
    """Item numbers of our documents by their name; the lowest number where one occurs twice."""
    found: dict[str, int] = {}
    for number in sorted(_item_numbers(package)):
        data = package.get(f"customXml/item{number}.xml")
        if _RIDER.encode() in data:
            name = _rider(data)[0]
            if name:
                found.setdefault(name, number)
    return found


def _rider(data: bytes) -> tuple[str, list[str]]:
    """Name and text of one of our documents; an empty name for any other root."""
    names: list[str] = []
    texts: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        ours = not names and tag.rpartition(" ")[0] == _RIDER
        names.append(attributes.get("name", "") if ours else "")

    parser = new_parser(namespaces=True)
    parser.StartElementHandler = start
    parser.CharacterDataHandler = texts.append
    parse(parser, data)
    return names[0], texts


def _item_numbers(package: Package) -> set[int]:
    return {int(found[1]) for name in package.names() if (found := _ITEM.fullmatch(name))}


def _free_number(package: Package) -> int:
    used = _item_numbers(package)
    return next(n for n in range(1, len(used) + 2) if n not in used)


def _guid(name: str) -> str:
    """An identifier that depends on the name alone, as the same input must give the same bytes."""
    text = hashlib.sha256(f"{_RIDER}:{name}".encode()).hexdigest().upper()
    return "-".join((text[:8], text[8:12], "5" + text[13:16], "8" + text[17:20], text[20:32]))
