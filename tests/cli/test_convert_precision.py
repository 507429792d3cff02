"""`convert --precision`: of a checkpoint and of an fp32 package the same, told graph by graph."""

import json
import re
from pathlib import Path

import pytest
import soundfile

from qwen3_tts_ncnn.convert.precision.formats import RECOMMENDED
from tests.cli.command_line import refusal, run
from tests.cli.test_convert import GRAPHS, same_files


@pytest.mark.usefixtures("quick_graphs")
def test_a_checkpoint_gives_the_package_that_its_fp32_package_gives(
    tiny_checkpoint: Path, tiny_int8_package: Path, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    result = run("convert", tiny_checkpoint, "-o", package, "--precision", "int8")
    assert result.exit_code == 0, result.output
    assert same_files(package, tiny_int8_package)
    assert list(tmp_path.iterdir()) == [package]
    *graphs, last = result.stderr.splitlines()
    names = [line.partition(":")[0] for line in graphs]
    assert names == [f"[{number}/13] {name}" for number, name in enumerate([*GRAPHS, *RECOMMENDED], start=1)]
    assert last.startswith(f"wrote {package}: 13 graphs, ")


def test_a_package_tells_the_cosine_of_each_graph(tiny_package: Path, tiny_int8_package: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    result = run("convert", tiny_package, "-o", package, "--precision", "int8")
    *graphs, last = result.stderr.splitlines()
    for number, (line, name) in enumerate(zip(graphs, RECOMMENDED, strict=True), start=1):
        assert re.fullmatch(rf"\[{number}/4\] {name}: cosine (1|0\.99\d*) \(at least 0\.95\)", line), line
    assert last.startswith(f"wrote {package}: 4 graphs, ")
    assert result.stdout == ""
    assert same_files(package, tiny_int8_package)


def test_json_has_the_graphs_that_changed(tiny_package: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    options = ("--precision", "bf16", "--precision", "predictor_heads=fp32", "--json")
    record = json.loads(run("convert", tiny_package, "-o", package, *options).stdout)
    assert [graph["name"] for graph in record["graphs"]] == list(RECOMMENDED)[:3]
    assert {(graph["measure"], graph["bound"]) for graph in record["graphs"]} == {("cosine", 0.95)}
    assert record["codec_from"] is None


def test_the_default_place_has_the_precision_in_its_name(
    tiny_package: Path, tiny_int8_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("convert", tiny_package, "--precision", "int8").exit_code == 0
    assert same_files(tmp_path / "models" / "tiny-customvoice-int8", tiny_int8_package)


def test_info_says_how_each_graph_is_stored(tiny_int8_package: Path) -> None:
    lines = [line.split() for line in run("info", tiny_int8_package).stdout.partition("\n\n")[2].splitlines()]
    shown = {line[0]: line[1] for line in lines if line[0] in GRAPHS}
    assert shown == dict.fromkeys(GRAPHS, "fp32") | {name: str(weights) for name, weights in RECOMMENDED.items()}
    graphs = json.loads(run("info", tiny_int8_package, "--json").stdout)["graphs"]
    for name, weights in RECOMMENDED.items():
        assert (graphs[name]["precision"], graphs[name]["block"]) == (weights.precision, weights.block)
    assert (graphs["codec_decoder"]["precision"], graphs["codec_decoder"]["block"]) == ("fp32", None)


def test_info_calls_a_format_as_convert_takes_it(tiny_package: Path, tmp_path: Path) -> None:
    given = dict(zip(RECOMMENDED, ("int8/row", "int8/64", "bf16", "fp32"), strict=True))
    words = [word for graph, text in given.items() for word in ("--precision", f"{graph}={text}")]
    assert run("convert", tiny_package, "-o", tmp_path / "mixed", *words).exit_code == 0
    lines = [line.split() for line in run("info", tmp_path / "mixed").stdout.splitlines() if line]
    assert {line[0]: line[1] for line in lines if line[0] in given} == given
    graphs = json.loads(run("info", tmp_path / "mixed", "--json").stdout)["graphs"]
    assert [graphs[name]["block"] for name in given] == [None, 64, None, None]


def test_an_int8_package_is_spoken_with(tiny_int8_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "a.wav"
    options = ("--speaker", "ryan", "--threads", "1", "--greedy", "--max-frames", "5", "-o", wav)
    assert run("speak", tiny_int8_package, "Hello.", *options).exit_code == 0
    assert soundfile.info(wav).frames == 5 * 1920
    assert run("verify", tiny_int8_package).exit_code == 0


@pytest.mark.parametrize("option", [("--codec-from", "base"), ("--revision", "main")])
def test_what_goes_with_a_checkpoint_does_not_go_with_a_package(
    tiny_package: Path, tmp_path: Path, option: tuple[str, str]
) -> None:
    assert refusal("convert", tiny_package, "-o", tmp_path / "new", "--precision", "int8", *option) == (
        "--codec-from and --revision go with a checkpoint, not with a package. See `qwen3-tts-ncnn convert --help`."
    )
    assert list(tmp_path.iterdir()) == []


def test_the_codec_alone_stays_fp32(codec_package: Path, codec_checkpoint: Path, tmp_path: Path) -> None:
    new = ("-o", tmp_path / "new", "--precision", "int8")
    assert refusal("convert", codec_package, *new) == (
        f"{codec_package} is a package of the codec alone, which does not speak: use it with `codec encode` and "
        "`codec decode`, or give the package of a model"
    )
    assert refusal("convert", codec_checkpoint, *new) == (
        "tiny-codec is the codec alone, which stays fp32: leave the precision out"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_int8_package_is_not_converted_again(tiny_int8_package: Path, tmp_path: Path) -> None:
    line = refusal("convert", tiny_int8_package, "-o", tmp_path / "new", "--precision", "bf16")
    assert line.endswith("in int8: the precision of an fp32 package alone can be changed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (
            "int4",
            "precision is 'int4', expected fp32, bf16, int8, int8/row or int8/BLOCK, for all or as GRAPH=PRECISION",
        ),
        ("int8/16", "int8 block is 16, expected one of 32, 64, 128, or row"),
        (
            "codec_decoder=int8",
            "no precision can be set for graph 'codec_decoder', expected one of " + ", ".join(RECOMMENDED),
        ),
    ],
)
def test_a_precision_that_cannot_be_is_refused_before_anything_is_read(
    tmp_path: Path, word: str, expected: str
) -> None:
    for source in ("0.6b-customvoice", tmp_path / "no-such-folder"):
        assert refusal("convert", source, "-o", tmp_path / "new", "--precision", word) == expected
