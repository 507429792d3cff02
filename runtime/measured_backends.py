"""Which backend was the fastest for a package on this machine, as `bench --devices` measured it.

Kept in one file of the user's cache folder, with an entry for each combination of processor, GPUs and graphs: a
package of other sizes or precisions, another GPU or a home folder shared with another machine has none yet.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.runtime.cpu import processor_name
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.files import write_beside
from qwen3_tts_ncnn.runtime.manifest import CodecManifest
from qwen3_tts_ncnn.runtime.user_cache import cache_folder


def fastest_backend(manifest: CodecManifest, devices: Sequence[Device]) -> str | None:
    """The one that was kept for such a package and these devices; None where none was measured."""
    entry = _read(_file()).get(_key(manifest, devices))
    backend = entry.get("fastest") if isinstance(entry, dict) else None
    return backend if isinstance(backend, str) else None


def keep_fastest(manifest: CodecManifest, devices: Sequence[Device], factors: Mapping[str, float]) -> Path:
    """Keeps the backend of the least real-time factor, of `factors` by backend; returns the file.

    Raises `OutputError` where there is no cache folder or it cannot be written.
    """
    file = _file()
    if file is None:
        raise OutputError("there is no cache folder to keep it in: set XDG_CACHE_HOME")
    entries = _read(file)
    entries[_key(manifest, devices)] = {
        "package": manifest.name,
        "processor": processor_name(),
        "devices": [str(device) for device in devices],
        "total_rtf": dict(factors),
        "fastest": min(factors, key=lambda backend: factors[backend]),
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{file.parent} cannot be made ({error.strerror}): set XDG_CACHE_HOME") from None
    write_beside(file, (json.dumps(entries, ensure_ascii=False, indent=2) + "\n").encode())
    return file


def _file() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / "backends.json"


def _read(file: Path | None) -> dict[str, Any]:
    """What was kept; nothing where it cannot be read, for it can be measured again."""
    try:
        entries = {} if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _key(manifest: CodecManifest, devices: Sequence[Device]) -> str:
    graphs = {name: [str(graph), manifest.files[f"{name}.bin"].size] for name, graph in manifest.graphs.items()}
    what = [processor_name(), [str(device) for device in devices], graphs]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
