"""A planted fault for each rule on GPUs, in a copy of a shipped entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.catalog import Catalog
from planner.records import Gpu

Check = Callable[..., list[str]]
CATALOG = Catalog.open()
GPUS: list[Gpu] = [CATALOG.gpu(word) for word in CATALOG.ids("gpu")]


@pytest.fixture
def check(tmp_path: Path, repository: Path) -> Check:
    """Copies of shipped entries with replaced texts, checked together with all others."""

    def run(*changes: tuple[str, str, str]) -> list[str]:
        (tmp_path / "gpus").mkdir(exist_ok=True)
        for word, old, new in changes:
            path = tmp_path / "gpus" / f"{word}.yaml"
            shipped = repository / "catalogs" / "gpus" / f"{word}.yaml"
            text = (path if path.exists() else shipped).read_text("utf-8")
            assert text.count(old) >= 1, (word, old)
            path.write_text(text.replace(old, new, 1), "utf-8")
        found = Catalog.open([tmp_path]).check()
        return [
            f"{Path(str(p.span.file)).stem}: {p.where}: expected {p.expected}, found {p.found}"
            + (f" | {p.hint}" if p.hint else "")
            for p in found
        ]

    return run


VECTOR = "a bf16 peak as low as this is the rate of the vector units"
SPARSE = "half of it is dense, if this is the figure with 2:4 sparsity"
MIB = "drivers report MiB and frameworks GiB, not MB and GB"


@pytest.mark.parametrize(
    ("word", "old", "new", "message"),
    [
        (
            "l4", "memory_bandwidth: {value: 300 GB/s", "memory_bandwidth: {value: 300 MB/s",
            "l4: memory_bandwidth: expected 1.5 to 200 reads of the whole memory per second, "
            "found 0.0125",
        ),
        (
            "h100-sxm", "device: {value: 81559 MiB", "device: {value: 81559 GiB",
            "h100-sxm: memory.device: expected 0.999 to 1.08 of the marketed memory, found 1095",
        ),
        (
            "a10g", "device: {value: 23028 MiB", "device: {value: 22000 MiB",
            "a10g: memory.device: expected 0.999 to 1.08 of the marketed memory, found 0.9612",
        ),
        (
            "mi300x", "framework: {value: 191.69 GiB", "framework: {value: 91.69 GiB",
            "mi300x: memory.framework: expected 0.95 to 1.08 of the marketed memory, found 0.5128",
        ),
        (
            "h100-sxm", "framework: {value: 79.19 GiB", "framework: {value: 79.19 GB",
            "h100-sxm: memory.framework: expected 0.94 to 1 of the device memory, "
            f"found 0.926 | {MIB}",
        ),
        (
            "h100-sxm", "device: {value: 81559 MiB", "device: {value: 81559 MB",
            "h100-sxm: memory.framework: expected 0.94 to 1 of the device memory, "
            f"found 1.043 | {MIB}",
        ),
        (
            "h100-sxm", "marketed: {value: 80 GB", "marketed: {value: 80 GiB",
            "h100-sxm: memory.marketed: expected at most the 79.65 GiB that the device reports, "
            "found 80 GiB | the number on the box is decimal: write 80 GB",
        ),
        (
            "b300", "marketed: {value: 288 GB", "marketed: {value: 288 GiB",
            "b300: memory.marketed: expected at most the 268.59 GiB that the device reports, "
            "found 288 GiB | the number on the box is decimal: write 288 GB",
        ),
        (
            "h100-sxm", "bf16: {value: 989.5 TFLOP/s", "bf16: {value: 989.5 PFLOP/s",
            "h100-sxm: peak_dense.bf16: expected 8 to 1000 flop per byte of bandwidth, "
            "found 2.954e+05",
        ),
        (
            "h100-sxm", "power: {value: 700 W", "power: {value: 70 kW",
            "h100-sxm: peak_dense.bf16: expected 5e+10 to 5e+12 flop per joule, found 1.414e+10",
        ),
        (
            "t4", "power: {value: 70 W", "power: {value: 70 kW",
            "t4: power: expected 10 to 5000 W, found 7e+04",
        ),
        (
            "h100-sxm",
            "one_way: {value: 450 GB/s, source: ml-engineering-network, confidence: third party}\n"
            "  both_ways: {value: 900 GB/s",
            "one_way: {value: 450 MB/s, source: ml-engineering-network, confidence: third party}\n"
            "  both_ways: {value: 900 MB/s",
            "h100-sxm: scale_up.one_way: expected 1e+09 to 1e+13 byte/s, found 4.5e+08",
        ),
        (
            "h100-sxm", "both_ways: {value: 900 GB/s", "both_ways: {value: 450 GB/s",
            "h100-sxm: scale_up.both_ways: expected twice the 450 GB/s of one direction, "
            "found 450 GB/s | one_way is a single direction",
        ),
        # the vector rate that a public table prints
        (
            "rtx-4090", "bf16: {value: 165.2 TFLOP/s", "bf16: {value: 82.6 TFLOP/s",
            "rtx-4090: peak_dense.fp32: expected 0.02 to 0.7 times the bf16 peak, "
            f"found 1 | {VECTOR}",
        ),
        # sparse figures that public tables print
        (
            "h100-sxm", "fp8: {value: 1979", "fp8: {value: 3958",
            "h100-sxm: peak_dense.fp8: expected another multiple of the dense bf16 peak, "
            f"found 4 times | {SPARSE}",
        ),
        (
            "h100-sxm", "bf16: {value: 989.5", "bf16: {value: 1979",
            "h100-sxm: peak_dense.bf16: expected at most 22.2 times the fp32 peak, as other Hopper "
            f"parts have, found 29.5 times | {SPARSE}",
        ),
        (
            "l4", "bf16: {value: 121", "bf16: {value: 242",
            "l4: peak_dense.bf16: expected at most 6 times the fp32 peak, as other Ada Lovelace "
            f"parts have, found 7.99 times | {SPARSE}",
        ),
        (
            "h100-sxm", "tf32: {value: 494.5", "tf32: {value: 1979",
            "h100-sxm: peak_dense.tf32: expected 0.2 to 1.05 times the bf16 peak, found 2",
        ),
        (
            "h100-sxm", "fp16: {value: 989.5", "fp16: {value: 1979",
            "h100-sxm: peak_dense.fp16: expected 0.2 to 1.05 times the bf16 peak, found 2",
        ),
        (
            "b200", "fp8: {value: 4500", "fp8: {value: 45000",
            "b200: peak_dense.fp8: expected 0.9 to 4.6 times the bf16 peak, found 20",
        ),
        (
            "b200", "fp6: {value: 4500", "fp6: {value: 45000",
            "b200: peak_dense.fp6: expected 0.9 to 4.6 times the bf16 peak, found 20",
        ),
        (
            "b200", "fp4: {value: 9000", "fp4: {value: 90000",
            "b200: peak_dense.fp4: expected 0.9 to 9 times the bf16 peak, found 40",
        ),
        (
            "b300", "int8: {value: 153.5", "int8: {value: 15.35",
            "b300: peak_dense.int8: expected 0.05 to 4.2 times the bf16 peak, found 0.006822",
        ),
        (
            "l4", "int4: {value: 484", "int4: {value: 4840",
            "l4: peak_dense.int4: expected 0.9 to 8.5 times the bf16 peak, found 40",
        ),
        # lines
        (
            "h100-sxm", "predecessor: a100-sxm-80", "predecessor: a100-sxm",
            "h100-sxm: predecessor: expected the id of another GPU, found 'a100-sxm' | "
            "did you mean 'a100-sxm-80'?",
        ),
        (
            "h100-sxm", "predecessor: a100-sxm-80", "predecessor: h100-sxm",
            "h100-sxm: predecessor: expected the id of another GPU, found 'h100-sxm'",
        ),
        (
            "h100-sxm", "predecessor: a100-sxm-80", "predecessor: a100-pcie-80",
            "h100-sxm: predecessor: expected a GPU of the line nvidia-datacenter-sxm, "
            "found 'a100-pcie-80' of nvidia-datacenter-pcie",
        ),
        (
            "h100-sxm", "generation: 4", "generation: 1",
            "h100-sxm: generation: expected generation 2 of a100-sxm-80 or later, found 1",
        ),
        (
            "a100-sxm-40", "predecessor: v100-sxm-32", "predecessor: a100-sxm-80",
            "a100-sxm-40: predecessor: expected an earlier part, "
            "found 'a100-sxm-80', which follows a100-sxm-40",
        ),
        (
            "h100-sxm", "predecessor: a100-sxm-80\n", "",
            "h100-sxm: generation: expected a predecessor, as the line has earlier generations, "
            "found none before generation 4 | write predecessor: a100-sxm-80",
        ),
        # variants
        (
            "h800-sxm", "variant_of: h100-sxm", "variant_of: h100-smx",
            "h800-sxm: variant_of: expected the id of another GPU, found 'h100-smx' | "
            "did you mean 'h100-sxm'?",
        ),
        (
            "h800-sxm", "variant_of: h100-sxm", "variant_of: a100-sxm-80",
            "h800-sxm: variant_of: expected a part of the architecture Hopper, "
            "found 'a100-sxm-80', which is Ampere",
        ),
        (
            "h20-96", "status: shipping", "variant_of: h800-sxm\nstatus: shipping",
            "h20-96: variant_of: expected the original, found 'h800-sxm', a variant of h100-sxm",
        ),
        # names
        (
            "h20-96", "aliases: [h20]", "aliases: [h200]",
            "h200-sxm: aliases: expected a name of a GPU that is free, found 'h200' of h20-96",
        ),
        (
            "h20-96", "aliases: [h20]", "aliases: [l4]",
            "h20-96: aliases: expected a name of a GPU that is free, found 'l4' of l4",
        ),
        (
            "h20-96", "aliases: [h20]", "aliases: [h20, h20]",
            "h20-96: aliases[1]: expected each alias once, found 'h20' again",
        ),
        (
            "mi250x", "devices_per_package: 2", "devices_per_package: 0",
            "mi250x: devices_per_package: expected at least 1, found 0",
        ),
    ],
)  # fmt: skip
def test_planted_fault_is_found(word: str, old: str, new: str, message: str, check: Check) -> None:
    assert message in check((word, old, new))


def test_figures_that_are_right_in_an_unusual_way_pass(check: Check) -> None:
    """GiB on the box where the device agrees; a chip whose fp8 is no faster than bf16."""
    changes = [("gaudi2", "marketed: {value: 96 GB", "marketed: {value: 96 GiB")]
    assert check(*changes) == []
    assert CATALOG.gpu("tpu-v6e").peak_dense.fp8 is not None


def test_a_circle_of_three_is_found(check: Check) -> None:
    found = check(
        ("mi300x", "predecessor: mi250x", "predecessor: mi355x"),
        ("mi300x", "generation: 2", "generation: 4"),
        ("mi325x", "generation: 3", "generation: 4"),
    )
    assert any("expected an earlier part" in line for line in found)


# ---- the shipped entries ----


def test_all_70_accelerators_are_there() -> None:
    assert len(GPUS) == 70
    vendors: dict[str, int] = {}
    for gpu in GPUS:
        vendors[gpu.vendor] = vendors.get(gpu.vendor, 0) + 1
    assert vendors == {
        "NVIDIA": 44, "AMD": 10, "Intel": 4, "Google": 4, "AWS": 4, "Huawei": 4,
    }  # fmt: skip


def test_lines_count_upwards_without_gaps_in_their_chains() -> None:
    for gpu in GPUS:
        earlier = [g for g in GPUS if g.line == gpu.line and g.generation < gpu.generation]
        assert (gpu.predecessor is not None) or not earlier, gpu.id


def test_siblings_share_a_generation() -> None:
    by_id = {gpu.id: gpu for gpu in GPUS}
    for one, other in (("a100-sxm-40", "a100-sxm-80"), ("mi350x", "mi355x"), ("mi210", "mi250x")):
        assert by_id[one].generation == by_id[other].generation
        assert by_id[one].line == by_id[other].line


def test_derived_peaks_say_how() -> None:
    for gpu in GPUS:
        for name in type(gpu.peak_dense).model_fields:
            peak = getattr(gpu.peak_dense, name)
            if peak is not None and peak.confidence == "derived":
                assert peak.note and peak.source, (gpu.id, name)
            if peak is not None and peak.value is None:
                assert "no dense figure is published" in peak.note


@pytest.mark.parametrize(
    ("word", "framework"),
    [("h100-sxm", 79.19), ("b200", 178.35), ("gb10", 121.63), ("gaudi2", 94.62),
     ("ascend-910b", 60.957), ("a100-sxm-40", 39.39)],
)  # fmt: skip
def test_framework_memory_of_the_newest_dated_log(word: str, framework: float) -> None:
    memory = CATALOG.gpu(word).memory
    assert memory.framework.value == framework * 2**30
    assert memory.framework.note.startswith("the newest dated log, 20")


@pytest.mark.parametrize("word", ["mi250x", "max-1550", "ascend-910c"])
def test_packages_of_two_devices_are_entered_as_one_device(word: str) -> None:
    gpu = CATALOG.gpu(word)
    assert gpu.devices_per_package == 2
    assert gpu.memory.marketed.value == 64e9


def test_recalled_figures_say_so_and_cite_nothing() -> None:
    assert CATALOG.gpu("rubin-cpx").memory_bandwidth.confidence == "recalled"
    recalled = CATALOG.facts("gpu", "rubin-cpx")["memory_bandwidth"]
    assert (recalled.confidence, recalled.source) == ("recalled", ())
