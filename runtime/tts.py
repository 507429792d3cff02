"""`TTS`: a loaded package that speaks."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Self, Unpack

from qwen3_tts_ncnn.runtime.caller import warn_caller
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.engine import Engine, Run
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.generation import GenerationOptions
from qwen3_tts_ncnn.runtime.lazy import Lazy
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.package import TOKENIZER
from qwen3_tts_ncnn.runtime.placement import Backend
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptParts, Reference
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS, Source, read_reference, transcript_warning
from qwen3_tts_ncnn.runtime.request import check_cloning, check_mode, generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.speech import Speech, join
from qwen3_tts_ncnn.runtime.speech_options import CHOICES, SpeechOptions, check_names
from qwen3_tts_ncnn.runtime.speech_stream import SpeechStream
from qwen3_tts_ncnn.runtime.speech_warning import warn_of
from qwen3_tts_ncnn.runtime.splitting import sentences, split_text
from qwen3_tts_ncnn.runtime.stopping import frame_budget, piece_seed
from qwen3_tts_ncnn.runtime.tokenizer import Pretokenizer, Tokenizer, check_text, is_blank
from qwen3_tts_ncnn.runtime.torch_random import TorchSource
from qwen3_tts_ncnn.runtime.utterance import growing_sizes
from qwen3_tts_ncnn.runtime.voice import Voice


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
        self._engine = Engine(self._talker, self._predictor, self.codec, manifest)
        self._prompts = PromptBuilder(
            self._talker.text_rows, self._talker.codec_rows, manifest.text, manifest.codec_ids
        )
        self._speaker_encoder = Lazy(loader.speaker_encoder)

    @classmethod
    def load(
        cls,
        package: str | Path,
        *,
        backend: Backend = "cpu",
        threads: int | None = None,
        huge_pages: bool = False,
        pretokenizer: Pretokenizer = "hub",
        verbose: bool = False,
    ) -> Self:
        """Loads a package folder. The first load reads every file to verify it, later ones check sizes alone.

        Args:
            package: its folder.
            backend: what runs where. "cpu"; "vulkan", all on a GPU; "hybrid", the loop on the CPU, codec and encoders
                on a GPU; "auto", the fastest that `bench --devices` found here, else hybrid where there is a discrete
                GPU; or a mapping, such as {"talker": "cpu", "codec_decoder": "vulkan"}. "vulkan:1" and "vulkan:geforce"
                choose a device by index or name; "vulkan-fp16" and "hybrid-fp16" are in half precision, which is no
                longer the very same model.
            threads: of the CPU; None for the physical cores.
            huge_pages: whether to move the weights to huge pages where Linux has them for the asking: loading takes
                longer, a step less, which pays in a process that stays.
            pretokenizer: "directory" tokenizes as upstream does from a folder, which parity runs need.
            verbose: whether to let what ncnn prints through to standard error.

        Raises:
            PackageError: the folder is no package, or not whole.
            ModeError: the package is of the codec alone.
            OptionError: a backend or a thread count that cannot be.
            DeviceError: a GPU is not there or has too little memory.
        """
        loader = Loader.open(package, backend=backend, threads=threads, huge_pages=huge_pages, verbose=verbose)
        return cls(loader, pretokenizer)

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
        return Voice(
            x_vector=self._speaker_encoder.get().encode(reference.samples),
            codes=None if transcript is None else self.codec.encode_samples(reference.samples),
            transcript=transcript,
            model=self.manifest.name,
        )

    def drop_encoders(self) -> None:
        """Frees what only prompts and recordings need, until they come again: 25 and 190 MB of an official model."""
        self._talker.drop_text_embed()
        self._speaker_encoder.drop()
        self.codec.drop_encoder()

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

    def speak(self, text: str, *, retry: int = 0, **options: Unpack[SpeechOptions]) -> Speech:
        """Speaks a text, as a named speaker (CustomVoice), with a cloned voice (Base) or as described (VoiceDesign).

        The options are those of `SpeechOptions`. A run that does not end by itself, and is ended by the budget or the
        watchdog, is tried again `retry` times with another seed, and is a `SpeechWarning` if that does not help.

        Raises:
            ModeError: speaker, voice, instruction or language do not fit the package.
            TextError: there is nothing to say, or the text is not valid Unicode.
            OptionError: a value is out of range.
            NumericalError: the model's logits are no numbers.
        """
        if retry < 0:
            raise OptionError(f"retry is {retry}, expected 0 or more")
        seed, runs = self._runs(text, options)
        speech = join([self._engine.speak(run, 0 if run.options.is_greedy else retry) for run in runs], seed)
        warn_of(speech.stop)
        return speech

    def stream(
        self,
        text: str,
        *,
        first_chunk: int = 4,
        chunk: int = 24,
        overlap: bool | None = None,
        **options: Unpack[SpeechOptions],
    ) -> SpeechStream:
        """Speaks a text as `speak` does, and hands out the samples as they are made.

        The first samples come after `first_chunk` frames of 80 ms; the chunks then double, up to `chunk` frames. Laid
        end to end they are what the codec makes of all frames at once: no seam, in any chunk size. (`speak` decodes as
        upstream does, which begins anew every 300 frames.) With `overlap`, frames are made in a thread while others are
        decoded; None: where the processor has a core for either. What was heard cannot be tried again, so there is no
        retry. No frame is made before the first samples are asked for, nor after the stream is closed.

        Raises as `speak` does, here where it can be known before, else when samples are asked for.
        """
        sizes = growing_sizes(first_chunk, chunk)
        seed, runs = self._runs(text, options)
        waiting = 2 * chunk if (self._loader.can_overlap if overlap is None else overlap) else 0
        return SpeechStream(self._engine.blocks(runs, sizes, waiting), self.manifest.codec.sample_rate, seed)

    def speak_all(self, texts: Iterable[str], *, retry: int = 0, **options: Unpack[SpeechOptions]) -> list[Speech]:
        """Speaks several texts, each as `speak` alone would with the same options."""
        return [self.speak(text, retry=retry, **options) for text in texts]

    def speak_sentences(
        self, chunks: Iterable[str], *, retry: int = 0, **options: Unpack[SpeechOptions]
    ) -> Iterator[Speech]:
        """Speaks a text that is still being written, such as an LLM's, sentence by sentence as they complete.

        `chunks` are strings that make the text when laid end to end. Options as for `speak`; each sentence has a seed
        of its own, derived from `seed`.
        """
        first = TorchSource(options.get("seed")).seed
        spoken = (sentence.strip() for sentence in sentences(chunks))
        for number, sentence in enumerate(text for text in spoken if "\0" in text or not all(map(is_blank, text))):
            own: SpeechOptions = {**options, "seed": piece_seed(first, number)}
            yield self.speak(sentence, retry=retry, **own)

    def _runs(self, text: str, options: SpeechOptions) -> tuple[int | None, Iterator[Run]]:
        """The seed that repeats it all (None where nothing is drawn), and a run for each piece of a text.

        What is wrong with the request shows here; the prompts after the first are made when they are asked for.
        """
        check_text(text)
        check_names(options)
        chosen: dict[str, Any] = {name: options.get(name) for name in CHOICES}
        choices = generation_options(self.manifest.sampling, greedy=options.get("greedy", False), **chosen)
        source = TorchSource(options.get("seed"))
        pieces = speakable_pieces(text) if options.get("split", True) else [text]
        runs = (self._run(piece, number, choices, source.seed, options) for number, piece in enumerate(pieces))
        first = next(runs)
        return (None if choices.is_greedy else source.seed), chain([first], runs)

    def _run(self, text: str, number: int, choices: GenerationOptions, seed: int, options: SpeechOptions) -> Run:
        prompt = self.prompt(
            text,
            speaker=options.get("speaker"),
            voice=options.get("voice"),
            language=options.get("language", "auto"),
            instruct=options.get("instruct"),
            streaming_text=options.get("streaming_text"),
        )
        return Run(
            prompt,
            self._bounded(choices, text) if options.get("budget", True) else choices,
            piece_seed(seed, number),
            options.get("watchdog", True),
            options.get("on_frame"),
            options.get("voice"),
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
        primed = self._engine.primed(voice)
        if primed is None:
            return None
        assert voice is not None
        assert voice.transcript is not None
        return Reference(self._tokenizer.reference_prompt(voice.transcript), primed.rows)


def speakable_pieces(text: str) -> list[str]:
    """A text in pieces of bounded length, without their outer blanks and without pieces that say nothing."""
    pieces = [piece.strip() for piece in split_text(text)]
    return [piece for piece in pieces if not all(map(is_blank, piece))] if len(pieces) > 1 else [text]
