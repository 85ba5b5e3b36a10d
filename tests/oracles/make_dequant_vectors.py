# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/dequant_vectors.json: blocks of every quantised type and the float32 values they mean.

Needs PyPI gguf and numpy. Run: python tests/oracles/make_dequant_vectors.py
The blocks are random bytes with chosen half-precision scales: ordinary, negative, zero, denormal and the
largest. Values are the bits of gguf.quants.dequantize, in hexadecimal, so that tests compare exactly.
"""
import json
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "dequant_vectors.json"
# Byte offsets of the half-precision fields of a block.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
    T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
}
SCALES = [(0.0123, -0.37), (-2.5, 0.001), (0.0, 1.0), (6e-8, 65504.0), (65504.0, -65504.0)]


def quantised_blocks(rng, kind):
    _, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (len(SCALES) + 2, size), dtype=np.uint8)
    blocks[-2] = 0
    blocks[-1] = 255
    for row, block in enumerate(blocks):
        pair = SCALES[row % len(SCALES)]
        for at, value in zip(HALVES[kind], pair):
            block[at:at + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)
    return blocks


def plain_values(kind):
    if kind == T.F32:
        return np.array([0.0, -0.0, 1.5, -3.25e-39, 3.4e38], np.float32).view(np.uint8)
    # Every exponent, both signs, several mantissas; infinities and NaN are left out.
    bits = [s << 15 | v for s in (0, 1) for v in (0, 1, 2, 0x155, 0x3FF, 0x400, 0x401, 0x3C00, 0x3555, 0x7BFF)]
    return np.array(bits, np.uint16).view(np.uint8)


def main():
    rng = np.random.default_rng(7)
    cases = []
    for kind in [T.F32, T.F16, T.BF16, *HALVES]:
        data = quantised_blocks(rng, kind) if kind in HALVES else plain_values(kind)
        values = dequantize(data.reshape(1, -1), kind).astype(np.float32).ravel()
        assert np.isfinite(values).all(), kind
        cases.append({"type": kind.name, "data": data.tobytes().hex(), "values": values.astype("<f4").tobytes().hex()})
    about = "data: blocks as stored; values: little-endian float32 bits of gguf.quants.dequantize; both hexadecimal"
    OUT.write_text(json.dumps({"about": about, "gguf": gguf_version(), "cases": cases}, indent=0) + "\n")


def gguf_version():
    from importlib.metadata import version
    return version("gguf")


if __name__ == "__main__":
    main()
