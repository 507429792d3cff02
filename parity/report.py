"""What a comparison found, for people and for programs."""

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.compare import CaseReport, TokenMismatch
from qwen3_tts_ncnn.parity.heard import HeardReport
from qwen3_tts_ncnn.parity.versions import installed

VERSIONS_OF = ("qwen3-tts-ncnn", "ncnn", "torch", "transformers", "qwen-tts")
STYLES = {"equal": "green", "near tie": "yellow", "different": "red"}


def versions() -> dict[str, str]:
    """Distribution → installed version, of all that had a hand in the result; nothing about the machine."""
    return dict.fromkeys(VERSIONS_OF, "absent") | installed(VERSIONS_OF)


def print_table(reports: Sequence[CaseReport], console: Console) -> None:
    """Print a table with a row a case, a line for each case that differs, a summary and the versions."""
    console.print(_table(reports))
    lines = [Text(f"case {number}: {_explain(report)}") for number, report in enumerate(reports, 1) if not report.ok]
    note = ", ".join(f"{name} {version}" for name, version in versions().items())
    for line in (*lines, Text(_summary_line(reports)), Text(note, style="dim")):
        # The terminal may wrap a line; a file or a pipe gets it whole.
        console.print(line, soft_wrap=True)


def to_json(reports: Sequence[CaseReport]) -> str:
    """The same as JSON text. An SNR of identical waves is the string "inf", what could not be measured is null."""
    document = {
        "equal": all(report.ok for report in reports),
        "summary": summary(reports),
        "cases": [_case(report) for report in reports],
        "versions": versions(),
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def summary(reports: Sequence[CaseReport]) -> dict[str, Any]:
    """Totals and worst values over all cases, ready for JSON."""
    snrs = [report.wave.snr_db for report in reports]
    return {
        "cases": len(reports),
        "equal_cases": sum(report.ok for report in reports),
        "tokens": sum(report.tokens.total for report in reports),
        "equal_tokens": sum(report.tokens.equal for report in reports),
        "ended_by_eos": sum(report.stop.oracle_reason == "eos" for report in reports),
        "worst_prompt_relative": _number(_worst([report.prompt.relative for report in reports], largest=True)),
        "worst_snr_db": _number(_worst(snrs, largest=False)),
        "worst_pcm16_lsb": _worst([report.wave.pcm16_lsb for report in reports], largest=True),
    } | _heard_summary([report.heard for report in reports if report.heard])


def _heard_summary(heard: Sequence[HeardReport]) -> dict[str, Any]:
    """Totals of the references; nothing where there are none."""
    if not heard:
        return {}
    return {
        "worst_x_vector_cosine": _number(_worst([each.x_vector_cosine for each in heard], largest=False)),
        "reference_codes": sum(each.total for each in heard),
        "equal_reference_codes": sum(each.equal for each in heard),
    }


def _worst(values: Sequence[float | None], *, largest: bool) -> float | None:
    """The worst value; None, which is worse than any, where one could not be measured or there are none."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    if len(known) < len(values) or not known:
        return None
    return max(known) if largest else min(known)


def _number(value: float | None) -> float | str | None:
    """A JSON value: infinities as "inf" and "-inf", NaN as null."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _table(reports: Sequence[CaseReport]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("case", "frames", "tokens", "prompt", "SNR dB", "LSB"):
        table.add_column(name, justify="right", no_wrap=True)
    cloned = any(report.heard for report in reports)
    for name in ("x-vector", "ref. codes") if cloned else ():
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("stop", "mode", "voice", "language", "layout", "seed", "verdict", "text"):
        # A voice is sometimes a description of it.
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=20 if name in ("voice", "text") else None)
    for number, report in enumerate(reports, 1):
        table.add_row(str(number), *_figures(report), *(_heard_cells(report.heard) if cloned else ()), *_words(report))
    return table


def _figures(report: CaseReport) -> tuple[str, ...]:
    snr, lsb = report.wave.snr_db, report.wave.pcm16_lsb
    return (
        str(report.stop.frames),
        f"{report.tokens.equal}/{report.tokens.total}",
        _short(report.prompt.relative, ".0e"),
        _short(snr, ".1f"),
        "—" if lsb is None else str(lsb),
    )


def _heard_cells(heard: HeardReport | None) -> tuple[str, str]:
    """How far the x-vectors' cosine is from 1, which is easier to read than many nines; and the codes that agree."""
    if heard is None or heard.x_vector_cosine is None:
        return "—", "—"
    return f"1−{max(0.0, 1 - heard.x_vector_cosine):.0e}", f"{heard.equal}/{heard.total}" if heard.total else "—"


def _words(report: CaseReport) -> tuple[str | Text, ...]:
    return (
        report.stop.reason,
        report.case.mode,
        Text(report.case.who),
        Text(report.case.language),
        report.case.layout,
        "greedy" if report.case.greedy else str(report.case.seed),
        Text(report.verdict, style=STYLES[report.verdict]),
        Text(report.case.text),
    )


def _short(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)


