"""The eight core graphs: which module each is, how it is traced, and what its ncnn twin must equal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

import numpy as np
import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, CodecDecoderConfig, DecoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.export.check import Bound, Runner, run_codec, run_decoder, run_plain
from qwen3_tts_ncnn.convert.modules.codec import CodecDecoder
from qwen3_tts_ncnn.convert.modules.decoder import Decoder
from qwen3_tts_ncnn.convert.modules.tables import Heads, Table, TextProjection
from qwen3_tts_ncnn.runtime.manifest import Codec
from qwen3_tts_ncnn.runtime.rope import causal_mask, rope_tables, window_mask

SMALL_BOUND = Bound("relative error", 1e-5)
DECODER_BOUND = Bound("relative error", 2e-5)
CODEC_BOUND = Bound("SNR (dB)", 90.0, at_least=True)

# Rows (or frames) of the two checks: neither is a traced length. 90 frames go beyond the codec's window of 72.
CHECKED = (5, 33)
CODEC_CHECKED = (5, 90)


@dataclass(frozen=True)
class GraphPlan:
    """One graph to make.

    `example(n)` are the module's inputs of n rows, the same for the same n. `rates` are the factors by which lengths
    inside the graph are multiples of n.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    example: Callable[[int], tuple[Tensor, ...]]
    runner: Runner
    bound: Bound
    checked: tuple[int, int] = CHECKED
    cached_layers: int = 0
    rates: tuple[int, ...] = (1,)


def core_plans(config: CheckpointConfig, main: Weights, codec: Weights, codec_shape: Codec) -> list[GraphPlan]:
    """The plans of a checkpoint, in the order in which the graphs are made: small ones first, to fail early."""
    talker_config, predictor_config = config.talker.decoder, config.talker.predictor
    talker, width, groups = main / "talker", talker_config.hidden_size, config.talker.num_code_groups - 1
    predictor = talker / "code_predictor"
    projected = predictor_config.hidden_size != width

    def table(*scopes: Weights) -> Callable[[], nn.Module]:
        return lambda: Table(*(scope.take("weight") for scope in scopes))

    def heads(*scopes: Weights) -> Callable[[], nn.Module]:
        return lambda: Heads(*(scope.take("weight") for scope in scopes))

    def predictor_decoder() -> nn.Module:
        projection = predictor / "small_to_mtp_projection" if projected else None
        return Decoder.from_weights(predictor_config, predictor / "model", projection)

    def plain(
        name: str,
        build: Callable[[], nn.Module],
        inputs: str,
        outputs: Sequence[str],
        example: Callable[[int], tuple[Tensor, ...]],
    ) -> GraphPlan:
        return GraphPlan(name, build, (inputs,), tuple(outputs), example, run_plain, SMALL_BOUND)

    head_names = [f"logits_{n}" for n in range(groups)]
    embeds = [predictor / "model" / "codec_embedding" / n for n in range(groups)]
    lm_heads = [predictor / "lm_head" / n for n in range(groups)]
    return [
        plain(
            "talker_text_embed",
            lambda: TextProjection.from_weights(talker / "text_projection"),
            "rows",
            ["embeddings"],
            _rows(config.talker.text_hidden_size),
        ),
        plain(
            "talker_codec_embed",
            table(talker / "model" / "codec_embedding"),
            "ids",
            ["embeddings"],
            _ids(talker_config.vocab_size),
        ),
        plain("talker_codec_head", heads(talker / "codec_head"), "hidden", ["logits"], _rows(width)),
        plain("predictor_embeds", table(*embeds), "ids", ["embeddings"], _ids(groups * predictor_config.vocab_size)),
        plain("predictor_heads", heads(*lm_heads), "hidden", head_names, _rows(predictor_config.hidden_size)),
        _decoder_plan("predictor_decoder", predictor_config, predictor_decoder, width),
        _codec_plan(config.codec.decoder, codec / "decoder", codec_shape),
        _decoder_plan(
            "talker_decoder", talker_config, lambda: Decoder.from_weights(talker_config, talker / "model"), width
        ),
    ]


def _decoder_plan(name: str, config: DecoderConfig, build: Callable[[], nn.Module], width: int) -> GraphPlan:
    return GraphPlan(
        name,
        build,
        inputs=("hidden", "mask", "cos", "sin"),
        outputs=("hidden_out",),
        example=_decoder_example(config, width),
        runner=run_decoder(config),
        bound=DECODER_BOUND,
        cached_layers=config.num_hidden_layers,
    )


def _codec_plan(config: CodecDecoderConfig, weights: Weights, shape: Codec) -> GraphPlan:
    count = len(shape.states)
    return GraphPlan(
        "codec_decoder",
        lambda: CodecDecoder(config, weights),
        inputs=("ids", "mask", "cos", "sin", *(f"state_in_{n}" for n in range(count))),
        outputs=("wave", *(f"state_out_{n}" for n in range(count))),
        example=_codec_example(config, shape),
        runner=run_codec(shape),
        bound=CODEC_BOUND,
        checked=CODEC_CHECKED,
        rates=(config.num_quantizers, *accumulate((1, *config.upsampling_ratios, *config.upsample_rates), mul)),
    )


def _random(rows: int) -> np.random.Generator:
    return np.random.default_rng(rows)


def _rows(width: int) -> Callable[[int], tuple[Tensor, ...]]:
    def example(n: int) -> tuple[Tensor, ...]:
        return (torch.from_numpy(_random(n).standard_normal((n, width), dtype=np.float32)),)

    return example


def _ids(count: int) -> Callable[[int], tuple[Tensor, ...]]:
    def example(n: int) -> tuple[Tensor, ...]:
        # int32: the ids are int32 bits in ncnn, and no layer may lie between the input and Embed.
        return (torch.from_numpy(_random(n).integers(0, count, (1, n), dtype=np.int32)),)

    return example


def _tables(n: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Full-width rotary tables (n, head_dim), the form that torch multiplies by: both halves alike."""
    cos, sin = (torch.from_numpy(np.concatenate((half, half), axis=1)) for half in rope_tables(0, n, head_dim, theta))
    return cos, sin


def _decoder_example(config: DecoderConfig, width: int) -> Callable[[int], tuple[Tensor, ...]]:
    def example(n: int) -> tuple[Tensor, ...]:
        (rows,), mask = _rows(width)(n), torch.from_numpy(causal_mask(0, n))
        return (rows.unsqueeze(0), mask, *_tables(n, config.head_dim, config.rope_theta))

    return example


def _codec_example(config: CodecDecoderConfig, shape: Codec) -> Callable[[int], tuple[Tensor, ...]]:
    def example(n: int) -> tuple[Tensor, ...]:
        codes = _random(n).integers(0, config.codebook_size, (n, config.num_quantizers), dtype=np.int32)
        offsets = np.arange(config.num_quantizers, dtype=np.int32) * config.codebook_size
        return (
            torch.from_numpy((codes + offsets).reshape(1, -1)),
            torch.from_numpy(window_mask(0, n, config.sliding_window)),
            *_tables(n, config.head_dim, config.rope_theta),
            *(torch.zeros(1, *state) for state in shape.states),
        )

    return example
