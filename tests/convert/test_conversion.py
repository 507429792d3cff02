"""The whole conversion, for real: the same bytes every time, and nothing but the package."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, open_checkpoint
from qwen3_tts_ncnn.convert.checkpoint.inventory import unused_reason
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.codec_reuse import CODEC_GRAPHS
from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
from qwen3_tts_ncnn.convert.package_tables import write_rvq_tables, write_text_table
from qwen3_tts_ncnn.convert.precision.change import package_name
from qwen3_tts_ncnn.convert.report import GraphReport, Step
from qwen3_tts_ncnn.runtime.manifest import CodecManifest, read_manifest
from tests.convert.graph_plans import plans_of
from tests.convert.stand_ins import contents, make_quick

# The talker comes last: it takes longest, and whatever is wrong shows before.
GRAPHS = [
    "talker_text_embed",
    "talker_codec_embed",
    "talker_codec_head",
    "predictor_embeds",
    "predictor_heads",
    "predictor_decoder",
    "mimi_encoder",
    "codec_decoder",
    "talker_decoder",
]


class Told:
    """A conversion that was watched."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int, str, float | None]] = []

    def __call__(self, number: int, count: int, plan: Step, measured: float | None) -> None:
        self.lines.append((number, count, plan.name, measured))


Second = tuple[Path, Told, list[GraphReport]]


@pytest.fixture(scope="module")
def codec_alone(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the tiny checkpoint's codec alone."""
    package = tmp_path_factory.mktemp("alone") / "codec"
    reports = convert_checkpoint(open_checkpoint(tiny_checkpoint / "speech_tokenizer"), package)
    assert [report.name for report in reports] == ["mimi_encoder", "codec_decoder"]
    return package


@pytest.fixture(scope="module")
def second(checkpoint: Checkpoint, codec_alone: Path, tmp_path_factory: pytest.TempPathFactory) -> Second:
    """Another package of the tiny checkpoint, with the codec of that one, what was told on the way, and the reports."""
    told = Told()
    package = tmp_path_factory.mktemp("second") / "package"
    reports = convert_checkpoint(checkpoint, package, codec_from=codec_alone, on_graph=told)
    return package, told, reports


def test_two_conversions_are_the_same_bytes(second: Second, tiny_package: Path) -> None:
    """The codec's too, which was converted on its own the second time."""
    one, other = contents(tiny_package), contents(second[0])
    assert one.keys() == other.keys()
    assert len(one) == 2 * 9 + 4
    assert [name for name, data in one.items() if data != other[name]] == []


def test_the_codec_alone_becomes_the_codec_of_any_package(codec_alone: Path, tiny_package: Path) -> None:
    files, whole = contents(codec_alone), contents(tiny_package)
    assert [name for name, data in files.items() if whole[name] != data] == ["model.json"]
    assert len(files) == 6
    manifest = read_manifest(codec_alone)
    assert type(manifest) is CodecManifest
    assert manifest.name == "speech_tokenizer-fp32"
    assert list(manifest.graphs) == ["mimi_encoder", "codec_decoder"]


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
    assert [report.name for report in reports] == [name for name in GRAPHS if name not in CODEC_GRAPHS]
    assert all(report.bound.holds(report.measured) for report in reports)
    expected = []
    for number, report in enumerate(reports, start=1):
        expected += [(number, 7, report.name, None), (number, 7, report.name, report.measured)]
    assert told.lines == expected


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "qwen3-tts-12hz-0.6b-customvoice-fp32"),
        ("My Fine Tune", "my fine tune-fp32"),
    ],
)
def test_a_package_is_named_after_its_repository_or_folder(origin: str, name: str) -> None:
    assert package_name(origin, "fp32") == name


def test_tables_and_lookups_are_exact(second: Second) -> None:
    measured = {report.name: report.measured for report in second[2]}
    assert measured["talker_codec_embed"] == measured["predictor_embeds"] == 0
    assert "text_embedding.bin" in contents(second[0])


def test_a_base_package_has_a_speaker_encoder_and_its_filters_too(
    base_checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_quick(monkeypatch)
    reports = convert_checkpoint(base_checkpoint, tmp_path / "base")
    graphs = [*GRAPHS[:5], "speaker_encoder", *GRAPHS[5:]]
    assert [report.name for report in reports] == graphs
    assert contents(tmp_path / "base").keys() == {
        *(f"{graph}.{suffix}" for graph in graphs for suffix in ("param", "bin")),
        *("model.json", "tokenizer.json", "text_embedding.bin", "rvq_encoder.safetensors", "mel_filters.safetensors"),
    }


def test_every_tensor_of_a_base_checkpoint_is_used_or_known_as_unused_with_a_reason(
    base_checkpoint: Checkpoint, tmp_path: Path
) -> None:
    main, codec = Weights(base_checkpoint.main), Weights(base_checkpoint.codec)
    for plan in plans_of(base_checkpoint, main, codec).values():
        plan.build()
    write_text_table(base_checkpoint.main, main, tmp_path / "text")
    write_rvq_tables(base_checkpoint.codec_config, codec, tmp_path / "rvq")
    assert main.left_over() == []
    names, left = base_checkpoint.codec.names, codec.left_over()
    assert left == [name for name in names if unused_reason(name, base_checkpoint.codec_config)]
    # Two input and two output projections, 32 flags, and two tables for each of 16 levels.
    assert len(left) == 2 + 2 + 32 + 2 * 16
    assert len(names) == 496
