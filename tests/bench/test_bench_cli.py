"""`qwen3-tts-ncnn bench`: a tiny package beside upstream, and what it refuses."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
import soundfile

from qwen3_tts_ncnn.parity.clips import speech_like
from tests.cli.command_line import process, process_without, refusal, run

SHORT = ("--text", "Good evening.", "--rounds", "2", "--frames", "5", "--threads", "1")

BOTH = {
    "load_seconds",
    "prefill_seconds",
    "talker_ms",
    "predictor_ms",
    "frame_ms",
    "codec_rtf",
    "first_audio_seconds",
    "total_rtf",
}


@pytest.fixture(scope="module")
def measured(tiny_package: Path, tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One whole run, with all that can be asked of it."""
    folder = tmp_path_factory.mktemp("bench")
    files = ("--json", folder / "bench.json", "--chart", folder / "bench.png")
    done = process("bench", tiny_package, "--checkpoint", tiny_checkpoint, *SHORT, "--positions", "50,20", *files)
    assert done.returncode == 0, done.stderr
    document = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    return {"document": document, "table": done.stdout, "chart": (folder / "bench.png").read_bytes()}


def test_both_have_every_figure_of_two_rounds(measured: dict[str, Any]) -> None:
    package, upstream = measured["document"]["contestants"]
    for contestant in (package, upstream):
        assert contestant["figures"].keys() >= BOTH | {"peak_gb", "cores_used"}
        assert len(contestant["figures"]["total_rtf"]["values"]) == 2
        assert all(0 < figure["low"] <= figure["median"] <= figure["high"] for figure in contestant["figures"].values())
    assert package["ratios_to_pytorch"].keys() >= BOTH
    assert upstream["ratios_to_pytorch"] == dict.fromkeys(upstream["ratios_to_pytorch"], 1.0)


def test_both_read_the_same_prompt_and_speak_as_many_frames(measured: dict[str, Any]) -> None:
    package, upstream = measured["document"]["contestants"]
    assert package["prompt_rows"] == upstream["prompt_rows"] > 10
    assert package["frames"] == upstream["frames"] == [5, 5]
    assert package["stops"] == upstream["stops"] == ["limit", "limit"]


def test_the_parts_of_a_run_are_less_than_the_run(measured: dict[str, Any]) -> None:
    for contestant in measured["document"]["contestants"]:
        figures = {key: figure["values"] for key, figure in contestant["figures"].items()}
        for frame_ms, prefill, rtf in zip(
            figures["frame_ms"], figures["prefill_seconds"], figures["total_rtf"], strict=True
        ):
            assert 5 * frame_ms / 1000 + prefill < rtf * 5 * 0.08


def test_the_package_alone_streams(measured: dict[str, Any]) -> None:
    package, upstream = measured["document"]["contestants"]
    assert package["figures"].keys() >= {"stream_ratio", "first_audio_share"}
    assert not {"stream_ratio", "first_audio_share"} & upstream["figures"].keys()


def test_positions_are_timed_for_the_package_alone(measured: dict[str, Any]) -> None:
    package, upstream = measured["document"]["contestants"]
    assert package["figures"].keys() >= {"frame_ms_at_20", "frame_ms_at_50", "position_ratio"}
    assert not [key for key in upstream["figures"] if "position" in key or "_at_" in key]
    assert measured["document"]["settings"]["positions"] == [20, 50]


def test_the_package_process_stays_without_torch(measured: dict[str, Any]) -> None:
    package, upstream = measured["document"]["contestants"]
    assert package["figures"]["peak_gb"]["median"] < 0.6 * upstream["figures"]["peak_gb"]["median"]


def test_the_chart_is_a_picture_of_two_contestants(measured: dict[str, Any]) -> None:
    assert struct.unpack(">II", measured["chart"][16:24]) == (1200, 340)


def test_the_table_is_on_standard_output_beside_the_files(measured: dict[str, Any]) -> None:
    assert "PyTorch fp32" in measured["table"]
    assert "talker + predictor, ms a frame" in measured["table"]


def test_packages_alone_need_no_torch_and_json_is_all_there_is(tiny_package: Path) -> None:
    done = process_without(["torch", "transformers", "matplotlib"], "bench", tiny_package, *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    (package,) = json.loads(done.stdout)["contestants"]
    assert package["frames"] == [5, 5]
    assert package["ratios_to_pytorch"] == {}


def test_a_base_package_is_measured_with_a_reference(tiny_base_package: Path, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "me.wav", speech_like(30_000, 24_000, seed=3), 24_000)
    voice = ("--reference", tmp_path / "me.wav", "--transcript", "Hi.")
    result = run("bench", tiny_base_package, *SHORT, *voice, "--rounds", "1", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["contestants"][0]["frames"] == [5]


def test_a_voice_design_package_is_measured_by_an_instruction(tiny_design_package: Path) -> None:
    result = run("bench", tiny_design_package, *SHORT, "--rounds", "1", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["settings"]["instruct"] == "A calm old man with a deep, warm voice."


def test_a_package_whose_graph_is_broken_is_one_line(tiny_package: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(tiny_package, broken)
    weights = bytearray((broken / "talker_decoder.bin").read_bytes())
    weights[7] ^= 1
    (broken / "talker_decoder.bin").write_bytes(weights)
    assert refusal("bench", broken, *SHORT).startswith(f"broken: {broken / 'talker_decoder.bin'} has changed")


def test_a_folder_that_is_no_package_is_one_line(tmp_path: Path) -> None:
    assert "has no model.json, so it is not a package" in refusal("bench", tmp_path)


def test_a_checkpoint_that_is_not_there_is_one_line(tiny_package: Path, tmp_path: Path) -> None:
    line = refusal("bench", tiny_package, "--checkpoint", tmp_path / "nowhere", *SHORT)
    assert line.startswith(f"PyTorch fp32: no checkpoint at {tmp_path / 'nowhere'}")


def test_a_speaker_that_the_package_lacks_is_one_line(tiny_package: Path) -> None:
    line = refusal("bench", tiny_package, *SHORT, "--speaker", "nobody")
    assert line.startswith(f"{tiny_package.name}: ")
    assert "has no speaker 'nobody'" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--positions", "50;2000"), "'50;2000' is not a list of positions of 1 or more, such as 50,2000"),
        (("--positions", "0"), "'0' is not a list of positions"),
        (("--transcript", "Hi."), "--transcript needs --reference"),
        (("--chart", "bench.jpg"), "bench.jpg is not a .png file"),
        (("--chart", "nowhere/bench.png"), "nowhere is not a folder"),
        (("--reference", "nowhere.wav"), "nowhere.wav is not there"),
        (("--rounds", "0"), "--rounds"),
        (("--devices", "--backend", "hybrid"), "--devices takes one package, and neither --checkpoint nor --backend"),
        (("--devices", "--checkpoint", "mine"), "--devices takes one package, "),
        (("--devices", "models/other"), "--devices takes one package, "),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_loaded(
    tiny_package: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in refusal("bench", tiny_package, *options)


def test_json_does_not_swallow_a_package(tiny_package: Path, tmp_path: Path) -> None:
    assert f"--json took {tmp_path} for the file to write" in refusal("bench", tiny_package, "--json", tmp_path)


def test_a_base_package_without_a_reference_is_refused(tiny_base_package: Path) -> None:
    assert "--reference says who speaks" in refusal("bench", tiny_base_package)
