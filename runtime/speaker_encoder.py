"""The speaker encoder: samples in, one x-vector out."""

from pathlib import Path

from safetensors.numpy import load_file

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.mel import MelSpectrogram


class SpeakerEncoder:
    """Mono samples at 24 kHz to an x-vector, by way of a log-mel spectrogram."""

    def __init__(self, graph: Graph, mel: MelSpectrogram) -> None:
        self._graph = graph
        self._mel = mel

    def encode(self, samples: Floats) -> Floats:
        """The x-vector (H,) of samples (n,)."""
        return self._graph.run({"mel": self._mel(samples)}, "x_vector").reshape(-1)


def load_mel(path: Path) -> MelSpectrogram:
    """The spectrogram with the filters of a package. Raises `PackageError`."""
    try:
        return MelSpectrogram(load_file(path)["filters"])
    except Exception as error:  # safetensors raises classes of its own
        raise PackageError(f"{path} cannot be read ({error}): verify the package") from None
