"""`TTS`: a loaded package that speaks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from qwen3_tts_ncnn.runtime.caller import warn_caller
from qwen3_tts_ncnn.runtime.cloning import PrimedReference, prime
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.generation import Generation, GenerationOptions
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.package import TOKENIZER
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptParts, Reference
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS, Source, read_reference, transcript_warning
from qwen3_tts_ncnn.runtime.request import check_cloning, check_mode, generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.speaker_encoder import SpeakerEncoder
from qwen3_tts_ncnn.runtime.speech import Speech, join
from qwen3_tts_ncnn.runtime.splitting import sentences, split_text
from qwen3_tts_ncnn.runtime.stopping import StopReason, Watchdog, frame_budget, piece_seed, retry_seed
from qwen3_tts_ncnn.runtime.tokenizer import Pretokenizer, Tokenizer, check_text, is_blank
from qwen3_tts_ncnn.runtime.torch_random import TorchSource
from qwen3_tts_ncnn.runtime.utterance import OnFrame, utter
from qwen3_tts_ncnn.runtime.voice import Voice


class ReferenceWarning(UserWarning):
    """Something about a reference recording that may make the cloned voice worse."""


class SpeechWarning(UserWarning):
    """A speech that did not end by itself."""


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
        doubt = None if transcript is None else transcript_warning(transcript, reference.seconds)
        for warning in (*reference.warnings, *([] if doubt is None else [doubt])):
            warn_caller(warning, ReferenceWarning)
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
        instruct: str | None = None,
        streaming_text: bool | None = None,
    ) -> Prompt:
        """The rows that the talker reads before it speaks. Raises as `speak` does."""
        check_mode(self.manifest, speaker, voice, instruct)
        name = None if speaker is None else speaker_name(self.manifest, speaker)
        role, text_ids = self._tokenizer.assistant_prompt(text)
        parts = PromptParts(
            role=role,
            text=text_ids,
            language=language_id(self.manifest, language, name),
            speaker=self._speaker_row(name, voice),
            reference=self._reference(voice),
            instruction=() if instruct is None else self._tokenizer.instruction_prompt(instruct),
        )
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
        instruct: str | None = None,
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
        split: bool = True,
        budget: bool = True,
        watchdog: bool = True,
        retry: int = 0,
        on_frame: OnFrame | None = None,
    ) -> Speech:
        """Speaks a text, as a named speaker (CustomVoice), with a cloned voice (Base) or as described (VoiceDesign).

        What is None is as the checkpoint's own defaults have it. `language` is a name, a code or a tag; `instruct` says
        how to speak. `greedy` takes the likeliest code at every step; otherwise the same `seed` gives the speech that
        upstream gives after `torch.manual_seed`. `max_frames` bounds a piece (a frame is 80 ms).

        `split` speaks a long text sentence by sentence, each piece with a seed of its own. A run that does not end by
        itself is ended by `budget`, more frames than its text could need, or by `watchdog`, at endless repetition or
        silence; it is tried again `retry` times with another seed, and is a `SpeechWarning` if that does not help.
        `on_frame` is called with the number of frames made so far.

        Raises:
            ModeError: speaker, voice, instruction or language do not fit the package.
            TextError: there is nothing to say, or the text is not valid Unicode.
            OptionError: a value is out of range.
            NumericalError: the model's logits are no numbers.
        """
        check_text(text)
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
        if retry < 0:
            raise OptionError(f"retry is {retry}, expected 0 or more")
        first = TorchSource(seed)
        pieces: list[Speech] = []
        for number, piece in enumerate(speakable_pieces(text) if split else [text]):
            prompt = self.prompt(
                piece,
                speaker=speaker,
                voice=voice,
                language=language,
                instruct=instruct,
                streaming_text=streaming_text,
            )
            run = _Run(prompt, self._bounded(options, piece) if budget else options, watchdog, on_frame, voice)
            pieces.append(self._try(run, piece_seed(first.seed, number), 0 if options.is_greedy else retry))
        speech = join(pieces, None if options.is_greedy else first.seed)
        if speech.stop != "eos":
            warn_caller(STOPPED[speech.stop], SpeechWarning)
        return speech

    def speak_all(self, texts: Iterable[str], **options: Any) -> list[Speech]:
        """Speaks several texts, each as `speak` alone would with the same options."""
        return [self.speak(text, **options) for text in texts]

    def speak_sentences(self, chunks: Iterable[str], *, seed: int | None = None, **options: Any) -> Iterator[Speech]:
        """Speaks a text that is still being written, such as an LLM's, sentence by sentence as they complete.

        `chunks` are strings that make the text when laid end to end. Options as for `speak`; each sentence has a seed
        of its own, derived from `seed`.
        """
        first = TorchSource(seed).seed
        spoken = (sentence.strip() for sentence in sentences(chunks))
        for number, sentence in enumerate(text for text in spoken if "\0" in text or not all(map(is_blank, text))):
            yield self.speak(sentence, seed=piece_seed(first, number), **options)

    def _try(self, run: "_Run", seed: int, retries: int) -> Speech:
        """One piece, tried again with other seeds until it ends by itself or there are no tries left."""
        for attempt in range(retries + 1):
            speech = self._utter(run, retry_seed(seed, attempt))
            if speech.stop == "eos":
                break
        return speech

    def _utter(self, run: "_Run", seed: int) -> Speech:
        primed = None if run.voice is None or run.voice.codes is None else self._prime(run.voice)
        stream = self.codec.chunked_stream() if primed is None else primed.stream.fork()
        generation = Generation(
            self._talker, self._predictor, run.prompt, self.manifest.codec_ids, run.options, TorchSource(seed)
        )
        utterance = utter(generation, stream, Watchdog() if run.watchdog else None, run.on_frame)
        lead_in = [] if primed is None else [primed.lead_in(len(utterance.codes))]
        return Speech(
            samples=np.concatenate([*lead_in, utterance.samples]),
            sample_rate=self.manifest.codec.sample_rate,
            codes=utterance.codes,
            selections=np.array(generation.selections, dtype=np.int32),
            stop=str(utterance.stopped or generation.stop or StopReason.LIMIT),
        )

    def _bounded(self, options: GenerationOptions, text: str) -> GenerationOptions:
        """The options with no more frames than the text could need."""
        most = frame_budget(len(self._tokenizer.encode(text)))
        return replace(options, max_frames=min(options.max_frames, most))

    def _speaker_row(self, speaker: str | None, voice: Voice | None) -> Floats | None:
        if voice is not None:
            return voice.x_vector[None]
        return None if speaker is None else self._talker.codec_rows([self.manifest.speakers[speaker].id])

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


@dataclass(frozen=True)
class _Run:
    """What is the same for every try at one piece."""

    prompt: Prompt
    options: GenerationOptions
    watchdog: bool
    on_frame: OnFrame | None
    voice: Voice | None


STOPPED = {
    "limit": "the speech was stopped at its limit of frames, so it may be cut off or have gone astray",
    "repeat": "the speech was stopped because it repeated itself without end",
    "silence": "the speech was stopped because it had fallen silent",
}
"""What a warning says, by what stopped the speech."""


def speakable_pieces(text: str) -> list[str]:
    """A text in pieces of bounded length, without their outer blanks and without pieces that say nothing."""
    pieces = [piece.strip() for piece in split_text(text)]
    return [piece for piece in pieces if not all(map(is_blank, piece))] if len(pieces) > 1 else [text]
