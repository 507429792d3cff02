"""The whole conversion, for real: the same bytes every time, and nothing but the package."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert import conversion
from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.conversion import GraphReport, convert_checkpoint, package_name
from qwen3_tts_ncnn.convert.plans import GraphPlan

GRAPHS = [
    "talker_text_embed",
    "talker_codec_embed",
    "talker_codec_head",
    "predictor_embeds",
    "predictor_heads",
    "predictor_decoder",
    "codec_decoder",
    "talker_decoder",
]


class Told:
    """A conversion that was watched."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int, str, float | None]] = []

    def __call__(self, number: int, count: int, plan: GraphPlan, measured: float | None) -> None:
        self.lines.append((number, count, plan.name, measured))


Second = tuple[Path, Told, list[GraphReport]]


@pytest.fixture(scope="module")
def second(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Second:
    """Another package of the tiny checkpoint, what was told on the way, and the reports."""
    told = Told()
    package = tmp_path_factory.mktemp("second") / "package"
    reports = convert_checkpoint(checkpoint, package, on_graph=told)
    return package, told, reports


def test_two_conversions_are_the_same_bytes(second: Second, tiny_package: Path) -> None:
    one, other = ({path.name: path for path in folder.iterdir()} for folder in (tiny_package, second[0]))
    assert one.keys() == other.keys()
    assert len(one) == 2 * 8 + 3
    different = [name for name, path in one.items() if path.read_bytes() != other[name].read_bytes()]
    assert different == []


def test_nothing_lies_beside_the_package(second: Second) -> None:
    assert [path.name for path in second[0].parent.iterdir()] == ["package"]


def test_a_package_has_the_permissions_of_any_new_folder(second: Second) -> None:
    other = second[0].parent / "other"
    other.mkdir()
    (other / "file").touch()
    assert second[0].stat().st_mode == other.stat().st_mode
    modes = {path.name: path.stat().st_mode for path in second[0].iterdir()}
    assert modes == dict.fromkeys(modes, (other / "file").stat().st_mode)
    (other / "file").unlink()
    other.rmdir()


def test_each_graph_is_told_before_and_after_and_reported(second: Second) -> None:
    _, told, reports = second
    assert [report.name for report in reports] == GRAPHS
    assert all(report.bound.holds(report.measured) for report in reports)
    expected = []
    for number, report in enumerate(reports, start=1):
        expected += [(number, 8, report.name, None), (number, 8, report.name, report.measured)]
    assert told.lines == expected


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "qwen3-tts-12hz-0.6b-customvoice-fp32"),
        ("My Fine Tune", "my fine tune-fp32"),
    ],
)
def test_a_package_is_named_after_its_repository_or_folder(origin: str, name: str) -> None:
    assert package_name(origin) == name


def test_tables_and_lookups_are_exact(second: Second) -> None:
    measured = {report.name: report.measured for report in second[2]}
    assert measured["talker_codec_embed"] == measured["predictor_embeds"] == 0
    assert conversion.TEXT_TABLE in {path.name for path in second[0].iterdir()}
