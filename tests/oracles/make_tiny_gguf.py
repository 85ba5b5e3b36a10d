#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tiny_gguf: small random models as GGUF files (PyPI gguf), each with golden logits of
Hugging Face transformers beside it. The weights are those of make_tiny_models.py, laid out as llama.cpp's
converter does: rows of q and k of the llama architecture permuted, gemma norms with their 1 added, llama3
scaling as divisors in rope_freqs.weight.

Needs the PyPI packages gguf, torch and transformers. Usage: make_tiny_gguf.py [OUTPUT_FOLDER]
"""
import math
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch

import make_tiny_models as tiny

# name: (GGUF architecture, configuration). llama.cpp derives gemma3's attention scale from head_dim.
MODELS = {
    "llama": ("llama", tiny.MODELS["llama"][0]),
    "llama3_rope": ("llama", tiny.MODELS["llama3_rope"][0]),
    "yarn_rope": ("llama", tiny.MODELS["yarn_rope"][0]),
    "qwen2": ("qwen2", tiny.MODELS["qwen2"][0]),
    "qwen3": ("qwen3", tiny.MODELS["qwen3"][0]),
    "gemma3": ("gemma3", lambda: tiny.gemma3(query_pre_attn_scalar=16)),
}
ARCHITECTURES = {"llama": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2,
                 "qwen3": gguf.MODEL_ARCH.QWEN3, "gemma3": gguf.MODEL_ARCH.GEMMA3}


def permute(weight, heads):
    """Neighbouring pairs (2f, 2f + 1) instead of (f, f + head_dim / 2)."""
    return (weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
            .swapaxes(1, 2).reshape(weight.shape))


def llama3_divisors(config):
    scaling, dim = config.rope_scaling, config.head_dim
    out = []
    for f in range(dim // 2):
        wavelength = 2 * math.pi * config.rope_theta ** (2 * f / dim)
        turns = scaling["original_max_position_embeddings"] / wavelength
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        kept = min(1.0, max(0.0, (turns - low) / (high - low)))
        out.append(1 / (kept + (1 - kept) / scaling["factor"]))
    return np.array(out, np.float32)


def add_header(writer, config, architecture):
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_name("tiny " + architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_rope_dimension_count(head_dim)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")
    scaling = config.rope_scaling or {}
    if scaling.get("rope_type") == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(scaling["beta_slow"])
    if scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if architecture == "gemma3":
        writer.add_sliding_window(config.sliding_window)


def add_tensors(writer, model, architecture):
    config = model.config
    names = gguf.get_tensor_name_map(ARCHITECTURES[architecture], config.num_hidden_layers)
    for key, parameter in model.named_parameters():
        weight = parameter.detach().numpy()
        if architecture == "llama" and "q_proj" in key:
            weight = permute(weight, config.num_attention_heads)
        if architecture == "llama" and "k_proj" in key:
            weight = permute(weight, config.num_key_value_heads)
        if architecture == "gemma3" and "norm" in key:
            weight = weight + 1
        vector = weight.ndim == 1
        writer.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")),
                          weight.astype(np.float32 if vector else np.float16))
    if (config.rope_scaling or {}).get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config))


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       pathlib.Path(__file__).parent.parent / "data" / "tiny_gguf")
    for name, (architecture, config) in MODELS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        model = tiny.build(name, config(), torch.float16)
        tiny.write_golden(folder, name, model)
        writer = gguf.GGUFWriter(folder / "model.gguf", architecture)
        add_header(writer, model.config, architecture)
        add_tensors(writer, model, architecture)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
