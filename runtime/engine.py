"""From a prompt to frames and samples: one run, tried again where need be, or several as a stream."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from qwen3_tts_ncnn.runtime.ahead import ahead
from qwen3_tts_ncnn.runtime.cloning import PrimedReference, prime
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.generation import Generation, GenerationOptions
from qwen3_tts_ncnn.runtime.malloc import hand_back
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.prompt import Prompt
from qwen3_tts_ncnn.runtime.speech import Speech, first_stop, silence
from qwen3_tts_ncnn.runtime.stopping import StopReason, Watchdog, retry_seed
from qwen3_tts_ncnn.runtime.talker import Talker
from qwen3_tts_ncnn.runtime.torch_random import TorchSource
from qwen3_tts_ncnn.runtime.utterance import OnFrame, Utterance, decode_blocks, utter
from qwen3_tts_ncnn.runtime.voice import Voice


@dataclass(frozen=True)
class Run:
    """One piece of a text, to be spoken: what is the same for every try at it."""

    prompt: Prompt
    options: GenerationOptions
    seed: int
    watchdog: bool
    on_frame: OnFrame | None
    voice: Voice | None

    def new_watchdog(self) -> Watchdog | None:
        """One that has seen nothing yet; None where none is wanted."""
        return Watchdog() if self.watchdog else None


class Engine:
    """The parts of a package that speak, and the references that they have heard."""

    def __init__(self, talker: Talker, predictor: Predictor, codec: Codec, manifest: Manifest) -> None:
        self._talker, self._predictor, self._codec, self._manifest = talker, predictor, codec, manifest
        # A voice's reference is heard once, and forgotten with the voice.
        self._primed: WeakKeyDictionary[Voice, PrimedReference] = WeakKeyDictionary()

    def speak(self, run: Run, retries: int) -> Speech:
        """One piece, tried again with other seeds until it ends by itself or there are no tries left."""
        for attempt in range(retries + 1):
            speech = self._utter(run, retry_seed(run.seed, attempt))
            if speech.stop == "eos":
                break
        return speech

    def _utter(self, run: Run, seed: int) -> Speech:
        primed = self.primed(run.voice)
        stream = self._codec.chunked_stream() if primed is None else primed.chunked_stream()
        generation = self._generation(run, seed)
        utterance = utter(generation, stream, run.new_watchdog(), run.on_frame)
        hand_back()
        lead_in = [] if primed is None else [primed.lead_in(len(utterance.codes))]
        return Speech(
            samples=np.concatenate([*lead_in, utterance.samples]),
            sample_rate=self._manifest.codec.sample_rate,
            codes=utterance.codes,
            selections=np.array(generation.selections, dtype=np.int32),
            stop=_stop(generation, utterance.stopped),
        )

    def blocks(self, runs: Iterable[Run], sizes: Iterator[int], waiting: int) -> Generator[Utterance, None, str]:
        """All runs as one stream, a pause between them; returns what ended it.

        Up to `waiting` frames are made ahead by a thread; 0 makes each when it is needed.
        """
        stops: list[str] = []
        for number, run in enumerate(runs):
            if number:
                yield self._pause()
            primed = self.primed(run.voice)
            codec = self._codec.stream() if primed is None else primed.stream()
            generation = self._generation(run, run.seed)
            stopped: StopReason | None = None
            with closing(ahead(generation, waiting) if waiting else iter(generation)) as frames:
                for block in decode_blocks(frames, codec, sizes, run.new_watchdog(), run.on_frame):
                    stopped = block.stopped
                    yield block
            hand_back()
            stops.append(_stop(generation, stopped))
        return first_stop(stops)

    def _pause(self) -> Utterance:
        """A piece of a stream without a frame."""
        codec = self._manifest.codec
        no_codes = np.zeros((0, codec.codebooks), dtype=np.int32)
        return Utterance(no_codes, silence(codec.sample_rate), None)

    def _generation(self, run: Run, seed: int) -> Generation:
        return Generation(
            self._talker, self._predictor, run.prompt, self._manifest.codec_ids, run.options, TorchSource(seed)
        )

    def primed(self, voice: Voice | None) -> PrimedReference | None:
        """What talker and codec heard of a voice cloned in context, the first time that it is asked for; else None."""
        if voice is None or voice.codes is None:
            return None
        if voice not in self._primed:
            self._primed[voice] = prime(voice.codes, self._talker, self._predictor, self._codec)
        return self._primed[voice]


def _stop(generation: Generation, stopped: StopReason | None) -> str:
    """What ended a run: the watchdog, else the model or the limit."""
    return str(stopped or generation.stop or StopReason.LIMIT)
