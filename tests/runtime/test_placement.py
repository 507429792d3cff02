"""What runs where, for every form that `backend` takes. No driver is needed."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.errors import DeviceError, OptionError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest
from qwen3_tts_ncnn.runtime.measured_backends import keep_fastest
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.placement import Backend, Placement, weight_bytes
from tests.runtime.gpus import BUILT_IN, LARGE, NO_DRIVER, NO_LOADER, SMALL, Gpus, gpu, gpus

__all__ = ["gpus"]

TALKER = {"talker_text_embed", "talker_decoder", "talker_codec_head"}
PREDICTOR = {"predictor_decoder", "predictor_heads"}
HYBRID = {"codec_decoder", "mimi_encoder", "speaker_encoder"}


@pytest.fixture(scope="module")
def manifest(tiny_base_package: Path) -> CodecManifest:
    return Package.open(tiny_base_package).manifest


def in_half(backend: Backend, manifest: CodecManifest) -> set[str]:
    return {name for name, place in Placement.of(backend, manifest).places.items() if place.fp16}


def placed(backend: Backend, manifest: CodecManifest) -> dict[str, int]:
    return {name: place.device.index for name, place in Placement.of(backend, manifest).places.items()}


@pytest.mark.parametrize(
    ("backend", "graphs", "index"),
    [
        ("cpu", set[str](), 1),
        ("vulkan", TALKER | PREDICTOR | HYBRID, 1),
        ("vulkan:0", TALKER | PREDICTOR | HYBRID, 0),
        ("vulkan:iris", TALKER | PREDICTOR | HYBRID, 0),
        ("hybrid", HYBRID, 1),
        ("hybrid:0", HYBRID, 0),
        ("auto", HYBRID, 1),
        ({}, set[str](), 1),
        ({"talker": "cpu", "codec_decoder": "vulkan"}, {"codec_decoder"}, 1),
        ({"talker": "vulkan:0"}, TALKER, 0),
        ({"talker_decoder": "cpu", "talker": "vulkan"}, TALKER - {"talker_decoder"}, 1),
        ("codec=vulkan:0, predictor=cpu", {"codec_decoder"}, 0),
    ],
)
def test_a_backend_places_every_graph(
    gpus: Gpus, manifest: CodecManifest, backend: Backend, graphs: set[str], index: int
) -> None:
    gpus(BUILT_IN, LARGE)
    assert placed(backend, manifest) == dict.fromkeys(graphs, index)


@pytest.mark.parametrize(
    ("backend", "graphs"),
    [
        ("vulkan-fp16", TALKER | PREDICTOR | HYBRID),
        ("hybrid-fp16:iris", HYBRID),
        ("hybrid", set[str]()),
        ("auto", set[str]()),
        ({"talker": "vulkan", "predictor": "vulkan-fp16:1"}, PREDICTOR),
        ("codec=vulkan-fp16, talker=vulkan", {"codec_decoder"}),
    ],
)
def test_half_precision_is_asked_for_by_name(
    gpus: Gpus, manifest: CodecManifest, backend: Backend, graphs: set[str]
) -> None:
    gpus(BUILT_IN, LARGE)
    assert in_half(backend, manifest) == graphs


@pytest.mark.parametrize("backend", ["vulkan", "hybrid-fp16:0", "cpu"])
def test_auto_is_what_was_measured(
    gpus: Gpus, manifest: CodecManifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = (BUILT_IN, LARGE)
    gpus(*found)
    keep_fastest(manifest, found, {"hybrid:1": 0.5, backend: 0.4})
    assert Placement.of("auto", manifest) == Placement.of(backend, manifest)


def test_auto_is_the_cpu_where_what_was_measured_cannot_be(
    gpus: Gpus, manifest: CodecManifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for backend in ("vulkan:7", "quantum", "talk=vulkan"):
        gpus(LARGE)
        keep_fastest(manifest, (LARGE,), {backend: 0.4})
        assert placed("auto", manifest) == {}


def test_some_graphs_of_a_placement_are_a_backend_again(gpus: Gpus, manifest: CodecManifest) -> None:
    gpus(BUILT_IN, LARGE)
    placement = Placement.of({"codec": "vulkan:0", "predictor": "vulkan-fp16"}, manifest)
    some = ("predictor_decoder", "codec_decoder")
    fewer = Placement.of(placement.of_graphs(some), manifest)
    assert fewer.places == {name: placement.places[name] for name in some}
    assert placement.of_graphs([]) == "cpu"


def test_a_mapping_may_name_two_devices(gpus: Gpus, manifest: CodecManifest) -> None:
    gpus(BUILT_IN, LARGE)
    assert placed({"codec": "vulkan:1", "mimi_encoder": "vulkan:0"}, manifest) == {
        "codec_decoder": 1,
        "mimi_encoder": 0,
    }


@pytest.mark.parametrize("found", [(), (BUILT_IN,), (gpu(0, "llvmpipe", "cpu"),), (SMALL,)])
def test_auto_is_the_cpu_without_a_discrete_gpu_that_is_large_enough(
    gpus: Gpus, manifest: CodecManifest, found: tuple[object, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    gpus(*found, log="" if found else NO_LOADER)
    assert placed("auto", manifest) == {}
    assert capfd.readouterr() == ("", "")


def test_the_cpu_looks_for_no_device(gpus: Gpus, manifest: CodecManifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.placement.find_devices", None)  # calling it would raise
    assert placed("cpu", manifest) == placed({"talker": "cpu"}, manifest) == {}


@pytest.mark.parametrize(
    "backend", ["quantum", "", "Vulkan", "cpu:0", "vulkann", "cpu-fp16", "auto-fp16", "vulkan-fp8"]
)
def test_what_is_no_backend_is_told_with_what_is(manifest: CodecManifest, backend: str) -> None:
    with pytest.raises(OptionError, match=rf"^backend is '{backend}', expected cpu, vulkan, hybrid or auto, "):
        Placement.of(backend, manifest)


def test_a_mapping_of_no_graph_or_to_no_place_is_refused(gpus: Gpus, manifest: CodecManifest) -> None:
    gpus(LARGE)
    with pytest.raises(OptionError, match=r"^backend names the graph 'talk', expected one of .*talker_decoder"):
        Placement.of({"talk": "vulkan"}, manifest)
    with pytest.raises(OptionError, match=r"^backend has 'gpu' for talker, expected cpu, vulkan or vulkan-fp16, "):
        Placement.of({"talker": "gpu"}, manifest)
    with pytest.raises(OptionError, match=r"^backend names the graph 'talker_codec_embed', expected "):
        Placement.of("talker_codec_embed=vulkan", manifest)  # a table: it is no graph to run


@pytest.mark.parametrize("backend", ["vulkan", "hybrid", "codec=vulkan"])
def test_a_gpu_that_is_asked_for_must_be_there(gpus: Gpus, tiny_base_package: Path, backend: str) -> None:
    gpus(log=NO_DRIVER)
    with pytest.raises(DeviceError, match=r"^no Vulkan device is there: "):
        TTS.load(tiny_base_package, backend=backend, threads=1)


def test_weights_that_are_too_large_are_refused_with_what_fits(gpus: Gpus, manifest: CodecManifest) -> None:
    encoder, codec = (weight_bytes(manifest, name) for name in ("speaker_encoder", "codec_decoder"))
    gpus(gpu(0, "Tiny", "discrete", memory=encoder + codec))
    with pytest.raises(DeviceError) as caught:
        Placement.of("vulkan", manifest)
    whole = sum(weight_bytes(manifest, name) for name in TALKER | PREDICTOR | HYBRID)
    assert str(caught.value).startswith(
        f"device 0 (Tiny) has {(encoder + codec) / 1e6:.0f} MB of memory for weights of {whole / 1e6:.0f} MB: "
        "what fits is backend "
    )
    fits = str(caught.value).rpartition(" ")[2]
    sizes = [weight_bytes(manifest, name) for name in placed(fits, manifest)]
    assert sizes
    assert sum(sizes) <= encoder + codec
    gpus(SMALL)
    with pytest.raises(DeviceError, match=r"^device 2 \(GeForce GT 710\) has 0 MB of memory .*: use backend cpu$"):
        Placement.of("codec=vulkan", manifest)


def test_int8_weights_take_no_memory_of_a_gpu_and_half_precision_takes_half(tiny_int8_package: Path) -> None:
    manifest = Package.open(tiny_int8_package).manifest
    assert weight_bytes(manifest, "talker_decoder") == 0
    whole = manifest.files["codec_decoder.bin"].size
    assert weight_bytes(manifest, "codec_decoder") == whole
    assert weight_bytes(manifest, "codec_decoder", fp16=True) == whole // 2
