// SPDX-License-Identifier: Apache-2.0
#include "engine/model/dequant.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/quantize.h"

namespace lamina {
namespace {

using Byte = std::uint8_t;

float read_half(const Byte* p) {
  return kernels::float_from_half(static_cast<std::uint16_t>(p[0] | p[1] << 8));
}

std::uint32_t read_u32(const Byte* p) {
  return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
         static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

float to_float(int q) { return static_cast<float>(q); }
float to_float(std::int8_t q) { return static_cast<float>(q); }

// Blocks of 32: a half scale (and a half minimum), then the codes; the low nibbles are values
// 0..15, the high nibbles values 16..31; a fifth bit of value i is bit i of a 32-bit word.
void block_q4_0(const Byte* b, float* y) {
  float d = read_half(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * to_float((b[2 + i] & 15) - 8);
    y[i + 16] = d * to_float((b[2 + i] >> 4) - 8);
  }
}

void block_q4_1(const Byte* b, float* y) {
  float d = read_half(b), m = read_half(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * to_float(b[4 + i] & 15) + m;
    y[i + 16] = d * to_float(b[4 + i] >> 4) + m;
  }
}

int fifth_bit(std::uint32_t bits, int i) { return static_cast<int>(bits >> i & 1) << 4; }

void block_q5_0(const Byte* b, float* y) {
  float d = read_half(b);
  std::uint32_t high = read_u32(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * to_float(((b[6 + i] & 15) | fifth_bit(high, i)) - 16);
    y[i + 16] = d * to_float(((b[6 + i] >> 4) | fifth_bit(high, i + 16)) - 16);
  }
}

void block_q5_1(const Byte* b, float* y) {
  float d = read_half(b), m = read_half(b + 2);
  std::uint32_t high = read_u32(b + 4);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * to_float((b[8 + i] & 15) | fifth_bit(high, i)) + m;
    y[i + 16] = d * to_float((b[8 + i] >> 4) | fifth_bit(high, i + 16)) + m;
  }
}

void block_q8_0(const Byte* b, float* y) {
  float d = read_half(b);
  for (int i = 0; i < 32; ++i) y[i] = d * to_float(static_cast<std::int8_t>(b[2 + i]));
}

// Blocks of 256 values. Two-bit codes come in two runs of 32 bytes; byte i of a run holds values i,
// i + 32, i + 64 and i + 96 of its 128, lowest bits first.
// Q2_K: 16 bytes of 4-bit scale | 4-bit minimum of 16 values each, 64 bytes of codes, d, dmin.
void block_q2_k(const Byte* b, float* y) {
  const Byte* codes = b + 16;
  float d = read_half(b + 80), dmin = read_half(b + 82);
  for (int v = 0; v < 256; ++v) {
    Byte sm = b[v / 16];
    int q = codes[v / 128 * 32 + v % 32] >> (v % 128 / 32 * 2) & 3;
    float scale = d * to_float(sm & 15), minimum = dmin * to_float(sm >> 4);
    y[v] = scale * to_float(q) - minimum;
  }
}

// Q3_K: 32 bytes of third bits (value v: bit v / 32 of byte v % 32; clear = subtract 4), 64 bytes
// of low bits, 12 bytes of sixteen 6-bit scales (offset 32), d.
void block_q3_k(const Byte* b, float* y) {
  const Byte *low = b + 32, *packed = b + 96;
  float d = read_half(b + 108);
  float scale[16];
  for (int s = 0; s < 16; ++s) {
    int low4 = s < 8 ? packed[s] & 15 : packed[s - 8] >> 4;
    int high2 = packed[8 + s % 4] >> (s / 4 * 2) & 3;
    scale[s] = d * to_float((low4 | high2 << 4) - 32);
  }
  for (int v = 0; v < 256; ++v) {
    int q = low[v / 128 * 32 + v % 32] >> (v % 128 / 32 * 2) & 3;
    if ((b[v % 32] >> (v / 32) & 1) == 0) q -= 4;
    y[v] = scale[v / 16] * to_float(q);
  }
}

// Scale and minimum, 6 bits each, of group g of 32 values, from 12 bytes: groups 0..3 lie in the
// low six bits of bytes 0..3 and 4..7; groups 4..7 have their low four bits in bytes 8..11 and
// their high two in the top of bytes 0..7.
void scale_min(const Byte* p, int g, int& scale, int& minimum) {
  if (g < 4) {
    scale = p[g] & 63;
    minimum = p[g + 4] & 63;
  } else {
    scale = (p[g + 4] & 15) | (p[g - 4] >> 6) << 4;
    minimum = p[g + 4] >> 4 | (p[g] >> 6) << 4;
  }
}

// Q4_K: d, dmin, 12 bytes of scales, 128 bytes of codes: 32 bytes hold two groups, low nibbles
// first.
void block_q4_k(const Byte* b, float* y) {
  float d = read_half(b), dmin = read_half(b + 2);
  for (int g = 0; g < 8; ++g) {
    int s = 0, m = 0;
    scale_min(b + 4, g, s, m);
    float scale = d * to_float(s), minimum = dmin * to_float(m);
    const Byte* codes = b + 16 + g / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int q = codes[i] >> (g % 2 * 4) & 15;
      y[g * 32 + i] = scale * to_float(q) - minimum;
    }
  }
}

// Q5_K: as Q4_K with 32 bytes of fifth bits before the codes (group g: bit g).
void block_q5_k(const Byte* b, float* y) {
  float d = read_half(b), dmin = read_half(b + 2);
  for (int g = 0; g < 8; ++g) {
    int s = 0, m = 0;
    scale_min(b + 4, g, s, m);
    float scale = d * to_float(s), minimum = dmin * to_float(m);
    const Byte *high = b + 16, *codes = b + 48 + g / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int q = (codes[i] >> (g % 2 * 4) & 15) | (high[i] >> g & 1) << 4;
      y[g * 32 + i] = scale * to_float(q) - minimum;
    }
  }
}