def _explain(report: CaseReport) -> str:
    """What differs, in one line."""
    parts = []
    if report.heard is not None:
        parts.extend(_explain_heard(report.heard))
    if "prompt" in report.failures:
        prompt = report.prompt
        error = _short(prompt.relative, ".1e")
        parts.append(
            f"prompt of {prompt.rows} + {prompt.trailing} rows, "
            f"upstream's {prompt.oracle_rows} + {prompt.oracle_trailing}, relative error {error}"
        )
    if report.tokens.first is not None:
        parts.append(_explain_token(report.tokens.first))
    if "stop" in report.failures:
        stop = report.stop
        parts.append(f"{stop.frames} frames ({stop.reason}), upstream {stop.oracle_frames} ({stop.oracle_reason})")
    if {"length", "snr", "pcm16"} & set(report.failures):
        wave = report.wave
        lsb = "—" if wave.pcm16_lsb is None else wave.pcm16_lsb
        parts.append(
            f"wave of {wave.samples} samples, upstream's {wave.oracle_samples}, "
            f"SNR {_short(wave.snr_db, '.1f')} dB, PCM16 off by {lsb} LSB"
        )
    return f"{report.verdict}: " + "; ".join(parts)


def _explain_heard(heard: HeardReport) -> list[str]:
    parts = []
    if not heard.x_vector_ok:
        parts.append(f"x-vector of cosine {_short(heard.x_vector_cosine, '.7f')}")
    if not heard.codes_ok:
        parts.append(
            f"{heard.equal} of {heard.total} reference codes equal, "
            f"{heard.frames} frames, upstream {heard.oracle_frames}"
        )
    if heard.first is not None:
        frame, codebook, ours, oracle = heard.first
        parts.append(f"first at reference frame {frame}, codebook {codebook}: package {ours}, upstream {oracle}")
    return parts


def _explain_token(first: TokenMismatch) -> str:
    place = f"first at frame {first.frame}, codebook {first.codebook}: "
    ours = "nothing" if first.ours is None else first.ours
    if first.oracle is None or first.margin is None:
        return f"{place}package {ours}, upstream had stopped"
    if not first.greedy:
        return f"{place}package {ours}, upstream drew {first.oracle}"
    taken = "its runner-up" if first.ours == first.runner_up else f"not its runner-up {first.runner_up}"
    return f"{place}package {ours} ({taken}), upstream {first.oracle} by a margin of {first.margin:.2g}"


def _summary_line(reports: Sequence[CaseReport]) -> str:
    total = summary(reports)
    prompt, snr, lsb = (total[f"worst_{name}"] for name in ("prompt_relative", "snr_db", "pcm16_lsb"))
    line = (
        f"{total['equal_cases']} of {total['cases']} cases equal, "
        f"{total['equal_tokens']} of {total['tokens']} tokens, {total['ended_by_eos']} ended by EOS; "
        f"worst prompt error {_short(prompt, '.1e')}, "
        f"worst SNR {snr if isinstance(snr, str) else _short(snr, '.1f')} dB, "
        f"worst PCM16 difference {'—' if lsb is None else lsb} LSB"
    )
    if "reference_codes" not in total:
        return line
    return (
        f"{line}; {total['equal_reference_codes']} of {total['reference_codes']} reference codes, "
        f"worst x-vector cosine {_short(total['worst_x_vector_cosine'], '.8f')}"
    )


def _case(report: CaseReport) -> dict[str, Any]:
    case, prompt, wave, first = report.case, report.prompt, report.wave, report.tokens.first
    return {
        "text": case.text,
        "mode": case.mode,
        "speaker": case.speaker,
        "instruct": case.instruct,
        "language": case.language,
        "layout": case.layout,
        "seed": case.seed,
        "settings": case.settings.of_package(),
        "max_frames": case.max_frames,
        "verdict": report.verdict,
        "failures": list(report.failures),
        "reference": None if report.heard is None else _reference(report.case, report.heard),
        "prompt": {
            "rows": prompt.rows,
            "oracle_rows": prompt.oracle_rows,
            "trailing_rows": prompt.trailing,
            "oracle_trailing_rows": prompt.oracle_trailing,
            "max_abs": _number(prompt.max_abs),
            "relative": _number(prompt.relative),
        },
        "tokens": {
            "equal": report.tokens.equal,
            "total": report.tokens.total,
            "first_mismatch": None if first is None else _mismatch(first),
        },
        "stop": {
            "frames": report.stop.frames,
            "oracle_frames": report.stop.oracle_frames,
            "reason": report.stop.reason,
            "oracle_reason": report.stop.oracle_reason,
        },
        "wave": {
            "samples": wave.samples,
            "oracle_samples": wave.oracle_samples,
            "snr_db": _number(wave.snr_db),
            "pcm16_lsb": wave.pcm16_lsb,
        },
    }


def _reference(case: Case, heard: HeardReport) -> dict[str, Any]:
    clip = case.reference
    keys = ("frame", "codebook", "ours", "oracle")
    first = None if heard.first is None else dict(zip(keys, heard.first, strict=True))
    return {
        "name": None if clip is None else clip.name,
        "seconds": None if clip is None else clip.seconds,
        "rate": None if clip is None else clip.rate,
        "transcript": None if clip is None else clip.transcript,
        "x_vector_cosine": heard.x_vector_cosine,
        "frames": heard.frames,
        "oracle_frames": heard.oracle_frames,
        "codes": {"equal": heard.equal, "total": heard.total, "first_mismatch": first},
    }


def _mismatch(first: TokenMismatch) -> dict[str, Any]:
    return {
        "frame": first.frame,
        "codebook": first.codebook,
        "ours": first.ours,
        "oracle": first.oracle,
        "oracle_runner_up": first.runner_up,
        "oracle_margin": _number(first.margin),
        "near_tie": first.near_tie,
    }
