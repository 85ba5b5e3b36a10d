// SPDX-License-Identifier: Apache-2.0
#include "engine/model/attention.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace lamina {
namespace {

struct Partial {
  at::Tensor out;  // (kv_heads, group, q_tokens, head_dim)
  at::Tensor lse;  // (kv_heads, group, q_tokens): log of the softmax's denominator
};

// q: (kv_heads, group, q_tokens, head_dim). `causal`: query i sees keys 0..i (the kernel aligns the
// first query with the first key). mask: (q_tokens, tokens), added to the scores.
Partial flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
              bool causal, const std::optional<at::Tensor>& mask) {
  const auto group = [&](const at::Tensor& t) {  // the query heads of a group share one K: stride 0
    return t.unsqueeze(1).expand({t.size(0), q.size(1), t.size(1), t.size(2)});
  };
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, group(k), group(v), 0.0,
                                                                    causal, mask, scale);
  return {out, lse};
}

// Every query sees every key: the queries of a group are folded into one list, so that each K, V
// head is read once.
Partial unmasked(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale) {
  const std::int64_t kv_heads = q.size(0), queries = q.size(1) * q.size(2);
  Partial folded = flash(q.reshape({kv_heads, 1, queries, q.size(3)}), k, v, scale, false, {});
  return {folded.out.reshape(q.sizes()), folded.lse.reshape({kv_heads, q.size(1), q.size(2)})};
}

// Softmax over the union of two sets of keys from the softmax over each.
at::Tensor merge(const Partial& a, const Partial& b) {
  const at::Tensor weight = at::sigmoid(a.lse - b.lse).unsqueeze(-1);
  return at::lerp(b.out, a.out, weight);
}

at::Tensor global_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale) {
  const std::int64_t own = q.size(2), prefix = k.size(1) - own;
  if (own == 1) return unmasked(q, k, v, scale).out;
  const Partial recent =
      flash(q, k.narrow(1, prefix, own), v.narrow(1, prefix, own), scale, true, {});
  if (prefix == 0) return recent.out;
  return merge(recent, unmasked(q, k.narrow(1, 0, prefix), v.narrow(1, 0, prefix), scale));
}

// (queries, keys): 0 where query i, which stands at key first + i, sees the key, else -infinity.
at::Tensor window_mask(std::int64_t queries, std::int64_t keys, std::int64_t first,
                       std::int64_t window) {
  at::Tensor mask = at::full({queries, keys}, -std::numeric_limits<float>::infinity(), at::kFloat);
  float* row = mask.data_ptr<float>();
  for (std::int64_t i = 0; i < queries; ++i, row += keys) {
    const std::int64_t last = first + i;
    std::fill(row + std::max<std::int64_t>(0, last - window + 1), row + last + 1, 0.0F);
  }
  return mask;
}

// Blocks of queries against the keys that any of them sees: the work is queries * (window + block).
at::Tensor windowed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              double scale, std::int64_t window) {
  const std::int64_t own = q.size(2), prefix = k.size(1) - own;
  const std::int64_t block = std::clamp<std::int64_t>(window / 4, 16, 256);
  at::Tensor out = at::empty(q.sizes(), q.options());
  for (std::int64_t begin = 0; begin < own; begin += block) {
    const std::int64_t queries = std::min(block, own - begin);
    const std::int64_t first_key = std::max<std::int64_t>(0, prefix + begin - window + 1);
    const std::int64_t keys = prefix + begin + queries - first_key;
    const at::Tensor q_block = q.narrow(2, begin, queries);
    const at::Tensor k_block = k.narrow(1, first_key, keys), v_block = v.narrow(1, first_key, keys);
    const at::Tensor mask = window_mask(queries, keys, prefix + begin - first_key, window);
    out.narrow(2, begin, queries).copy_(flash(q_block, k_block, v_block, scale, false, mask).out);
  }
  return out;
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::int64_t window) {
  const std::int64_t heads = q.size(0), kv_heads = k.size(0), queries = q.size(1);
  const at::Tensor grouped = q.reshape({kv_heads, heads / kv_heads, queries, q.size(2)});
  at::Tensor out;
  if (window <= 0 || k.size(1) <= window) {
    out = global_attention(grouped, k, v, scale);
  } else if (queries == 1) {
    const std::int64_t first = k.size(1) - window;
    out = unmasked(grouped, k.narrow(1, first, window), v.narrow(1, first, window), scale).out;
  } else {
    out = windowed_attention(grouped, k, v, scale, window);
  }
  return out.reshape(q.sizes());
}

}  // namespace lamina
