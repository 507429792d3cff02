"""The table, the JSON and the chart of made-up results."""

import io
import json
import struct
from pathlib import Path

import pytest
from rich.console import Console

from qwen3_tts_ncnn.parity.bench import chart
from qwen3_tts_ncnn.parity.bench.errors import BenchError
from qwen3_tts_ncnn.parity.bench.report import Report, to_json
from qwen3_tts_ncnn.parity.bench.table import busy_line, print_report
from tests.bench.reports import BUSY, report_of, result_of

MINE = result_of("mine-int8", 0.5, 0.25, 1.0, first_audio_seconds=0.4)
TORCH = result_of("PyTorch fp32", 1.0, 2.0, 3.0, upstream=True, first_audio_seconds=4.0)


def printed(report: Report) -> list[str]:
    screen = Console(file=io.StringIO(), width=200, color_system=None)
    print_report(report, screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def row(lines: list[str], title: str) -> list[str]:
    (line,) = (line for line in lines if line.startswith(title))
    return line.removeprefix(title).split()


def test_a_row_has_median_spread_and_ratio_and_pytorch_has_no_ratio() -> None:
    lines = printed(report_of(MINE, TORCH))
    assert row(lines, "talker, ms a frame") == ["25.0", "12.5–50.0", "0.25", "100.0", "50.0–150.0"]
    assert row(lines, "load, s") == ["1.00", "0.50", "2.00"]
    assert row(lines, "first audio, s") == ["0.400", "0.400–0.400", "0.10", "4.000", "4.000–4.000"]
    assert row(lines, "frames") == ["10", "10"]
    assert row(lines, "prompt, rows") == ["20", "20"]


def test_without_pytorch_there_are_no_ratios() -> None:
    lines = printed(report_of(MINE, result_of("mine-fp32", 1.0)))
    assert row(lines, "talker, ms a frame") == ["25.0", "12.5–50.0", "50.0"]
    assert row(lines, "first audio, s") == ["0.400", "0.400–0.400", "—"]
    assert not any("×" in line or "PyTorch" in line for line in lines)


def test_the_notes_say_what_rtf_is_and_what_it_was_measured_on() -> None:
    lines = printed(report_of(MINE, TORCH))
    assert any("Total RTF is compute seconds ÷ audio seconds" in line for line in lines)
    assert "Abacus 3000, 2 cores, 2 threads, ncnn 1.0, torch 2.0, OMP_WAIT_POLICY=passive" in lines
    assert any("PyTorch does not stream" in line for line in lines)


def test_a_busy_machine_is_one_line_of_warning_and_a_quiet_one_none() -> None:
    warning = (
        "The machine was busy: other processes took 0.50 of a core and the hypervisor 0.02 while this was measured, "
        "most of all cc1plus with 0.45. Measure again when it is not."
    )
    assert printed(report_of(MINE, load=BUSY))[-1] == warning
    assert busy_line(report_of(MINE)) is None
    assert busy_line(report_of(MINE, load=None)) is None


def test_json_has_every_round_and_the_ratios() -> None:
    document = json.loads(to_json(report_of(MINE, TORCH, load=BUSY)))
    mine, torch = document["contestants"]
    assert mine["figures"]["talker_ms"] == {"median": 25.0, "low": 12.5, "high": 50.0, "values": [25.0, 12.5, 50.0]}
    assert mine["ratios_to_pytorch"]["talker_ms"] == 0.25
    assert (mine["kind"], torch["kind"]) == ("package", "pytorch")
    assert mine["graphs"] == {"talker_decoder": "int8"}
    assert document["load"]["busy"] is True
    assert document["load"]["busiest"] == ["cc1plus", 0.45]
    assert document["machine"]["environment"] == {"OMP_WAIT_POLICY": "passive"}
    assert (document["settings"]["rounds"], document["settings"]["threads"]) == (3, 2)


def test_json_of_an_unknown_load_is_null() -> None:
    assert json.loads(to_json(report_of(MINE, load=None)))["load"] is None


@pytest.mark.parametrize(("results", "height"), [((MINE,), 270), ((MINE, result_of("other", 1.0), TORCH), 410)])
def test_the_chart_is_a_png_whose_height_goes_with_the_contestants(results: tuple[object, ...], height: int) -> None:
    picture = chart.draw_chart(report_of(*results))  # type: ignore[arg-type]
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", picture[16:24]) == (1200, height)
    assert len(picture) > 5000


def test_drawing_touches_no_display_and_leaves_no_figure_behind() -> None:
    import sys

    chart.draw_chart(report_of(MINE))
    assert "matplotlib.pyplot" not in sys.modules


def test_a_chart_that_is_no_png_is_refused() -> None:
    with pytest.raises(BenchError, match=r"bench\.jpg is not a \.png file"):
        chart.check_chart(Path("bench.jpg"))


def test_a_chart_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BenchError, match=r"pip install 'qwen3-tts-ncnn\[bench\]'"):
        chart.check_chart(Path("bench.png"))
