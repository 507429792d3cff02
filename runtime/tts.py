"""`TTS`: a loaded package that speaks."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np

from qwen3_tts_ncnn.runtime.codec import CodecDecoder
from qwen3_tts_ncnn.runtime.cpu import cpu_options, thread_count
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.generation import Generation
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.package import TOKENIZER, Package
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptIds
from qwen3_tts_ncnn.runtime.request import check_mode, generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.sampling import NumpySource
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.talker import Talker
from qwen3_tts_ncnn.runtime.text_table import TextTable
from qwen3_tts_ncnn.runtime.tokenizer import Pretokenizer, Tokenizer

OnFrame = Callable[[int], None]


class TTS:
    """A Qwen3-TTS package, ready to speak. Load one with `TTS.load`."""

    def __init__(
        self, manifest: Manifest, tokenizer: Tokenizer, talker: Talker, predictor: Predictor, codec: CodecDecoder
    ) -> None:
        self.manifest = manifest
        self.codec = codec
        self._tokenizer = tokenizer
        self._talker = talker
        self._predictor = predictor
        self._prompts = PromptBuilder(talker.text_rows, talker.codec_rows, manifest.text, manifest.codec_ids)

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
        Raises `PackageError`, or `OptionError` for a backend or a thread count that cannot be.
        """
        if backend != "cpu":
            raise OptionError(f"backend is {backend!r}, expected 'cpu'")
        option = cpu_options(thread_count(threads))
        opened = Package.open(Path(package))
        opened.verify_once()
        manifest = opened.manifest

        def graph(name: str) -> Graph:
            return Graph(*opened.graph_files(name), option)

        talker = Talker(
            TextTable(opened.folder, manifest.text_table),
            graph("talker_text_embed"),
            graph("talker_codec_embed"),
            CachedDecoder(graph("talker_decoder"), manifest.talker),
            graph("talker_codec_head"),
        )
        predictor = Predictor(
            graph("predictor_embeds"),
            CachedDecoder(graph("predictor_decoder"), manifest.predictor),
            graph("predictor_heads"),
            steps=manifest.codec.codebooks - 1,
            vocab_size=manifest.predictor.vocab_size,
        )
        tokenizer = Tokenizer.load(opened.folder / TOKENIZER, pretokenizer=pretokenizer)
        return cls(manifest, tokenizer, talker, predictor, CodecDecoder(graph("codec_decoder"), manifest.codec))

    @property
    def speakers(self) -> list[str]:
        """Names of the speakers, none for a package without."""
        return list(self.manifest.speakers)

    @property
    def languages(self) -> list[str]:
        """Names of the languages that may be asked for, beside "auto"."""
        return list(self.manifest.languages)

    def prompt(
        self,
        text: str,
        *,
        speaker: str | None = None,
        language: str | None = "auto",
        streaming_text: bool | None = None,
    ) -> Prompt:
        """The rows that the talker reads before it speaks. Raises as `speak` does."""
        check_mode(self.manifest, speaker)
        name = speaker_name(self.manifest, speaker or "")
        language_code = language_id(self.manifest, language, name)
        role, text_ids = self._tokenizer.assistant_prompt(text)
        ids = PromptIds(role, text_ids, language_code, self.manifest.speakers[name].id)
        # Upstream's default: Base hears the text as it comes, the others have it whole (Q: `non_streaming_mode`).
        streaming = self.manifest.type == "base" if streaming_text is None else streaming_text
        return self._prompts.build(ids, streaming_text=streaming)

    def speak(
        self,
        text: str,
        *,
        speaker: str | None = None,
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
        """Speaks a text. What is None is as the checkpoint's own defaults have it.

        `greedy` takes the likeliest code at every step; otherwise `seed` makes a run repeatable. `max_frames` bounds
        its length (a frame is 80 ms). `on_frame` is called with the number of frames made so far.

        Raises:
            ModeError: the speaker or language is not the package's, or the package does not speak this way.
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
        prompt = self.prompt(text, speaker=speaker, language=language, streaming_text=streaming_text)
        source = NumpySource(seed)
        run = Generation(self._talker, self._predictor, prompt, self.manifest.codec_ids, options, source)
        frames = []
        for frame in run:
            frames.append(frame)
            if on_frame is not None:
                on_frame(len(frames))
        codes = np.stack(frames)
        return Speech(
            samples=self.codec.decode_chunked(codes),
            sample_rate=self.manifest.codec.sample_rate,
            codes=codes,
            selections=np.array(run.selections, dtype=np.int32),
            stop=run.stop or "limit",
        )
