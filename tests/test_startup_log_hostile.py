"""Logs as they come: colours, returns, broken characters, endless lines, endless streams."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from planner.importers import startup_log
from planner.importers.startup_log import read_log
from planner.importers.startup_log_text import LONGEST_LINE, lines

POOL = b"Available KV cache memory: 4.00 GiB"
GIB = 2**30


def pools(source: bytes) -> list[float | str]:
    return [one.value for seen in read_log(source) for one in seen.all("kv_pool")]


@pytest.mark.parametrize(
    "log",
    [
        b"\x1b[1;36m(EngineCore pid=1)\x1b[0;0m INFO " + POOL + b"\x1b[0m\n",
        b"\x1b]0;a title\x07" + POOL,
        b"\x1b[2K\r" + POOL + b"\r\n",
        b"loading 10%\rloading 20%\r" + POOL + b"\r\n",
        b"\xff\xfe\x80 " + POOL + b" \xc3\n",
        b"\x00\x01" + POOL.replace(b"KV", b"K\x00V") + b"\x00\n",
        b"vllm-1  | [vllm] | ERROR " + POOL + b"\n",
        b"\t" + POOL.replace(b" KV", b"\tKV") + b"\n",
        POOL + b" and more " * 10000,
        b"\xef\xbb\xbf" + POOL,
    ],
    ids=["colours", "title", "erased", "progress", "no UTF-8", "NUL", "compose", "tabs", "long",
         "BOM"],
)  # fmt: skip
def test_what_surrounds_a_line_does_not_matter(log: bytes) -> None:
    assert pools(log) == [4.0 * GIB]


def test_text_and_bytes_and_streams_are_read_alike() -> None:
    text = POOL.decode() + "\n"
    for source in (text, text.encode(), io.StringIO(text), io.BytesIO(text.encode())):
        (seen,) = read_log(source)
        assert seen.value("kv_pool") == 4.0 * GIB


def test_half_characters_are_dropped() -> None:
    assert pools(("\ud800" + POOL.decode()).encode("utf-8", "surrogatepass")) == [4.0 * GIB]
    (seen,) = read_log("\ud800" + POOL.decode())
    assert seen.value("kv_pool") == 4.0 * GIB


def test_lines_keep_their_numbers_behind_endless_ones() -> None:
    log = b"x" * (3 * LONGEST_LINE) + b"\n\n" + POOL + b"\n"
    (seen,) = read_log(log)
    assert seen.all("kv_pool")[0].line == 3
    assert max(len(line.text) for line in lines(log)) == LONGEST_LINE


class Endless(io.RawIOBase):
    """A stream of one line that never ends before it has given ``size`` bytes."""

    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self.left)
        buffer[:count] = b"y" * count
        self.left -= count
        return count


def test_memory_stays_bounded() -> None:
    tracemalloc.start()
    try:
        assert read_log(io.BufferedReader(Endless(8 * 2**20))) == ()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_readings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup_log, "MOST_READINGS", 50)
    (seen,) = read_log((POOL + b"\n") * 1000)
    assert len(seen.readings) == 50


@pytest.mark.parametrize(
    "log",
    [
        b"",
        b"\n" * 100,
        b"nothing of interest\n",
        b"vLLM API server version 0.10.1\n",
        b"Available KV cache memory: " + b"9" * 50000 + b" GiB\n",
        b"Available KV cache memory: 1,5 GiB\n",
        b"Available KV cache memory: nan GiB\n",
        b"cmake build: x (y)\n",
        b"# GPU blocks: none\n",
    ],
)
def test_what_states_nothing_is_no_observation(log: bytes) -> None:
    assert read_log(log) == ()


@pytest.mark.parametrize(
    "piece",
    [b"general.name str = ", b"(Worker_A1", b"\x1b[", b"Load weight end.", b": " + b" " * 500,
     b"Free memory on device (", b"Capture x graph end.", b"K (f16): "],
)  # fmt: skip
def test_no_pattern_runs_away(piece: bytes) -> None:
    """A full line of any beginning is read in well under a second; the timeout is pytest's own."""
    log = piece * (LONGEST_LINE // len(piece))
    assert read_log(log + b" KV buffer size\n" + POOL) != ()


def test_words_of_a_log_carry_no_control_characters() -> None:
    log = "Initializing a V1 LLM engine (v0.19.0) with config: model='a\u202eb\x1b[31m/c\x07', \n"
    (seen,) = read_log(log + POOL.decode())
    assert seen.word("model") == "ab/c"


def test_broken_versions_are_no_release() -> None:
    (seen,) = read_log("vLLM API server version ../../etc\n" + POOL.decode())
    assert seen.release is None
