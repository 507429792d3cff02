"""Upstream comes in with stubs that leave no trace, or with one line that says what to install."""

import importlib
import importlib.metadata
import importlib.util
import sys
import types

import pytest

from qwen3_tts_ncnn.parity import upstream_stubs
from qwen3_tts_ncnn.parity.errors import ParityError


def test_stubs_are_there_while_upstream_is_imported_and_not_after() -> None:
    absent = [name for name in upstream_stubs.STUBBED if importlib.util.find_spec(name) is None]
    if not absent:
        pytest.skip("every package that upstream imports is installed here")
    with upstream_stubs.absent_modules_stubbed():
        assert set(absent) <= set(sys.modules)
        if "torchaudio" in absent:
            kaldi = importlib.import_module("torchaudio.compliance.kaldi")
            assert sys.modules["torchaudio"].compliance.kaldi is kaldi
    assert not set(absent) & set(sys.modules)
    assert [name for name in absent if importlib.util.find_spec(name) is not None] == []


def test_a_real_module_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = types.ModuleType("sox")
    monkeypatch.setitem(sys.modules, "sox", real)
    with upstream_stubs.absent_modules_stubbed():
        assert sys.modules["sox"] is real
    assert sys.modules["sox"] is real


def test_missing_upstream_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"transformers": "4.57.3"}
    monkeypatch.setattr(importlib.metadata, "version", lambda name: _of(versions, name))
    with pytest.raises(ParityError) as caught:
        upstream_stubs.import_upstream()
    assert str(caught.value) == (
        "qwen-tts is not installed, parity needs qwen-tts 0.1.1; install with: pip install 'qwen3-tts-ncnn[parity]' "
        "and pip install --no-deps qwen-tts==0.1.1"
    )


def test_another_transformers_says_which_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"transformers": "5.0.0", "qwen-tts": "0.1.1"}
    monkeypatch.setattr(importlib.metadata, "version", lambda name: _of(versions, name))
    with pytest.raises(ParityError, match=r"^transformers 5\.0\.0 is installed, parity needs transformers 4\.57\.3; "):
        upstream_stubs.check_versions()


def _of(versions: dict[str, str], name: str) -> str:
    if name not in versions:
        raise importlib.metadata.PackageNotFoundError(name)
    return versions[name]
