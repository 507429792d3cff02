"""Upstream's PyTorch model as a contestant, in a process of its own:
`python -m qwen3_tts_ncnn.parity.bench.worker_upstream`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwen3_tts_ncnn.parity.bench.job import Job
from qwen3_tts_ncnn.parity.bench.serve import peak_memory, read_through, serve
from qwen3_tts_ncnn.parity.bench.stopwatch import Stopwatch

if TYPE_CHECKING:
    from qwen3_tts_ncnn.parity.oracle import Oracle


class UpstreamContestant:
    """Speaks by upstream's own `generate_…`, and tells the seconds of each part."""

    _oracle: Oracle
    _job: Job

    def __init__(self) -> None:
        self._stopwatch = Stopwatch()
        self._speak: dict[int, Callable[[], tuple[Any, int]]] = {}
        self._prompt_rows = 0

    def load(self, path: str, job: dict[str, Any]) -> dict[str, Any]:
        """Load the checkpoint at `path`; everything is imported and the files are read before the clock starts."""
        # Imported here, so that a missing torch is an answer.
        from qwen3_tts_ncnn.parity.oracle import Oracle
        from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream

        self._job = Job.from_json(job)
        import_upstream()
        read_through(Path(path))
        begun = time.perf_counter()
        self._oracle = Oracle.load(Path(path), threads=self._job.threads)
        seconds = time.perf_counter() - begun
        self._watch(self._oracle.model)
        return {"load_seconds": seconds, "pretokenizer": self._oracle.pretokenizer, "graphs": {}}

    def round(self, frames: int) -> dict[str, Any]:
        """Speak."""
        if frames not in self._speak:
            self._speak[frames] = self._oracle.ready(self._job.case(frames))
        laps = self._stopwatch.laps
        self._stopwatch.reset()
        cpu, begun = time.process_time(), time.perf_counter()
        samples, rate = self._speak[frames]()
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
        prefill, *steps = laps["forward"]
        waves, _ = self._stopwatch.last["decode"]
        return {
            "frames": len(steps),
            "stop": "limit" if len(steps) == frames else "eos",
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "audio_seconds": len(samples) / rate,
            "prompt_rows": self._prompt_rows,
            "prefill_seconds": prefill,
            # The talker's forward runs the predictor inside (modeling_qwen3_tts.py:1669).
            "talker_seconds": sum(steps) - sum(laps["generate"]),
            "predictor_seconds": sum(laps["generate"]),
            "codec_seconds": sum(laps["decode"]),
            "codec_audio_seconds": len(waves[0]) / rate,
            # It does not stream: its first samples come with the last.
            "first_audio_seconds": seconds,
        }

    def _watch(self, model: Any) -> None:
        self._stopwatch.watch(model.talker, "forward")
        self._stopwatch.watch(model.talker.code_predictor, "generate")
        self._stopwatch.watch(model.speech_tokenizer, "decode", keep=True)
        model.talker.register_forward_pre_hook(self._look_at_rows, with_kwargs=True)
        # EOS is held off, as a package's is, so that every contestant makes as many frames.
        eos = int(model.config.talker_config.codec_eos_token_id)
        model.talker.codec_head.register_forward_hook(lambda _module, _args, logits: _without(logits, eos))

    def _look_at_rows(self, _module: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        rows = kwargs.get("inputs_embeds")
        if rows is not None and rows.shape[1] > 1:
            self._prompt_rows = int(rows.shape[1])


def _without(logits: Any, id: int) -> Any:
    """The logits with one id made impossible."""
    logits[..., id] = -math.inf
    return logits


if __name__ == "__main__":
    contestant = UpstreamContestant()
    serve({"load": contestant.load, "round": contestant.round, "memory": peak_memory})
