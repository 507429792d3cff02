"""Upstream's PyTorch model as the oracle: fp32, CPU, its own code path, unmodified."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import ReferenceClip
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.observe import observed
from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.parity.settings import SEEDS
from qwen3_tts_ncnn.parity.trace import FloatArray, Heard, OracleTrace, TokenArray, tokens
from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
from qwen3_tts_ncnn.runtime.tokenizer import DIRECTORY_REGEX, Pretokenizer

KINDS = ("base", "custom_voice", "voice_design")
"""`tts_model_type` of the checkpoints that can be compared."""


class Oracle:
    """A checkpoint in upstream's hands. Make one with `Oracle.load`."""

    def __init__(self, upstream: Any, threads: int | None) -> None:
        self._upstream = upstream
        self._threads = threads
        self._config = upstream.model.config.talker_config

    @classmethod
    def load(cls, checkpoint: Path, threads: int | None = None) -> Self:
        """Load a checkpoint folder as upstream does, in fp32.

        Args:
            checkpoint: folder in the official layout.
            threads: torch threads while it works; None leaves torch's own.

        Raises:
            ParityError: upstream is missing or of another version, the folder does not load, or is of another type.
        """
        if not (checkpoint / "config.json").is_file():
            raise ParityError(f"no checkpoint at {checkpoint}: expected a folder with config.json and the weights")
        model_class = import_upstream()
        try:
            with quiet(), _torch_threads(threads):
                upstream = model_class.from_pretrained(str(checkpoint), dtype=torch.float32)
        except Exception as error:  # a broken checkpoint shows as almost any exception in there
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ParityError(f"upstream cannot load {checkpoint}: {reason}") from error
        kind = upstream.model.tts_model_type
        if kind not in KINDS:
            raise ParityError(f"{checkpoint} is a {kind} checkpoint; parity compares {', '.join(KINDS)} ones")
        return cls(upstream, threads)

    @property
    def model(self) -> Any:
        """Upstream's `Qwen3TTSForConditionalGeneration`."""
        return self._upstream.model

    @property
    def kind(self) -> str:
        """The checkpoint's type, one of `KINDS`."""
        return str(self._upstream.model.tts_model_type)

    @property
    def takes_instructions(self) -> bool:
        """Whether an instruction changes anything: upstream drops a CustomVoice 0.6B's (qwen3_tts_model.py:799)."""
        size = self._upstream.model.tts_model_size
        return self.kind == "voice_design" or (self.kind == "custom_voice" and size not in "0b6")

    @property
    def speakers(self) -> dict[str, str | None]:
        """Name → dialect, or None, in the checkpoint's order."""
        return {name: self._config.spk_is_dialect.get(name) or None for name in self._config.spk_id}

    @property
    def languages(self) -> list[str]:
        """Names that may be asked for, "auto" first."""
        return list(self._upstream.model.get_supported_languages())

    @property
    def pretokenizer(self) -> Pretokenizer:
        """How its tokenizer splits words, so that the package can do the same.

        transformers 4.57.3 swaps the regex for most checkpoints that it loads from a directory, and leaves it alone
        where config.json names certain versions (tokenization_utils_base.py:2410).
        """
        document = json.loads(self._upstream.processor.tokenizer.backend_tokenizer.to_str())
        first = document["pre_tokenizer"]["pretokenizers"][0]
        return "directory" if first.get("pattern", {}).get("Regex") == DIRECTORY_REGEX else "hub"

    def speak(self, case: Case, *, logits: bool = False) -> OracleTrace:
        """Run upstream's `generate_…` of the checkpoint's type, and tell what it did, with its logits if asked.

        Raises:
            ParityError: the case does not fit the checkpoint, or the run broke its contract.
        """
        self._check(case)
        voice, heard = self._voice(case)
        model = self._upstream.model
        watch = observed(model, case.greedy, logits)
        with quiet(), _torch_threads(self._threads), watch as observation, _seeded(case.seed):
            waves, _ = self._generate(case.text, **voice, **_options(case))
        samples = np.asarray(waves[0], dtype=np.float32)
        return observation.trace(int(self._config.codec_eos_token_id), samples, heard)

    def ready(self, case: Case) -> Callable[[], tuple[FloatArray, int]]:
        """Check a case and hear its reference; what is returned speaks it, unobserved, whenever it is called.

        It returns the samples (n,) and their rate.

        Raises:
            ParityError: the case does not fit the checkpoint.
        """
        self._check(case)
        voice, _ = self._voice(case)

        def speak() -> tuple[FloatArray, int]:
            with quiet(), _torch_threads(self._threads), _seeded(case.seed):
                waves, rate = self._generate(case.text, **voice, **_options(case))
            return np.asarray(waves[0], dtype=np.float32), int(rate)

        return speak

    @property
    def _generate(self) -> Callable[..., Any]:
        """Upstream's own function for the checkpoint's type."""
        name = {"base": "voice_clone"}.get(self.kind, self.kind)
        return cast("Callable[..., Any]", getattr(self._upstream, f"generate_{name}"))

    def _voice(self, case: Case) -> tuple[dict[str, Any], Heard | None]:
        """Who speaks, as upstream's function takes it, and what was heard of the reference if there is one."""
        if case.reference is not None:
            with quiet(), _torch_threads(self._threads):
                prompt = self._clone(case.reference)
            return {"voice_clone_prompt": prompt}, _heard(prompt)
        if case.speaker is None:
            return {"instruct": case.instruct}, None
        return {"speaker": case.speaker, "instruct": case.instruct}, None

    def hear(self, reference: ReferenceClip) -> Heard:
        """What upstream's `create_voice_clone_prompt` makes of a reference."""
        with quiet(), _torch_threads(self._threads):
            return _heard(self._clone(reference))

    def _clone(self, reference: ReferenceClip) -> Any:
        """Upstream's prompt items of a reference, a list of one."""
        return self._upstream.create_voice_clone_prompt(
            (reference.mono, reference.rate),
            ref_text=reference.transcript,
            x_vector_only_mode=reference.transcript is None,
        )

    def encode(self, samples: FloatArray) -> TokenArray:
        """Samples (n,) at 24 kHz → codes (T, 16), by upstream's codec."""
        with quiet(), _torch_threads(self._threads):
            encoded = self._upstream.model.speech_tokenizer.encode(samples, sr=24000)
        return tokens(encoded.audio_codes[0])

    def decode(self, codes: TokenArray) -> FloatArray:
        """Frames (T, 16) → samples (T · 1920,), in upstream's chunks of 300 frames with 25 of left context."""
        with quiet(), _torch_threads(self._threads):
            waves, _ = self._upstream.model.speech_tokenizer.decode([{"audio_codes": torch.from_numpy(codes)}])
        return np.asarray(waves[0], dtype=np.float32)

    def _check(self, case: Case) -> None:
        """Raise `ParityError` for a case that upstream would stumble over, or half ignore."""
        self._check_mode(case)
        if case.language.lower() not in self.languages:
            raise ParityError(
                f"language {case.language!r} is not in the checkpoint; it has {', '.join(self.languages)}"
            )
        if case.max_frames < 1:
            raise ParityError(f"max_frames is {case.max_frames}, expected at least 1")
        if case.seed is not None and not SEEDS[0] <= case.seed <= SEEDS[1]:
            raise ParityError(f"seed is {case.seed}, expected -2^63 to 2^64 - 1, as torch takes")

    def _check_mode(self, case: Case) -> None:
        given = (case.speaker is not None, case.reference is not None, bool(case.instruct))
        match self.kind, given:
            case ("base", (False, True, False)) | ("voice_design", (False, False, True)):
                return
            case "custom_voice", (True, False, _):
                self._check_speaker(case)
            case "base", _:
                raise ParityError(
                    "the checkpoint is a base one: it speaks with a reference, not as a speaker, "
                    "and takes no instruction"
                )
            case "custom_voice", _:
                raise ParityError("the checkpoint is a custom_voice one: it speaks as a speaker, not with a reference")
            case _:
                raise ParityError(
                    "the checkpoint is a voice_design one: it needs an instruction, and no speaker and no reference"
                )

    def _check_speaker(self, case: Case) -> None:
        if case.speaker is None or case.speaker.lower() not in self.speakers:
            raise ParityError(f"speaker {case.speaker!r} is not in the checkpoint; it has {', '.join(self.speakers)}")
        if case.instruct is not None and not self.takes_instructions:
            raise ParityError("the checkpoint is of 0.6B: upstream drops an instruction without a word")


def _options(case: Case) -> dict[str, Any]:
    """What upstream's `generate_…` functions have in common."""
    options: dict[str, Any] = {
        "language": case.language,
        "do_sample": not case.greedy,
        "subtalker_dosample": not case.greedy,
        # The selection after the last frame counts as a new token too.
        "max_new_tokens": case.max_frames + 1,
        **case.settings.of_upstream(),
    }
    if case.streaming_text is not None:
        options["non_streaming_mode"] = not case.streaming_text
    return options


def _heard(prompt: Any) -> Heard:
    """What upstream's prompt items (VoiceClonePromptItem) hold."""
    (item,) = prompt
    codes = None if item.ref_code is None else tokens(item.ref_code)
    return Heard(item.ref_spk_embedding.float().numpy().copy(), codes)


@contextlib.contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    """torch's thread count is the process's; the caller gets its own back."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """torch's generator is the process's; the caller gets its own back. None leaves it alone."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