// Q6_K: 128 bytes of low nibbles, 64 bytes of high bit pairs, sixteen signed scales of 16 values
// each, d. In each half of 128 values: nibbles of 64 bytes (low nibbles are values 0..63), pairs of
// 32 bytes.
void block_q6_k(const Byte* b, float* y) {
  const Byte *high = b + 128, *scales = b + 192;
  float d = read_half(b + 208);
  for (int v = 0; v < 256; ++v) {
    int half = v / 128, w = v % 128;
    int low4 = b[half * 64 + w % 64] >> (w / 64 * 4) & 15;
    int high2 = high[half * 32 + w % 32] >> (w / 32 * 2) & 3;
    float scale = d * to_float(static_cast<std::int8_t>(scales[v / 16]));
    y[v] = scale * to_float((low4 | high2 << 4) - 32);
  }
}

void block_f32(const Byte* b, float* y) { *y = std::bit_cast<float>(read_u32(b)); }
void block_f16(const Byte* b, float* y) { *y = read_half(b); }
void block_bf16(const Byte* b, float* y) {
  *y = bfloat16_to_float(static_cast<std::uint16_t>(b[0] | b[1] << 8));
}

using BlockFunction = void (*)(const Byte*, float*);

template <BlockFunction block>
void run(const Byte* data, float* out, std::int64_t blocks, const TensorType& type) {
  for (std::int64_t i = 0; i < blocks; ++i) {
    block(data + static_cast<std::uint64_t>(i) * type.block_bytes, out + i * type.block_elements);
  }
}

using RunFunction = void (*)(const Byte*, float*, std::int64_t, const TensorType&);

RunFunction run_function(Encoding encoding) {
  switch (encoding) {
    case Encoding::kOpaque:
      return nullptr;
    case Encoding::kF32:
      return run<block_f32>;
    case Encoding::kF16:
      return run<block_f16>;
    case Encoding::kBf16:
      return run<block_bf16>;
    case Encoding::kQ4_0:
      return run<block_q4_0>;
    case Encoding::kQ4_1:
      return run<block_q4_1>;
    case Encoding::kQ5_0:
      return run<block_q5_0>;
    case Encoding::kQ5_1:
      return run<block_q5_1>;
    case Encoding::kQ8_0:
      return run<block_q8_0>;
    case Encoding::kQ2K:
      return run<block_q2_k>;
    case Encoding::kQ3K:
      return run<block_q3_k>;
    case Encoding::kQ4K:
      return run<block_q4_k>;
    case Encoding::kQ5K:
      return run<block_q5_k>;
    case Encoding::kQ6K:
      return run<block_q6_k>;
  }
  return nullptr;
}

}  // namespace

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

bool dequantize(const TensorType& type, std::span<const std::byte> data, std::span<float> out,
                int threads) {
  RunFunction function = run_function(type.encoding);
  std::uint64_t bytes = 0;
  if (function == nullptr || !tensor_bytes(type, out.size(), bytes) || bytes != data.size())
    return false;
  const auto* source = reinterpret_cast<const Byte*>(data.data());
  std::int64_t blocks = static_cast<std::int64_t>(out.size()) / type.block_elements;
  constexpr std::int64_t kValuesPerThread = 1
                                            << 18;  // below that a thread costs more than it saves
  auto cores = static_cast<std::int64_t>(
      threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency()));
  std::int64_t parts =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(out.size()) / kValuesPerThread, 1, cores);
  auto work = [&](std::int64_t part) {
    std::int64_t begin = blocks / parts * part + std::min(part, blocks % parts);
    std::int64_t end = blocks / parts * (part + 1) + std::min(part + 1, blocks % parts);
    function(source + static_cast<std::uint64_t>(begin) * type.block_bytes,
             out.data() + begin * type.block_elements, end - begin, type);
  };
  std::vector<std::jthread> pool;
  for (std::int64_t part = 1; part < parts; ++part) pool.emplace_back(work, part);
  work(0);
  return true;
}

}  // namespace lamina
