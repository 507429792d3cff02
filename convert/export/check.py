"""Is the ncnn graph the torch module? Runs both on the same input, as the runtime will run it."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.config import DecoderConfig
from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.export.decoding import decode
from qwen3_tts_ncnn.runtime.codec_decoder import CodecDecoder
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import CodecShape, Decoder
from qwen3_tts_ncnn.runtime.mat import Floats

# How the runtime runs a graph: (graph, the module's inputs, names of inputs, names of outputs) → outputs.
Runner = Callable[[Graph, Sequence[Tensor], Sequence[str], Sequence[str]], list[Floats]]


def expected_outputs(module: nn.Module, examples: Sequence[Sequence[Tensor]]) -> list[list[Floats]]:
    """What the torch module makes of each example."""
    outputs = []
    for example in examples:
        with torch.no_grad():
            output = module(*example)
        outputs.append([tensor.numpy() for tensor in ((output,) if isinstance(output, Tensor) else output)])
    return outputs


def check_graph(
    name: str,
    graph: Graph,
    examples: Sequence[Sequence[Tensor]],
    expected: Sequence[Sequence[Floats]],
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    runner: Runner,
    bound: Bound,
) -> float:
    """Compares a graph with what its torch module makes of each example, and returns the worst value measured.

    Raises `ConversionError` when it is beyond the bound.
    """
    measure = signal_to_noise if bound.at_least else relative_error
    values = []
    for example, theirs in zip(examples, expected, strict=True):
        # A codec's states are compared by what they are for: the runner hands them from chunk to chunk.
        for ours, wanted in zip(runner(graph, example, inputs, outputs), theirs, strict=False):
            values.append(measure(ours, wanted.squeeze(0) if wanted.ndim > ours.ndim else wanted))
    worst = bound.worst(values)
    if not bound.holds(worst):
        raise ConversionError(
            f"graph {name} does not compute what its torch module does: {bound.measure} {worst:.3g}, "
            f"expected {'at least' if bound.at_least else 'at most'} {bound.limit:g}; please report it"
        )
    return worst


def relative_error(ours: Floats, theirs: Floats) -> float:
    """Largest absolute difference over largest absolute value; infinite where shapes or finiteness differ."""
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("inf")
    scale = float(np.abs(theirs).max())
    return float(np.abs(ours - theirs).max()) / scale if scale else float(np.abs(ours).max())


def signal_to_noise(ours: Floats, theirs: Floats) -> float:
    """10 · log10(Σ signal² / Σ difference²) in dB; infinite for equal signals, −∞ where shapes or finiteness differ."""
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("-inf")
    noise = float(np.square(ours.astype(np.float64) - theirs).sum())
    signal = float(np.square(theirs.astype(np.float64)).sum())
    if noise == 0:
        return float("inf")
    return 10 * float(np.log10(signal / noise)) if signal else float("-inf")


def run_plain(graph: Graph, example: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str]) -> list[Floats]:
    """Every output of one run on the inputs as they are."""
    run = graph.extractor({name: tensor.numpy() for name, tensor in zip(inputs, example, strict=True)})
    return [run.array(name) for name in outputs]


def run_unbatched(
    graph: Graph, example: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str]
) -> list[Floats]:
    """As `run_plain`, with inputs without their leading 1."""
    return run_plain(graph, [tensor.squeeze(0) for tensor in example], inputs, outputs)


def run_mimi(graph: Graph, example: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str]) -> list[Floats]:
    """As `run_plain`, with rotary tables of the width that ncnn takes, and valid columns without their leading 1."""
    wave, mask, cos, sin, *valid = example
    halves = [table[:, : table.shape[1] // 2].contiguous() for table in (cos, sin)]
    return run_plain(graph, [wave, mask, *halves, *(columns.squeeze(0) for columns in valid)], inputs, outputs)


def run_decoder(config: DecoderConfig) -> Runner:
    """As `decode`: a prefill, and single steps through the KV cache."""
    shape = Decoder(
        layers=config.num_hidden_layers,
        hidden_size=config.hidden_size,
        head_dim=config.head_dim,
        rope_theta=config.rope_theta,
        vocab_size=config.vocab_size,
    )

    def run(graph: Graph, example: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str]) -> list[Floats]:
        return [decode(graph, shape, example[0].squeeze(0).numpy())]

    return run


def run_codec(shape: CodecShape) -> Runner:
    """A stream in three chunks: 1 frame, all but 2, and the rest."""

    def run(graph: Graph, example: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str]) -> list[Floats]:
        codes = example[0].numpy().reshape(-1, shape.codebooks) % shape.codebook_size
        stream = CodecDecoder(graph, shape).stream()
        return [np.concatenate([stream.decode(piece) for piece in np.split(codes, (1, len(codes) - 1))])]

    return run
