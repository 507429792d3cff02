"""Typed reading of a JSON object, with errors that name the file and the key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.convert.errors import CheckpointError


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that must hold an object.

    Raises:
        CheckpointError: the file is missing, unreadable, no valid JSON, or holds something other than an object.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path} is missing: a Qwen3-TTS checkpoint needs it, download the whole checkpoint again"
        ) from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the file and its permissions") from None
    except (ValueError, RecursionError) as error:
        reason = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "not UTF-8 text"
        raise CheckpointError(f"{path} is not valid JSON ({reason}): download or write it again") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} holds a JSON {type(data).__name__}, expected an object: download it again")
    return data


class Fields:
    """One JSON object of a configuration file. A getter without a default requires its key; null counts as absent.

    Args:
        data: the object; keys nobody asks for are ignored.
        where: the file, and the keys that lead to the object, e.g. ``"config.json: talker_config"``.
    """

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self.data = data
        self.where = where

    def name(self, key: str) -> str:
        """The key as an error names it, e.g. ``"config.json: talker_config.hidden_size"``."""
        return f"{self.where}.{key}" if ": " in self.where else f"{self.where}: {key}"

    def wrong(self, key: str, expected: str) -> CheckpointError:
        """The error for a value that is there but is not what this project can use."""
        found = json.dumps(self.data.get(key), ensure_ascii=False)
        found = found if len(found) <= 60 else found[:57] + "..."
        return CheckpointError(
            f"{self.name(key)} is {found}, expected {expected}: use a Qwen3-TTS 12 Hz checkpoint as published, "
            "or a fine-tune of one"
        )

    def _get(self, key: str, expected: str) -> Any:
        value = self.data.get(key)
        if value is None:
            raise CheckpointError(
                f"{self.name(key)} is missing, expected {expected}: "
                "the file is incomplete or not a Qwen3-TTS 12 Hz configuration, download it again"
            )
        return value

    def integer(self, key: str, default: int | None = None, *, at_least: int = 1) -> int:
        """An integer of at least ``at_least``; true and false are none."""
        if default is not None and self.data.get(key) is None:
            return default
        expected = f"an integer of at least {at_least}"
        value = self._get(key, expected)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise self.wrong(key, expected)
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        """A finite number above zero."""
        if default is not None and self.data.get(key) is None:
            return default
        value = self._get(key, "a number above 0")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.wrong(key, "a number above 0")
        return float(value)

    def string(self, key: str) -> str:
        """A string."""
        value = self._get(key, "a string")
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def integers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A list of at least one integer, each above zero."""
        if default is not None and self.data.get(key) is None:
            return default
        value = self._get(key, "a list of integers")
        whole = isinstance(value, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
        if not whole or not value or min(value) < 1:
            raise self.wrong(key, "a list of integers above 0")
        return tuple(value)

    def object(self, key: str) -> Mapping[str, Any]:
        """A JSON object."""
        value = self._get(key, "an object")
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return value

    def ids(self, key: str) -> dict[str, int]:
        """An object of name → token id, in the file's order."""
        value = self.object(key)
        for token in value.values():
            if isinstance(token, bool) or not isinstance(token, int) or token < 0:
                raise self.wrong(key, "an object of names and token ids")
        return dict(value)
