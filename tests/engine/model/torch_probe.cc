// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/model/torch_probe.h"

#include "engine/model/attention.h"
#include "engine/model/full_cache.h"
#include "engine/model/rope.h"
#include "engine/model/torch_scope.h"
#include "engine/model/transformer.h"
#include "engine/run/forward_pass.h"
#include "engine/run/logits.h"

namespace lamina::test {
namespace {

at::Tensor tensor(const std::vector<float>& values, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  std::copy(values.begin(), values.end(), out.data_ptr<float>());
  return out;
}

std::vector<float> floats(const at::Tensor& t) {
  const at::Tensor dense = t.contiguous();
  return {dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel()};
}

// The same values in the middle of a buffer of NaNs: reading beyond the view shows.
at::Tensor inside_buffer(const at::Tensor& t) {
  const std::int64_t tokens = t.size(1);
  at::Tensor buffer = at::full({t.size(0), tokens + 7, t.size(2)}, NAN, at::kFloat);
  buffer.narrow(1, 3, tokens).copy_(t);
  return buffer.narrow(1, 3, tokens);
}

}  // namespace

std::vector<float> attention(const AttentionCase& c, const std::vector<float>& q,
                             const std::vector<float>& k, const std::vector<float>& v,
                             bool strided) {
  at::Tensor keys = tensor(k, {c.kv_heads, c.tokens, c.head_dim});
  at::Tensor values = tensor(v, {c.kv_heads, c.tokens, c.head_dim});
  if (strided) {
    keys = inside_buffer(keys);
    values = inside_buffer(values);
  }
  return floats(causal_attention(tensor(q, {c.heads, c.queries, c.head_dim}), keys, values, c.scale,
                                 c.window));
}

std::vector<float> rotate(const RopeConfig& rope, const std::vector<float>& x,
                          std::int64_t position) {
  const auto head_dim = static_cast<std::int64_t>(x.size());
  const RopeTable table = rope_table(rope_frequencies(rope, static_cast<int>(head_dim)),
                                     rope.rotary_dim, rope_magnitude(rope), position, 1);
  return floats(apply_rope(tensor(x, {1, 1, head_dim}), table));
}

std::vector<double> frequencies(const RopeConfig& rope, int head_dim) {
  return rope_frequencies(rope, head_dim);
}

double magnitude(const RopeConfig& rope) { return rope_magnitude(rope); }

Result<PiecesResult> logits_in_pieces(const Model& model, const std::vector<std::int32_t>& ids,
                                      const std::vector<std::int64_t>& pieces) {
  return guarded("pieces", [&]() -> Result<PiecesResult> {
    PiecesResult result;
    JobContext context;
    context.threads = 1;
    FullCache cache(&model.transformer(), 1);
    std::int64_t position = 0;
    for (const std::int64_t piece : pieces) {
      const std::vector<std::int32_t> part(ids.begin() + position, ids.begin() + position + piece);
      LAMINA_ASSIGN_OR_RETURN(
          const at::Tensor hidden,
          run_tokens(model.transformer(), part, position, cache, PassKind::kPrompt, context));
      position += piece;
      LAMINA_ASSIGN_OR_RETURN(std::vector<float> logits,
                              last_logits(model.transformer(), hidden, position - 1));
      result.logits.push_back(std::move(logits));
    }
    for (int l = 0; l < model.config().layers; ++l) {
      result.layer_tokens.push_back(cache.use(l).tokens);
    }
    return result;
  });
}

}  // namespace lamina::test
