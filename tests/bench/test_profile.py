"""The profile: whose time it is, where graphs are cut, and the whole program on a tiny package."""

import cProfile
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qwen3_tts_ncnn.parity.bench.attribution import OUTSIDE, seconds_by_module
from qwen3_tts_ncnn.parity.bench.cuts import Stage, codec_stages, decoder_stages
from qwen3_tts_ncnn.runtime.manifest import read_manifest
from qwen3_tts_ncnn.runtime.param import read_param

PROGRAM = "qwen3_tts_ncnn.parity.bench.profile"


def compiled(file: str, text: str, **names: object) -> dict[str, object]:
    """What a module of that file would define."""
    namespace: dict[str, object] = dict(names)
    exec(compile(text, file, "exec"), namespace)
    return namespace


def test_what_a_module_calls_outside_counts_for_it() -> None:
    helper = compiled("/lib/numpy.py", "def work(n):\n    return sum(range(n))")["work"]
    heavy = compiled("/run/heavy.py", "def go():\n    return work(2_000_000)", work=helper)["go"]
    light = compiled("/run/light.py", "def go():\n    return heavy() + work(20_000)", work=helper, heavy=heavy)["go"]
    # By the processor's time: by the clock, whoever is put off the core for a moment looks slow.
    profile = cProfile.Profile(time.process_time)
    profile.runcall(light)  # type: ignore[arg-type]
    seconds = seconds_by_module(profile, lambda file: Path(file).stem if file.startswith("/run/") else None)
    assert seconds.keys() <= {"heavy", "light", OUTSIDE}
    assert seconds["heavy"] > 10 * seconds["light"] > 0
    assert seconds.get(OUTSIDE, 0.0) < 0.1 * seconds["heavy"]


def test_functions_that_call_each_other_outside_end() -> None:
    text = "def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)"
    even = compiled("/lib/parity.py", text)["even"]
    go = compiled("/run/go.py", "def go():\n    return even(200)", even=even)["go"]
    profile = cProfile.Profile()
    profile.runcall(go)  # type: ignore[arg-type]
    seconds = seconds_by_module(profile, lambda file: "go" if file.startswith("/run/") else None)
    assert seconds["go"] > 0


def test_a_decoder_is_cut_after_every_attention() -> None:
    graph = read_param(
        "7767517\n4 8\nInput in 0 2 q cache\nSDPA a 2 2 q cache x cache_out_0\n"
        "SDPA b 2 2 x cache_out_0 y cache_out_1\nRMSNorm n 1 2 y hidden_out z\n"
    )
    assert decoder_stages(graph) == [
        Stage("to the first attention", "x"),
        Stage("attention 1 to 2", "y"),
        Stage("after the last attention", "hidden_out"),
    ]


def test_the_codec_is_cut_where_its_channels_change(tiny_package: Path) -> None:
    graph = read_param((tiny_package / "codec_decoder.param").read_text(encoding="utf-8"))
    states = read_manifest(tiny_package).codec.states
    stages = codec_stages(graph, states)
    assert [stage.name for stage in stages[:3]] == ["codebooks", f"{states[0][0]} channels", "attention"]
    assert stages[-1] == Stage(f"{states[-1][0]} channels", "wave")
    assert len({stage.end for stage in stages}) == len(stages)
    assert {stage.end for stage in stages} <= set(graph.blobs)


def test_the_profile_of_a_tiny_package_names_every_graph_of_a_frame(tiny_package: Path) -> None:
    command = [sys.executable, "-m", PROGRAM, str(tiny_package), "--threads", "1", "--frames", "6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for graph in ("talker_decoder", "talker_codec_head", "predictor_decoder", "predictor_heads", "codec_decoder"):
        assert f"\n{graph} " in done.stdout
    assert "\nall, by the clock " in done.stdout
    assert "\nPython: sampling " in done.stdout
    assert "\nto the first attention " in done.stdout
    assert "\nattention 1 to 2 " in done.stdout


def test_a_package_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", PROGRAM, str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: package ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("state", [(8, 1, 6), (4, 71, 16)])
def test_an_attention_state_is_told_by_its_rows(state: tuple[int, ...]) -> None:
    graph = read_param("7767517\n2 3\nInput in 0 2 state_in_0 x\nConcat c 2 1 state_in_0 x y\n")
    name = "attention" if state[1] > 1 else "8 channels"
    assert codec_stages(graph, [state]) == [Stage("codebooks", "y"), Stage(name, "wave")]
