"""`TTS`: a loaded package that speaks."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.cloning import PrimedReference, prime
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.generation import Generation
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.package import TOKENIZER
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptParts, Reference
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS, Source, read_reference, transcript_warning
from qwen3_tts_ncnn.runtime.request import check_cloning, check_mode, generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.sampling import NumpySource
from qwen3_tts_ncnn.runtime.speaker_encoder import SpeakerEncoder
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tokenizer import Pretokenizer, Tokenizer, check_text
from qwen3_tts_ncnn.runtime.voice import Voice

OnFrame = Callable[[int], None]


class ReferenceWarning(UserWarning):
    """Something about a reference recording that may make the cloned voice worse."""


class TTS:
    """A Qwen3-TTS package, ready to speak. Load one with `TTS.load`."""

    def __init__(self, loader: Loader, pretokenizer: Pretokenizer) -> None:
        self.manifest = manifest = loader.package.speech
        self.codec = Codec(loader)
        self._loader = loader
        self._tokenizer = Tokenizer.load(loader.package.folder / TOKENIZER, pretokenizer=pretokenizer)
        self._talker, self._predictor = loader.talker(), loader.predictor()
        self._prompts = PromptBuilder(
            self._talker.text_rows, self._talker.codec_rows, manifest.text, manifest.codec_ids
        )
        self._speaker_encoder: SpeakerEncoder | None = None
        # A voice's reference is heard once, and forgotten with the voice.
        self._primed: WeakKeyDictionary[Voice, PrimedReference] = WeakKeyDictionary()

    @classmethod
    def load(
        cls,
        package: str | Path,
        *,
        backend: str = "cpu",
        threads: int | None = None,
        pretokenizer: Pretokenizer = "hub",
    ) -> Self:
        """Loads a package folder.

        The first load reads every file to verify it, later ones check sizes alone. `threads=None` means the physical
        cores. `pretokenizer="directory"` tokenizes as upstream does from a folder, which parity runs need.
        Raises `PackageError`, `ModeError` for a package of the codec alone, or `OptionError` for a backend or a thread
        count that cannot be.
        """
        return cls(Loader.open(package, backend=backend, threads=threads), pretokenizer)

    @property
    def speakers(self) -> list[str]:
        """Names of the speakers, none for a package without."""
        return list(self.manifest.speakers)

    @property
    def languages(self) -> list[str]:
        """Names of the languages that may be asked for, beside "auto"."""
        return list(self.manifest.languages)

    def clone(self, source: Source, *, transcript: str | None = None, max_seconds: float = LONGEST_SECONDS) -> Voice:
        """A voice from a recording: a path, a sound file's bytes, an open file, or (samples, rate).

        With a transcript of what it says, the voice is cloned in context, which is closer; without one, by x-vector
        alone. The same recording gives the same voice. What may make the voice worse is a `ReferenceWarning`.

        Raises:
            ModeError: the package is not of a Base checkpoint, the only ones that clone.
            AudioError: the recording cannot be read, or no voice can be cloned from it.
            OptionError: `max_seconds` is not a positive number.
            TextError: a blank transcript, or one that is not valid Unicode.
        """
        check_cloning(self.manifest)
        if transcript is not None:
            check_text(transcript, "transcript")
        reference = read_reference(source, max_seconds=max_seconds)
        for warning in (*reference.warnings, transcript and transcript_warning(transcript, reference.seconds)):
            if warning:
                warnings.warn(warning, ReferenceWarning, stacklevel=2)
        if self._speaker_encoder is None:
            self._speaker_encoder = self._loader.speaker_encoder()
        return Voice(
            x_vector=self._speaker_encoder.encode(reference.samples),
            codes=None if transcript is None else self.codec.encode_samples(reference.samples),
            transcript=transcript,
            model=self.manifest.name,
        )

    def prompt(
        self,
        text: str,
        *,
        speaker: str | None = None,
        voice: Voice | None = None,
        language: str | None = "auto",
        streaming_text: bool | None = None,
    ) -> Prompt:
        """The rows that the talker reads before it speaks. Raises as `speak` does."""
        check_mode(self.manifest, speaker, voice)
        name = None if speaker is None else speaker_name(self.manifest, speaker)
        language_code = language_id(self.manifest, language, name)
        role, text_ids = self._tokenizer.assistant_prompt(text)
        parts = PromptParts(role, text_ids, language_code, self._speaker_row(name, voice), self._reference(voice))
        # Upstream's default: Base hears the text as it comes, the others have it whole (Q: `non_streaming_mode`).
        streaming = self.manifest.type == "base" if streaming_text is None else streaming_text
        return self._prompts.build(parts, streaming_text=streaming)

    def speak(
        self,
        text: str,
        *,
        speaker: str | None = None,
        voice: Voice | None = None,
        language: str | None = "auto",
        greedy: bool = False,
        seed: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float | None = None,
        predictor_temperature: float | None = None,
        predictor_top_k: int | None = None,
        predictor_top_p: float | None = None,
        max_frames: int | None = None,
        streaming_text: bool | None = None,
        on_frame: OnFrame | None = None,
    ) -> Speech:
        """Speaks a text, as a named speaker (CustomVoice) or with a cloned voice (Base).

        What is None is as the checkpoint's own defaults have it. `greedy` takes the likeliest code at every step;
        otherwise `seed` makes a run repeatable. `max_frames` bounds its length (a frame is 80 ms). `on_frame` is called
        with the number of frames made so far.

        Raises:
            ModeError: the speaker, voice or language is not the package's, or the package does not speak this way.
            TextError: there is nothing to say, or the text is not valid Unicode.
            OptionError: a value is out of range.
        """
        options = generation_options(
            self.manifest.sampling,
            greedy=greedy,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=repetition_penalty,
            predictor_temperature=predictor_temperature,
            predictor_top_k=predictor_top_k,
            predictor_top_p=predictor_top_p,
            max_frames=max_frames,
        )
        prompt = self.prompt(text, speaker=speaker, voice=voice, language=language, streaming_text=streaming_text)
        source = NumpySource(seed)
        run = Generation(self._talker, self._predictor, prompt, self.manifest.codec_ids, options, source)
        frames = []
        for frame in run:
            frames.append(frame)
            if on_frame is not None:
                on_frame(len(frames))
        codes = np.stack(frames)
        return Speech(
            samples=self._samples(codes, voice),
            sample_rate=self.manifest.codec.sample_rate,
            codes=codes,
            selections=np.array(run.selections, dtype=np.int32),
            stop=run.stop or "limit",
        )

    def _speaker_row(self, speaker: str | None, voice: Voice | None) -> Floats:
        if voice is not None:
            return voice.x_vector[None]
        return self._talker.codec_rows([self.manifest.speakers[speaker or ""].id])

    def _reference(self, voice: Voice | None) -> Reference | None:
        """What a voice cloned in context has said; None for any other."""
        if voice is None or voice.transcript is None:
            return None
        return Reference(self._tokenizer.reference_prompt(voice.transcript), self._prime(voice).rows)

    def _prime(self, voice: Voice) -> PrimedReference:
        if voice not in self._primed:
            assert voice.codes is not None
            self._primed[voice] = prime(voice.codes, self._talker, self._predictor, self.codec)
        return self._primed[voice]

    def _samples(self, codes: NDArray[np.int32], voice: Voice | None) -> Floats:
        if voice is None or voice.codes is None:
            return self.codec.decode_chunked(codes)
        return self._prime(voice).continue_with(codes)
