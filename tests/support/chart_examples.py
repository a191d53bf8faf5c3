"""Charts for tests, and what makes one tidy: labels neither collide nor leave the picture."""

from __future__ import annotations

import math
from itertools import combinations
from xml.etree import ElementTree

from reports import charts, charts_text
from reports.charts import (
    Bar,
    BarChart,
    Level,
    Line,
    LineChart,
    Mark,
    Part,
    Point,
    Segment,
    StackChart,
    StackRow,
    Step,
    WaterfallChart,
)

SVG = "{http://www.w3.org/2000/svg}"
CONTEXTS = [1024 * 2**power for power in range(8)]
HOSTILE = "</svg><script>alert(1)</script>\x00\u202e\ud800&\"'"

BARS = BarChart(
    "How many requests can one GPU hold?",
    "requests per GPU",
    (
        Bar("B200", 1224, "memory", (Mark("planned", 64, True), Mark("B*", 148))),
        Bar("H100 SXM", 281, "KV reads", (Mark("planned", 64, True), Mark("B*", 295))),
        Bar("RTX PRO 6000 Blackwell Server Edition", 0.4, "", (Mark("planned", 64, True),)),
        Bar("昇腾 910C（单芯片）", None, "", (Mark("planned", 64, True), Mark("B*", None))),
    ),
    "count",
    (Mark("demand", 300),),
)
STACK = StackChart(
    "Where does the memory of one GPU go?",
    "GiB per GPU",
    (
        StackRow(
            "H100 SXM",
            (
                Segment("weights", 65.8),
                Segment("overhead", 3.2),
                Segment("KV pool", 2.31),
                Segment("unused", 7.9, quiet=True),
            ),
            Mark("framework total", 79.2),
        ),
        StackRow("L40S", (Segment("weights", 65.8), Segment("KV pool", -24.6))),
        StackRow("A100", (Segment("weights", 32.9), Segment("overhead", None))),
    ),
)
LINES = LineChart(
    "When do KV reads overtake weight reads?",
    "context, tokens",
    "requests per replica, both axes logarithmic",
    (
        Line("B* KV reads", tuple((h, 427_000 / h) for h in CONTEXTS)),
        Line("other model", tuple((h, None if h == 8192 else 9e5 / h) for h in CONTEXTS)),
        Line("not measured", tuple((h, math.nan) for h in CONTEXTS)),
    ),
    (Level("B* compute", 147.7),),
    (Point("planned", 8192, 64),),
    log_x=True,
    log_y=True,
)
WATERFALL = WaterfallChart(
    "What moved the cost?",
    "USD",
    ("old", 212_080.0, "212,080"),
    ("new", 61_116.0, "61,116"),
    (
        Step("Hardware", -146_219.0, "−146,219 better", "better", (
            Part("GPU memory", -62_052.0, "−62,052 better", "better"),
            Part("Memory bandwidth", -84_167.0, "−84,167 better", "better"),
            Part("Dense peak", 0.0, "0"),
        )),
        Step("Precision & engine", -127_232.0, "−127,232 better", "better"),
        Step("Price", 122_487.0, "+122,487 worse", "worse"),
    ),
)  # fmt: skip
EXAMPLES = [BARS, STACK, LINES, WATERFALL]


def tree(spec, prefix="c1"):
    return ElementTree.fromstring(charts.render(spec, prefix))


def texts(spec):
    return ["".join(node.itertext()) for node in tree(spec).iter(f"{SVG}text")]


def boxes(spec):
    """Left, top, right, bottom of every text, by the widths that the layout itself uses."""
    found = []
    for node in tree(spec).iter(f"{SVG}text"):
        text, size = "".join(node.itertext()), float(node.get("font-size"))
        width = charts_text.text_width(text, size, bold=node.get("font-weight") == "600")
        share = {"start": 0, "middle": 0.5, "end": 1}[node.get("text-anchor", "start")]
        left, base = float(node.get("x")) - share * width, float(node.get("y"))
        found.append((text, left, base - 0.75 * size, left + width, base + 0.22 * size))
    return found


def assert_tidy(spec):
    view = [float(part) for part in tree(spec).get("viewBox").split()]
    found = boxes(spec)
    for text, left, top, right, bottom in found:
        assert left >= -0.5, text
        assert right <= view[2] + 0.5, text
        assert top >= 0, text
        assert bottom <= view[3] + 0.5, text
    for one, two in combinations(found, 2):
        wide = min(one[3], two[3]) - max(one[1], two[1])
        high = min(one[4], two[4]) - max(one[2], two[2])
        assert wide <= 0.5 or high <= 1.5, f"{one[0]!r} and {two[0]!r}"
