"""Text to token ids: Qwen2's byte-level BPE, read from a package's `tokenizer.json`.

Ids are those upstream gets by hub id. Two things differ from it on purpose: nothing in a user's text is acted on
(upstream parses `<|im_end|>` in a text as the control token), and the role prefix of a prompt is always whole
(upstream tokenizes the filled template, so a text that begins with a newline melts into the role's own newline).
"""

import unicodedata
from pathlib import Path
from typing import Literal, Self, get_args

import tokenizers
from tokenizers import models, pre_tokenizers

from qwen3_tts_ncnn.runtime.errors import OptionError, PackageError, TextError

Pretokenizer = Literal["hub", "directory"]

IM_START = "<|im_start|>"
IM_END = "<|im_end|>"

# transformers 4.57.3 splits words by this regex when it loads a tokenizer from a directory with fix_mistral_regex=True
# (tokenization_utils_base.py:2389-2506). It was meant for Mistral's: whatever has more than DIRECTORY_REGEX_ABOVE
# tokens, and a config.json beside it that names the same transformers version (the official ones do), gets it.
DIRECTORY_REGEX = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DIRECTORY_REGEX_ABOVE = 100_000

_AGAIN = "convert the checkpoint again"
_FOREIGN = f"this is not a Qwen3-TTS tokenizer, {_AGAIN}"

# Unicode files these under letters, marks and symbols, yet there is nothing to see or say.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


class Tokenizer:
    """The tokenizer of one package. `load` makes one; it holds no state and may be shared between threads."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        """Wrap a `tokenizers` tokenizer whose added tokens are the checkpoint's control tokens.

        Raises `PackageError` if it lacks the tokens that prompts are made of.
        """
        self._backend = backend
        # The same vocabulary and rules without a single added token: what a user's text goes through. The
        # library's own switch (encode_special_tokens) leaves non-special ones such as <tool_call> active.
        self._plain = tokenizers.Tokenizer(backend.model)
        self._plain.normalizer = backend.normalizer
        self._plain.pre_tokenizer = backend.pre_tokenizer
        self._im_start, self._im_end = self.token_id(IM_START), self.token_id(IM_END)
        self._newline = self._split("\n")
        self._role = [self._im_start, *self._split("assistant\n")]
        if len(self._role) != 3:
            raise PackageError(
                f"tokenizer makes {len(self._role) - 1} tokens of 'assistant' and a newline, expected 2: {_FOREIGN}"
            )
        for symbol in sorted(pre_tokenizers.ByteLevel.alphabet()):
            if backend.token_to_id(symbol) is None:  # BPE would drop the byte without a word
                raise PackageError(f"tokenizer has no token for byte symbol {symbol!r}, expected all 256: {_FOREIGN}")

    @classmethod
    def load(cls, path: Path, *, pretokenizer: Pretokenizer = "hub") -> Self:
        """Read a `tokenizer.json`.

        `pretokenizer="directory"` splits words as upstream does when it is given a checkpoint's directory in place
        of its hub id, for comparing with an oracle that was loaded that way; a product has no use for it.
        Raises `PackageError` for a file that is missing or broken.
        """
        if pretokenizer not in get_args(Pretokenizer):
            raise OptionError(f"pretokenizer is {pretokenizer!r}, expected one of {', '.join(get_args(Pretokenizer))}")
        backend = _read(path)
        if pretokenizer == "directory" and backend.get_vocab_size(with_added_tokens=False) > DIRECTORY_REGEX_ABOVE:
            _use_directory_regex(backend)
        return cls(backend)

    def token_id(self, content: str) -> int:
        """The id of one token by its exact content, such as `<|im_start|>`; `PackageError` if there is none."""
        found: int | None = self._backend.token_to_id(content)
        if found is None:
            raise PackageError(f"tokenizer has no token {content!r}: {_FOREIGN}")
        return found

    @property
    def role_ids(self) -> list[int]:
        """The three ids every spoken text starts with: `<|im_start|>`, "assistant", newline."""
        return list(self._role)

    def encode(self, text: str, *, what: str = "text") -> list[int]:
        """The ids of a user's own text, control tokens in it taken as the characters they are written with.

        Never empty, never an added token's id. `what` is the name that errors give the text.
        Raises `TextError` for text that has nothing to say or is not valid Unicode.
        """
        check_text(text, what)
        return self._split(text)

    def assistant_prompt(self, text: str) -> tuple[list[int], list[int]]:
        """Role ids and text ids of a text to speak: ids[:3] and ids[3:-5] of upstream's template.

        Source: qwen_tts/inference/qwen3_tts_model.py:270 and modeling_qwen3_tts.py:2191. Raises `TextError` as
        `encode` does.
        """
        return self.role_ids, self.encode(text)

    def reference_prompt(self, transcript: str) -> list[int]:
        """Text ids of a reference's transcript: ids[3:-2] of upstream's template (qwen3_tts_model.py:273)."""
        return self.encode(transcript, what="transcript")

    def instruction_prompt(self, instruction: str) -> list[int]:
        """All ids of `<|im_start|>user\\n{instruction}<|im_end|>\\n` (qwen3_tts_model.py:276).

        Nothing is sliced off an instruction, so its leading newlines may merge with the role's, as upstream's do.
        """
        check_text(instruction, "instruction")
        return [self._im_start, *self._split(f"user\n{instruction}"), self._im_end, *self._newline]

    def _split(self, text: str) -> list[int]:
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        return ids


def _read(path: Path) -> tokenizers.Tokenizer:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PackageError(f"{path} cannot be read ({error.strerror}): {_AGAIN}") from None
    try:
        backend = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises bare Exception
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PackageError(f"{path} is not a tokenizer.json ({reason}): {_AGAIN}") from None
    if not isinstance(backend.model, models.BPE):
        raise PackageError(f"{path} holds a {type(backend.model).__name__} model, expected BPE: {_AGAIN}")
    return backend


def _use_directory_regex(backend: tokenizers.Tokenizer) -> None:
    split = pre_tokenizers.Split(tokenizers.Regex(DIRECTORY_REGEX), behavior="isolated")
    steps = backend.pre_tokenizer
    if not isinstance(steps, pre_tokenizers.Sequence):
        raise PackageError(
            f"tokenizer splits words by {type(steps).__name__}, expected a sequence: pretokenizer 'directory' has "
            "nothing to swap, use 'hub'"
        )
    steps[0] = split


def check_text(text: str, what: str = "text") -> None:
    """Raises `TextError` for text that has nothing to say or is not valid Unicode; `what` is its name in the error."""
    for place, char in enumerate(text):
        if char == "\0":
            raise TextError(f"the {what} has a NUL character (U+0000) at position {place}, expected text: remove it")
        if "\ud800" <= char <= "\udfff":
            raise TextError(
                f"the {what} has a lone surrogate (U+{ord(char):04X}) at position {place}, expected valid Unicode: "
                "decode it as UTF-8 first"
            )
    if all(is_blank(char) for char in text):
        found = f"blank (length {len(text)}, nothing visible)" if text else "empty"
        raise TextError(f"the {what} is {found}: give at least one visible character")


def is_blank(char: str) -> bool:
    """Whether a character has nothing to see or say."""
    return unicodedata.category(char) in {"Cc", "Cf", "Zs", "Zl", "Zp"} or char in _INVISIBLE
