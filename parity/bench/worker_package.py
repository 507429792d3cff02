"""A package as a contestant, in a process of its own: `python -m qwen3_tts_ncnn.parity.bench.worker_package`."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from qwen3_tts_ncnn.parity.bench.job import FIRST_CHUNK, Job
from qwen3_tts_ncnn.parity.bench.serve import peak_memory, read_through, serve
from qwen3_tts_ncnn.parity.bench.stopwatch import Stopwatch
from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.package import Package


class PackageContestant:
    """Speaks, decodes, streams, and tells the seconds of each part."""

    _tts: TTS
    _job: Job
    _voice: Voice | None = None

    def __init__(self) -> None:
        self._stopwatch = Stopwatch()
        self._filled: dict[int, tuple[Any, Any]] = {}

    def load(self, path: str, backend: str, job: dict[str, Any]) -> dict[str, Any]:
        """Load the package at `path` onto a backend, verified and read before, so that only loading is timed."""
        self._job = Job.from_json(job)
        folder = Path(path)
        Package.open(folder).verify_once()
        read_through(folder)
        begun = time.perf_counter()
        tts = self._tts = TTS.load(
            folder,
            backend=backend,
            threads=self._job.threads,
            huge_pages=self._job.huge_pages,
            pretokenizer=self._job.pretokenizer,
        )
        seconds = time.perf_counter() - begun
        clip = self._job.case(self._job.frames).reference
        if clip is not None:
            self._voice = tts.clone((clip.samples, clip.rate), transcript=clip.transcript)
        self._prompt = tts.prompt(self._job.text, **self._how)
        self._hold_off_eos()
        for part, method in (
            (tts._talker, "start"),
            (tts._talker, "step"),
            (tts._talker, "logits"),
            (tts._predictor, "fill"),
        ):
            self._stopwatch.watch(part, method)
        graphs = {name: str(graph) for name, graph in tts.manifest.graphs.items()}
        return {"load_seconds": seconds, "prompt_rows": len(self._prompt.rows), "graphs": graphs}

    def _hold_off_eos(self) -> None:
        """Makes EOS impossible, so that every contestant makes as many frames: random weights end where they like."""
        talker, eos = self._tts._talker, self._tts.manifest.codec_ids.eos
        logits_of = talker.logits

        def logits(hidden: Floats) -> Floats:
            held = logits_of(hidden)
            held[eos] = -np.inf
            return held

        talker.logits = logits  # type: ignore[method-assign]

    def round(self, frames: int) -> dict[str, Any]:
        """Speak, decode the same frames again on their own, and stream."""
        laps = self._stopwatch.laps
        self._stopwatch.reset()
        cpu, begun = time.process_time(), time.perf_counter()
        speech = self._tts.speak(self._job.text, **self._options(frames))
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
        return {
            "frames": len(speech.codes),
            "stop": speech.stop,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "audio_seconds": speech.duration,
            # The first head belongs to the prefill, as in upstream's first forward.
            "prefill_seconds": laps["start"][0] + laps["logits"][0],
            "talker_seconds": sum(laps["step"]) + sum(laps["logits"][1:]),
            "predictor_seconds": sum(laps["fill"]),
            **self._decode(speech.codes),
            **self._stream(frames),
        }

    def fill(self, positions: Iterable[int], frames: int) -> dict[str, Any]:
        """A KV cache for each position, filled with the prompt's rows over and over, with room for `frames` more."""
        for position in positions:
            rows = np.resize(self._prompt.rows, (position, self._prompt.rows.shape[1]))
            self._filled[position] = self._tts._talker.start(rows, capacity=position + frames)
        return {}

    def steps(self, position: int, frames: int) -> dict[str, Any]:
        """Frames (talker and predictor, likeliest codes) from a filled cache on."""
        talker, predictor = self._tts._talker, self._tts._predictor
        laps = self._stopwatch.laps
        self._stopwatch.reset()
        hidden, cache = self._filled[position]
        for _ in range(frames):
            code = int(talker.logits(hidden)[: self._tts.manifest.codec_ids.first_control].argmax())
            _, embedded = predictor.fill(hidden, talker.codec_rows([code]), _likeliest)
            hidden = talker.step(embedded + self._prompt.pad, cache)
        self._filled[position] = hidden, cache
        return {
            "frames": frames,
            "talker_seconds": sum(laps["step"]) + sum(laps["logits"]),
            "predictor_seconds": sum(laps["fill"]),
        }

    @property
    def _how(self) -> dict[str, Any]:
        """Who speaks, as `TTS` takes it."""
        job = self._job
        return {"speaker": job.speaker, "voice": self._voice, "language": job.language, "instruct": job.instruct}

    def _options(self, frames: int) -> dict[str, Any]:
        """Greedy, and without what upstream has not: nothing but EOS or the limit ends a run."""
        bounds = {"split": False, "budget": False, "watchdog": False, "max_frames": frames}
        return {**self._how, **bounds, "greedy": True}

    def _decode(self, codes: Any) -> dict[str, float]:
        """The codec alone: all frames, and the first chunk of a stream."""
        begun = time.perf_counter()
        samples = self._tts.codec.stream().decode(codes)
        seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        self._tts.codec.stream().decode(codes[:FIRST_CHUNK])
        return {
            "codec_seconds": seconds,
            "codec_audio_seconds": len(samples) / self._tts.manifest.codec.sample_rate,
            "first_chunk_codec_seconds": time.perf_counter() - begun,
        }

    def _stream(self, frames: int) -> dict[str, float]:
        """From the call to the first samples, and to the last."""
        begun = time.perf_counter()
        chunks = self._tts.stream(self._job.text, first_chunk=FIRST_CHUNK, **self._options(frames))
        next(chunks)
        first = time.perf_counter() - begun
        for _ in chunks:
            pass
        return {"first_audio_seconds": first, "stream_seconds": time.perf_counter() - begun}


def _likeliest(logits: Any) -> int:
    return int(logits.argmax())


if __name__ == "__main__":
    contestant = PackageContestant()
    serve(
        {
            "load": contestant.load,
            "round": contestant.round,
            "fill": contestant.fill,
            "steps": contestant.steps,
            "memory": peak_memory,
        }
    )
