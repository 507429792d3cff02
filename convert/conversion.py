"""A checkpoint to a package: every graph made and checked, every tensor accounted for, all of it or nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CodecCheckpoint
from qwen3_tts_ncnn.convert.checkpoint.inventory import unused_reason
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.codec_reuse import CodecDonor
from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.manifest import (
    build_codec_manifest,
    build_manifest,
    codec_encoder_record,
    codec_record,
)
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.output_folder import check_output_folder, staged
from qwen3_tts_ncnn.convert.package_files import list_files
from qwen3_tts_ncnn.convert.package_tables import (
    MEL_FILTERS,
    RVQ_TABLES,
    TEXT_TABLE,
    write_mel_filters,
    write_rvq_tables,
    write_text_table,
)
from qwen3_tts_ncnn.convert.plans import codec_plans, speech_plans
from qwen3_tts_ncnn.convert.precision.change import change_weights, package_name, steps_of
from qwen3_tts_ncnn.convert.precision.formats import Formats
from qwen3_tts_ncnn.convert.report import GraphReport, OnGraph
from qwen3_tts_ncnn.convert.tokenizer import build_tokenizer_json
from qwen3_tts_ncnn.runtime.errors import ModeError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest, Manifest, write_manifest
from qwen3_tts_ncnn.runtime.package import TOKENIZER


def convert_checkpoint(
    checkpoint: CodecCheckpoint,
    output: Path,
    *,
    overwrite: bool = False,
    codec_from: Path | None = None,
    mix: str = "fp32",
    formats: Formats | None = None,
    on_graph: OnGraph | None = None,
) -> list[GraphReport]:
    """Writes the package of a checkpoint. It appears at `output` when it is whole and checked.

    Two conversions of one checkpoint are byte for byte the same. An old package at `output` stays until then.
    `codec_from` is a package whose codec files are taken instead of being made again. `formats` are those of graphs
    whose weights are not to stay fp32, and `mix` is their name.

    Raises:
        ModeError: a precision is asked for of a package of the codec alone, which stays fp32.
        OutputError: the folder is occupied or cannot be written.
        CheckpointError: a tensor is missing.
        ConversionError: a graph does not compute what its torch module does, or a tensor is left over without being
            known as unused.
        PackageError: `codec_from` has another codec.
    """
    check_output_folder(output, overwrite=overwrite)
    conversion = _Conversion(checkpoint, codec_from, mix, formats or {})
    with staged(output) as folder:
        return conversion.write(folder, on_graph)


class _Conversion:
    """One conversion: which graphs, and what belongs beside them."""

    def __init__(self, checkpoint: CodecCheckpoint, codec_from: Path | None, mix: str, formats: Formats) -> None:
        self._checkpoint = checkpoint
        self._mix, self._steps = mix, steps_of(formats)
        self._speech = checkpoint if isinstance(checkpoint, Checkpoint) else None
        if self._steps and not self._speech:
            raise ModeError(f"{checkpoint.source.name} is the codec alone, which stays fp32: leave the precision out")
        self._main = Weights(self._speech.main if self._speech else Shapes({}))
        self._codec = Weights(checkpoint.codec)
        config = checkpoint.codec_config
        states = state_shapes(config.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")
        self._codec_record = codec_record(config, states, checkpoint.codec_sha256())
        self._donor = CodecDonor.open(codec_from, self._codec_record) if codec_from else None
        codec = codec_plans(config, self._codec, self._codec_record, codec_encoder_record(config))
        speech = speech_plans(self._speech.config, self._main) if self._speech else []
        # The talker comes last: it takes longest, and whatever is wrong shows before.
        self._graphs = [plan.name for plan in (*speech[:-1], *codec, *speech[-1:])]
        self._plans = [*speech[:-1], *([] if self._donor else codec), *speech[-1:]]

    def write(self, folder: Path, on_graph: OnGraph | None) -> list[GraphReport]:
        """Everything into an empty folder."""
        if not self._steps:
            reports, manifest = self._write_fp32(folder, on_graph)
            write_manifest(manifest, folder)
            return reports
        whole = folder / ".fp32"
        whole.mkdir()
        reports, manifest = self._write_fp32(whole, on_graph)
        assert isinstance(manifest, Manifest)
        changed = change_weights(whole, folder, manifest, self._steps, on_graph, first=len(reports))
        shutil.rmtree(whole)
        return reports + changed

    def _write_fp32(self, folder: Path, on_graph: OnGraph | None) -> tuple[list[GraphReport], CodecManifest]:
        """Everything but the manifest, which is handed out."""
        reports = []
        if self._speech:
            text = build_tokenizer_json(self._speech.folder)
            (folder / TOKENIZER).write_text(text, encoding="utf-8", newline="\n")
        total = len(self._plans) + len(self._steps)
        for number, plan in enumerate(self._plans, start=1):
            if on_graph:
                on_graph(number, total, plan, None)
            measured = export_graph(plan, folder)
            reports.append(GraphReport(plan.name, measured, plan.bound))
            if on_graph:
                on_graph(number, total, plan, measured)
        self._write_tables(folder)
        self._refuse_left_over()
        return reports, replace(self._manifest(), files=list_files(folder))

    def _write_tables(self, folder: Path) -> None:
        if self._speech:
            write_text_table(self._speech.main, self._main, folder / TEXT_TABLE)
            if self._speech.config.speaker_encoder:
                write_mel_filters(folder / MEL_FILTERS)
        if self._donor:
            self._donor.give(folder)
        else:
            write_rvq_tables(self._checkpoint.codec_config, self._codec, folder / RVQ_TABLES)

    def _refuse_left_over(self) -> None:
        left = self._main.left_over()
        if not self._donor:
            config = self._checkpoint.codec_config
            left += [name for name in self._codec.left_over() if unused_reason(name, config) is None]
        if left:
            raise ConversionError(
                f"tensor {left[0]} is in no graph and not known as unused ({len(left)} such tensors): please report it"
            )

    def _manifest(self) -> CodecManifest:
        source = self._checkpoint.source
        name = package_name(source.repo or source.name, self._mix)
        if self._speech:
            return build_manifest(self._speech, self._codec_record, self._graphs, name)
        return build_codec_manifest(self._checkpoint, self._codec_record, self._graphs, name)
