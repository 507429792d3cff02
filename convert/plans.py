"""The ten graphs: which module each is, how it is traced, and what its ncnn twin must equal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from torch import nn

from qwen3_tts_ncnn.convert import examples
from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig, MimiShape
from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, DecoderConfig, SpeakerEncoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.examples import Example
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.export.check import (
    Runner,
    run_codec,
    run_decoder,
    run_mimi,
    run_plain,
    run_unbatched,
)
from qwen3_tts_ncnn.convert.modules.codec import CodecDecoder
from qwen3_tts_ncnn.convert.modules.decoder import Decoder
from qwen3_tts_ncnn.convert.modules.mimi_encoder import MimiEncoder
from qwen3_tts_ncnn.convert.modules.speaker_encoder import SpeakerEncoder
from qwen3_tts_ncnn.convert.modules.tables import Heads, Table, TextProjection
from qwen3_tts_ncnn.runtime.manifest import CodecEncoderShape, CodecShape

SMALL_BOUND = Bound("relative error", 1e-5)
DECODER_BOUND = Bound("relative error", 2e-5)
ENCODER_BOUND = Bound("relative error", 5e-5)
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
    example: Example
    runner: Runner
    bound: Bound
    checked: tuple[int, int] = CHECKED
    cached_layers: int = 0
    rates: tuple[int, ...] = (1,)


def speech_plans(config: CheckpointConfig, main: Weights) -> list[GraphPlan]:
    """Text, talker, predictor and speaker encoder, in the order in which they are made: small ones first."""
    talker_config, predictor_config = config.talker.decoder, config.talker.predictor
    talker, width, groups = main / "talker", talker_config.hidden_size, config.talker.num_code_groups - 1
    predictor = talker / "code_predictor"
    projected = predictor_config.hidden_size != width

    def predictor_decoder() -> nn.Module:
        projection = predictor / "small_to_mtp_projection" if projected else None
        return Decoder.from_weights(predictor_config, predictor / "model", projection)

    embeds = [predictor / "model" / "codec_embedding" / n for n in range(groups)]
    lm_heads = [predictor / "lm_head" / n for n in range(groups)]
    speaker_encoder = [] if config.speaker_encoder is None else [_speaker_plan(config.speaker_encoder, main)]
    return [
        _small(
            "talker_text_embed",
            lambda: TextProjection.from_weights(talker / "text_projection"),
            "rows",
            ["embeddings"],
            examples.rows(config.talker.text_hidden_size),
        ),
        _table("talker_codec_embed", [talker / "model" / "codec_embedding"], talker_config.vocab_size),
        _heads("talker_codec_head", [talker / "codec_head"], ["logits"], width),
        _table("predictor_embeds", embeds, groups * predictor_config.vocab_size),
        _heads("predictor_heads", lm_heads, [f"logits_{n}" for n in range(groups)], predictor_config.hidden_size),
        *speaker_encoder,
        _decoder("predictor_decoder", predictor_config, predictor_decoder, width),
        _decoder("talker_decoder", talker_config, lambda: Decoder.from_weights(talker_config, talker / "model"), width),
    ]


def codec_plans(
    config: CodecConfig, weights: Weights, shape: CodecShape, encoder: CodecEncoderShape
) -> list[GraphPlan]:
    """The two halves of the codec."""
    decoder, count = config.decoder, len(shape.states)
    frame = encoder.samples_per_frame
    return [
        GraphPlan(
            "mimi_encoder",
            lambda: MimiEncoder(MimiShape.from_dict(config.encoder), weights / "encoder"),
            inputs=("wave", "mask", "cos", "sin", *(f"valid_{n}" for n in range(len(encoder.ratios) + 1))),
            outputs=("latent",),
            example=examples.mimi_encoder(encoder),
            runner=run_mimi,
            bound=ENCODER_BOUND,
            rates=(1, *(frame // done for done in accumulate((1, *encoder.ratios), mul))),
        ),
        GraphPlan(
            "codec_decoder",
            lambda: CodecDecoder(decoder, weights / "decoder"),
            inputs=("ids", "mask", "cos", "sin", *(f"state_in_{n}" for n in range(count))),
            outputs=("wave", *(f"state_out_{n}" for n in range(count))),
            example=examples.codec_decoder(shape),
            runner=run_codec(shape),
            bound=CODEC_BOUND,
            checked=CODEC_CHECKED,
            rates=(decoder.num_quantizers, *accumulate((1, *decoder.upsampling_ratios, *decoder.upsample_rates), mul)),
        ),
    ]


def _small(
    name: str,
    build: Callable[[], nn.Module],
    blob: str,
    outputs: Sequence[str],
    example: Example,
    runner: Runner = run_plain,
) -> GraphPlan:
    return GraphPlan(name, build, (blob,), tuple(outputs), example, runner, SMALL_BOUND)


def _table(name: str, scopes: Sequence[Weights], count: int) -> GraphPlan:
    def build() -> nn.Module:
        return Table(*(scope.take("weight") for scope in scopes))

    return _small(name, build, "ids", ["embeddings"], examples.ids(count), run_unbatched)


def _heads(name: str, scopes: Sequence[Weights], outputs: Sequence[str], width: int) -> GraphPlan:
    def build() -> nn.Module:
        return Heads(*(scope.take("weight") for scope in scopes))

    return _small(name, build, "hidden", outputs, examples.rows(width))


def _speaker_plan(config: SpeakerEncoderConfig, main: Weights) -> GraphPlan:
    return _small(
        "speaker_encoder",
        lambda: SpeakerEncoder(config, main / "speaker_encoder"),
        "mel",
        ["x_vector"],
        examples.mel(config.mel_dim),
        run_unbatched,
    )


def _decoder(name: str, config: DecoderConfig, build: Callable[[], nn.Module], width: int) -> GraphPlan:
    return GraphPlan(
        name,
        build,
        inputs=("hidden", "mask", "cos", "sin"),
        outputs=("hidden_out",),
        example=examples.decoder(width, config.head_dim, config.rope_theta),
        runner=run_decoder(config),
        bound=DECODER_BOUND,
        cached_layers=config.num_hidden_layers,
    )
