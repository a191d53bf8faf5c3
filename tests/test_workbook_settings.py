"""What names a case on Results and in the chart: unlike for unlike cases, and live."""

import pytest
from support.recalc import recalculate_formualizer
from support.workbook import FIRST, SHIPPED, Made, edited, shipped

KEYS = ("Model", "GPU", "Workload", "Layout", "Setting")


@pytest.fixture(params=SHIPPED)
def made(request: pytest.FixtureRequest) -> Made:
    return shipped(request.param)


def test_no_two_cases_read_alike(made: Made) -> None:
    rows = list(zip(*(made.column("Results", key) for key in KEYS), strict=True))
    assert len(set(rows)) == len(rows) > 1


def chart(made: Made) -> list[tuple[str, float]]:
    """Labels and values of the bars, in their order."""
    row = made.row_of("Summary", "Cases differ: batch") + 2
    bars = []
    while ("Summary", f"A{row}") in made.values:
        bars.append((str(made.values["Summary", f"A{row}"]), made.values["Summary", f"C{row}"]))
        row += 1
    return bars  # type: ignore[return-value]


def test_each_bar_is_another_capacity(made: Made) -> None:
    bars = chart(made)
    assert 1 < len(bars) <= 16
    assert len({label for label, _ in bars}) == len(bars)
    shown = made.column("Results", "Concurrency per GPU")
    assert all(value in shown for _, value in bars)


def test_texts_follow_the_cells_of_cases() -> None:
    made = shipped("quarterly-review")
    before = made.column("Results", "Setting")[0]
    assert before == "32768 tokens · batch 24"
    changes = {
        made.case_cell("Tensor parallel", 0): 8.0,
        made.case_cell("KV cache", 0): "bf16",
        made.case_cell("Pipeline stages", 1): 2.0,
    }
    found = recalculate_formualizer(edited(made, changes))
    layout, setting = (made.headings("Results")[key] for key in ("Layout", "Setting"))
    assert found["Results", f"{layout}{FIRST}"] == "TP8 · PP1"
    assert found["Results", f"{layout}{FIRST + 1}"] == "TP1 · PP2"
    assert found["Results", f"{setting}{FIRST}"] == "32768 tokens · KV bf16 · batch 24"
    assert found["Results", f"{setting}{FIRST + 1}"] == "32768 tokens · KV fp8 · batch 64"
