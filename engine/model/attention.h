// SPDX-License-Identifier: Apache-2.0
// Exact attention over grouped heads, built on ATen's tiled CPU kernel (FlashAttention, arXiv
// 2205.14135): no tokens x tokens matrix and no mask of that size is ever formed, and K, V are not
// repeated for the query heads of a group (GQA, arXiv 2305.13245). Includes ATen: only for .cc
// files of targets that link LibTorch. Functions are pure and thread-safe; they throw c10::Error
// where memory runs out.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace lamina {

// Causal attention of the queries over k, v, whose last tokens are the queries' own.
// q: (heads, q_tokens, head_dim), k, v: (kv_heads, tokens, head_dim), float32, last stride 1; heads
// a multiple of kv_heads, 1 <= q_tokens <= tokens. window > 0: a query sees its own token and the
// window - 1 before it. -> (heads, q_tokens, head_dim)
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::int64_t window);

}  // namespace lamina
