"""From a package folder to the parts that speak: which graphs and files each is made of."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from qwen3_tts_ncnn.runtime.codec_decoder import output_names
from qwen3_tts_ncnn.runtime.codec_encoder import CodecEncoder, RVQTables
from qwen3_tts_ncnn.runtime.cpu import cpu_options, thread_count
from qwen3_tts_ncnn.runtime.devices import vulkan_options
from qwen3_tts_ncnn.runtime.errors import DeviceError, PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.huge_pages import on_huge_pages
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.lazy import Lazy
from qwen3_tts_ncnn.runtime.malloc import hand_back
from qwen3_tts_ncnn.runtime.manifest import Decoder
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.param import read_param
from qwen3_tts_ncnn.runtime.placement import Backend, Place, Placement
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.reference_audio import SAMPLE_RATE
from qwen3_tts_ncnn.runtime.row_table import RowTable
from qwen3_tts_ncnn.runtime.speaker_encoder import SpeakerEncoder, load_mel
from qwen3_tts_ncnn.runtime.talker import Talker
from qwen3_tts_ncnn.runtime.text_table import TextTable
from qwen3_tts_ncnn.runtime.vulkan_decoder import JOIN, VulkanDecoder
from qwen3_tts_ncnn.runtime.vulkan_param import key_width


@dataclass(frozen=True)
class Loader:
    """Loads the parts of one verified package, all for the same number of threads."""

    package: Package
    threads: int
    huge_pages: bool = False
    placement: Placement = field(default_factory=Placement)
    verbose: bool = False
    _on_gpus: set[str] = field(default_factory=set, init=False)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        backend: Backend = "cpu",
        threads: int | None = None,
        huge_pages: bool = False,
        verbose: bool = False,
    ) -> "Loader":
        """Opens a package; the first time that this user does, every file of it is verified.

        Raises `PackageError`, `OptionError` for a backend or a thread count that cannot be, or `DeviceError`.
        """
        count = thread_count(threads)
        package = Package.open(Path(folder))
        placement = Placement.of(backend, package.manifest, verbose=verbose)
        package.verify_once()
        return cls(package, count, huge_pages, placement, verbose)

    @property
    def can_overlap(self) -> bool:
        """Whether there is a core for every thread of two graphs that run side by side, or a GPU for one of them.

        Where there is not, two take longer side by side than one after the other: each waits for the other's threads.
        """
        loop, codec = (self.placement.place(name) for name in ("talker_decoder", "codec_decoder"))
        if loop is None and codec is not None and codec.device.type != "cpu":
            return True
        return 2 * self.threads <= thread_count(None)

    def graph(self, name: str, *, join: Sequence[str] = ()) -> Graph:
        """One graph, where it is placed; on a GPU the outputs `join` are in one.

        Raises `PackageError` where there is none of that name or it does not load, `DeviceError` where its GPU has no
        memory left for it.
        """
        files = self.package.graph_files(name)
        place = self.placement.place(name)
        with on_huge_pages() if self.huge_pages and place is None else nullcontext():
            graph = self._on_cpu(name, files) if place is None else self._on_gpu(name, files, place, join)
            hand_back()  # before anything is moved: what is free need not be
        return graph

    def _on_cpu(self, name: str, files: tuple[Path, Path]) -> Graph:
        option = cpu_options(self.threads, self.package.manifest.graphs[name].precision)
        return Graph(*files, option, verbose=self.verbose)

    def _on_gpu(self, name: str, files: tuple[Path, Path], place: Place, join: Sequence[str]) -> Graph:
        option = vulkan_options(cpu_options(self.threads), fp16=place.fp16)
        try:
            graph = Graph(*files, option, place.device, join=join, verbose=self.verbose)
        except DeviceError as error:
            raise DeviceError(f"{error}: what fits is backend {self.placement.of_graphs(self._on_gpus)}") from None
        self._on_gpus.add(name)
        return graph

    def talker(self) -> Talker:
        """The talker of a package that speaks."""
        manifest = self.package.speech
        return Talker(
            TextTable(self.package.folder, manifest.text_table),
            Lazy(lambda: self.graph("talker_text_embed")),
            self._table("talker_codec_embed", manifest.talker.vocab_size),
            self._decoder("talker_decoder", manifest.talker),
            self.graph("talker_codec_head"),
        )

    def predictor(self) -> Predictor:
        """The code predictor of a package that speaks."""
        manifest = self.package.speech
        steps = manifest.codec.codebooks - 1
        return Predictor(
            self._table("predictor_embeds", steps * manifest.predictor.vocab_size),
            self._decoder("predictor_decoder", manifest.predictor),
            self.graph("predictor_heads"),
            steps=steps,
            vocab_size=manifest.predictor.vocab_size,
        )

    def _decoder(self, name: str, shape: Decoder) -> CachedDecoder:
        graph = self.graph(name, join=JOIN)
        if graph.device is None:
            return CachedDecoder(graph, shape)
        text = self.package.graph_files(name)[0].read_text(encoding="utf-8")
        try:
            return VulkanDecoder(graph, shape, key_width(read_param(text)) // shape.head_dim)
        except ValueError as error:
            raise PackageError(f"graph {name} cannot run on a GPU, {error}: convert the checkpoint again") from None

    def codec_decoder(self) -> Graph:
        """The codec's decoder of any package, as `CodecDecoder` runs it."""
        return self.graph("codec_decoder", join=output_names(self.package.manifest.codec))

    def _table(self, name: str, rows: int) -> RowTable:
        """The rows of an embedding graph. Both embeddings are of the talker's width."""
        return RowTable.of_embedding(self.package.graph_files(name)[1], rows, self.package.speech.talker.hidden_size)

    def codec_encoder(self) -> CodecEncoder:
        """The codec's encoder of any package."""
        shape = self.package.manifest.codec_encoder
        self._check_rate(shape.sample_rate)
        return CodecEncoder(self.graph("mimi_encoder"), RVQTables.load(self.package.folder / shape.tables), shape)

    def speaker_encoder(self) -> SpeakerEncoder:
        """The speaker encoder of a Base package; `request.check_cloning` says which package has one."""
        shape, width = self.package.speech.speaker_encoder, self.package.speech.talker.hidden_size
        assert shape is not None
        self._check_rate(shape.sample_rate)
        if shape.width != width:
            raise PackageError(
                f"{self.package.folder} makes x-vectors of {shape.width} values for a talker of {width}: convert the "
                "checkpoint again"
            )
        return SpeakerEncoder(self.graph("speaker_encoder"), load_mel(self.package.folder / shape.mel_filters))

    def _check_rate(self, rate: int) -> None:
        """Raises `PackageError` for an encoder that hears another rate than `read_reference` gives."""
        if rate != SAMPLE_RATE:
            raise PackageError(
                f"{self.package.folder} hears recordings at {rate} Hz, this version gives them at {SAMPLE_RATE} Hz: "
                "convert the checkpoint again"
            )
