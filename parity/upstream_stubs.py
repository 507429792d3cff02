"""Bring upstream's `qwen_tts` into this process, without the three packages that only its 25 Hz codec uses.

`qwen_tts/core/tokenizer_25hz/vq/speech_vq.py:16-24` imports sox, onnxruntime and torchaudio at the top, and importing
`qwen_tts` imports it. Nothing of the 12 Hz model touches them, so empty modules do.
"""

import contextlib
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

from qwen3_tts_ncnn.parity.errors import ParityError

STUBBED = {
    "sox": ("sox",),
    "onnxruntime": ("onnxruntime",),
    "torchaudio": ("torchaudio", "torchaudio.compliance", "torchaudio.compliance.kaldi"),
}
"""Package → the modules of it that upstream imports, parents first."""

REQUIRED = {"transformers": "4.57.3", "qwen-tts": "0.1.1"}
"""Distribution → the only version the comparison is known to be exact with."""

INSTALL = "install with: pip install 'qwen3-tts-ncnn[parity]' and pip install --no-deps qwen-tts==0.1.1"


def import_upstream() -> Any:
    """Upstream's `Qwen3TTSModel` class; `sys.modules` holds no stub afterwards.

    Raises:
        ParityError: upstream or something it needs is missing, or is of another version.
    """
    check_versions()
    try:
        # transformers looks for torchaudio when it is first imported: it must not find the stub.
        importlib.import_module("transformers")
        # Upstream prints a banner about flash-attn while it is imported.
        with absent_modules_stubbed(), contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module("qwen_tts").Qwen3TTSModel
    except ImportError as error:
        raise ParityError(f"upstream cannot be imported ({error}); {INSTALL}") from error


def check_versions() -> None:
    """Raise `ParityError` unless the distributions in `REQUIRED` are installed in exactly those versions."""
    for name, wanted in REQUIRED.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise ParityError(f"{name} is not installed, parity needs {name} {wanted}; {INSTALL}") from None
        if found != wanted:
            raise ParityError(f"{name} {found} is installed, parity needs {name} {wanted}; {INSTALL}")


@contextlib.contextmanager
def absent_modules_stubbed() -> Iterator[None]:
    """While inside, empty modules stand in for those in `STUBBED` whose package is absent; real ones are untouched."""
    names = [name for package, modules in STUBBED.items() if not _is_there(package) for name in modules]
    for name in names:
        module = types.ModuleType(name)
        # torch._dynamo asks for the spec of onnxruntime while it is imported; a module without one is an error there.
        module.__spec__ = importlib.machinery.ModuleSpec(name, loader=None)
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)


def _is_there(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None
