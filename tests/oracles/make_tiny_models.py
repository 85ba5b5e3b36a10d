#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tiny: small random checkpoints of every supported architecture, each with golden
logits of Hugging Face transformers (eager attention, float32 on the CPU).

Needs the PyPI packages torch and transformers. Usage: make_tiny_models.py [OUTPUT_FOLDER]

Weights are drawn so that attention is far from uniform: a wrong rotation, window, scale or norm moves
logits by tenths, hundreds of times the tests' tolerance. Prompts are longer than every window and every
original context. golden.json holds the prompt's ids and, for some positions, the logits there.
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers
from transformers.models.llama import modeling_llama

VOCAB = 96
PROMPT = 40
POSITIONS = [0, 6, 7, 8, 9, 23, PROMPT - 1]

BASE = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            bos_token_id=1, eos_token_id=2, pad_token_id=None, attn_implementation="eager")


def llama(**more):
    return transformers.LlamaConfig(**{**BASE, "rms_norm_eps": 1e-5, **more})


def gemma3(**more):
    return transformers.Gemma3TextConfig(**{
        **BASE, "num_hidden_layers": 7, "head_dim": 16, "query_pre_attn_scalar": 24,
        "sliding_window": 8, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rms_norm_eps": 1e-6,
        "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True, **more})


LLAMA3_SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                  "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
# Bounds of the blend that lie inside the head's 8 pairs, so that rounding them wrongly shows.
YARN_SCALING = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32,
                "beta_fast": 2.0, "beta_slow": 0.25}

# name: (configuration, type of the stored weights)
MODELS = {
    "llama": (lambda: llama(tie_word_embeddings=False), torch.float16),
    "llama_mha_tied": (lambda: llama(num_key_value_heads=4, tie_word_embeddings=True,
                                     num_hidden_layers=1), torch.float32),
    "llama3_rope": (lambda: llama(head_dim=16, rope_theta=500.0, rope_scaling=LLAMA3_SCALING),
                    torch.float16),
    "linear_rope": (lambda: llama(head_dim=16, num_hidden_layers=2,
                                  rope_scaling={"rope_type": "linear", "factor": 4.0}),
                    torch.bfloat16),
    "yarn_rope": (lambda: llama(head_dim=16, rope_theta=1000.0, num_hidden_layers=2,
                                max_position_embeddings=128, rope_scaling=YARN_SCALING),
                  torch.float16),
    "partial_rope": (lambda: llama(head_dim=16, num_hidden_layers=2, partial_rotary_factor=0.5),
                     torch.float16),
    "mistral_window": (lambda: transformers.MistralConfig(**{**BASE, "head_dim": 12,
                                                             "sliding_window": 8}),
                       torch.bfloat16),
    "qwen2": (lambda: transformers.Qwen2Config(**{**BASE, "tie_word_embeddings": True}),
              torch.bfloat16),
    "qwen2_window": (lambda: transformers.Qwen2Config(
        **{**BASE, "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
        torch.float16),
    "qwen3": (lambda: transformers.Qwen3Config(**{**BASE, "head_dim": 16, "rope_theta": 1000000.0}),
              torch.float16),
    "gemma3": (gemma3, torch.float16),
}


def apply_partial_rotary(q, k, cos, sin, *_, **__):
    """The rotation of the first cos.shape[-1] dimensions only (GPT-NeoX style partial rotary), which
    transformers' Llama takes no care of."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    n = cos.shape[-1]

    def rotate(x):
        turned = x[..., :n] * cos + modeling_llama.rotate_half(x[..., :n]) * sin
        return torch.cat([turned, x[..., n:]], -1)

    return rotate(q), rotate(k)


def build(name, config, dtype):
    """A model with random weights that `dtype` holds exactly, in float32."""
    torch.manual_seed(sum(name.encode()))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for key, weight in model.named_parameters():
        noise = torch.randn_like(weight)
        if "norm" in key:
            # gemma adds 1 to what is stored
            mean = 0.0 if config.model_type == "gemma3_text" else 1.0
            weight.data = (mean + 0.25 * noise) * (1.5 if "_norm." in key else 1.0)
        elif key.endswith("bias"):
            weight.data = 0.5 * noise
        elif "embed_tokens" in key:
            weight.data = 0.4 * noise
        else:
            weight.data = noise * 1.6 / weight.shape[1] ** 0.5
        weight.data = weight.data.to(dtype).float()
    model.tie_weights()
    return model


@torch.no_grad()
def golden(name, model):
    generator = torch.Generator().manual_seed(len(name))
    ids = torch.randint(3, VOCAB, (1, PROMPT), generator=generator)
    plain = modeling_llama.apply_rotary_pos_emb
    if getattr(model.config, "partial_rotary_factor", 1.0) != 1.0:
        modeling_llama.apply_rotary_pos_emb = apply_partial_rotary
    logits = model(ids).logits[0]
    modeling_llama.apply_rotary_pos_emb = plain
    return {"about": f"float32 logits of transformers {transformers.__version__}, eager attention",
            "ids": ids[0].tolist(), "positions": POSITIONS,
            "logits": [[round(v, 6) for v in logits[p].tolist()] for p in POSITIONS]}


def write_golden(folder, name, model):
    (folder / "golden.json").write_text(json.dumps(golden(name, model)) + "\n")


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       pathlib.Path(__file__).parent.parent / "data" / "tiny")
    for name, (config, dtype) in MODELS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        model = build(name, config(), dtype)
        folder.mkdir(parents=True)
        write_golden(folder, name, model)  # before .to(), which rounds the rotation's frequencies too
        model.to(dtype).save_pretrained(folder, safe_serialization=True)
        (folder / "generation_config.json").unlink(missing_ok=True)
        print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
