#include "core/models/qwen3/qwen3.h"

#include <algorithm>
#include <set>

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/models/common/state_dict.h"
#include "core/models/qwen3/layer.h"
#include "core/models/qwen3/sizes.h"

namespace lathe::models {
namespace {

namespace fs = std::filesystem;

// Tokens of each row. The mask must hold its ones first: positions are counted from the first column, and padding on
// the left would shift them.
std::vector<std::int64_t> token_counts(const at::Tensor& mask) {
  const at::Tensor tokens = mask.ne(0);
  const at::Tensor counts = tokens.sum(1).to(at::kCPU, at::kLong).contiguous();
  const at::Tensor expected = at::arange(mask.size(1), tokens.options().dtype(at::kLong)).unsqueeze(0);
  if (!tokens.equal(expected.lt(counts.to(mask.device()).unsqueeze(1)))) {
    throw Error(ErrorKind::internal, "the text encoder wants padding on the right");
  }
  const auto* data = counts.const_data_ptr<std::int64_t>();
  return {data, data + counts.numel()};
}

class Body : public Qwen3 {
 public:
  explicit Body(const Qwen3Sizes& sizes) : sizes_(sizes), norm_{{}, sizes.rms_eps} {
    outer_.add("embed_tokens.weight", embedding_, {sizes.vocabulary, sizes.hidden});
    final_.add("norm.weight", norm_.weight, {sizes.hidden});
    for (std::int64_t i = 0; i < sizes.layers; ++i) layers_.push_back(std::make_unique<qwen3::Layer>(sizes));
  }

  void load(StateDict& weights, at::ScalarType dtype, at::Device device) {
    each_table(
        [&](const std::string& prefix, const WeightTable& table) { table.load(weights, prefix, dtype, device); });
    ignore_the_rest(weights);
    weights.finish("the text encoder");
  }

  std::vector<qwen3::KeyShape> layout() const {
    std::vector<qwen3::KeyShape> keys;
    each_table([&](const std::string& prefix, const WeightTable& table) { table.append_shapes(prefix, keys); });
    return keys;
  }

  at::Tensor forward(const at::Tensor& ids, const at::Tensor& mask) const override {
    const std::vector<std::int64_t> counts = token_counts(mask);
    std::vector<std::int64_t> used;  // rows that hold a token
    for (std::size_t row = 0; row < counts.size(); ++row) {
      if (counts[row] > 0) used.push_back(static_cast<std::int64_t>(row));
    }
    const auto options = embedding_.options();
    at::Tensor out = at::zeros({ids.size(0), ids.size(1), sizes_.hidden}, options);
    if (used.empty()) return out;

    // Attention is causal and padding stands on the right, so what is cut off or computed beyond a row's tokens
    // changes nothing before it.
    const std::int64_t longest = *std::ranges::max_element(counts);
    const at::Tensor rows = at::from_blob(used.data(), {static_cast<std::int64_t>(used.size())}, at::kLong)
                                .to(options.device(), at::kLong, false, true);
    at::Tensor x = run(ids.to(options.device()).index_select(0, rows).narrow(1, 0, longest));
    const at::Tensor real = mask.to(options.device()).index_select(0, rows).narrow(1, 0, longest).ne(0).unsqueeze(-1);
    x = x.masked_fill(real.logical_not(), 0);
    const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 0, ids.size(1) - longest});
    return out.index_copy(0, rows, padded);
  }

  const Qwen3Sizes& sizes() const override { return sizes_; }

  std::vector<NamedLinear> linears() override {
    std::vector<NamedLinear> all;
    for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i]->append_linears(format("layers.{}.", i), all);
    return all;
  }

  std::vector<std::pair<std::string, at::Tensor>> state() const override {
    NamedTensors all;
    each_table([&](const std::string& prefix, const WeightTable& table) { table.append_state(prefix, all); });
    return all;
  }

 private:
  // In state-dict order.
  template <class F>
  void each_table(F&& visit) const {
    visit("", outer_);
    for (std::size_t i = 0; i < layers_.size(); ++i) visit(format("layers.{}.", i), layers_[i]->weights());
    visit("", final_);
  }

  // The reference ignores keys that the body has no place for; all but the output head are worth a line in the log.
  void ignore_the_rest(StateDict& weights) const {
    std::set<std::string> known;
    for (const auto& [key, shape] : layout()) known.insert(key);
    for (const std::string& key : weights.keys()) {
      if (known.contains(key)) continue;
      if (key != "lm_head.weight") log::warning("the text encoder does not use the weight {}", key);
      weights.ignore(key);
    }
  }

  at::Tensor run(const at::Tensor& ids) const {
    at::Tensor x = at::embedding(embedding_, ids);
    const qwen3::Rotary rotary = qwen3::make_rotary(ids.size(1), sizes_, x.scalar_type(), x.device());
    for (const auto& layer : layers_) x = layer->forward(x, rotary);
    return norm_(x);
  }

  Qwen3Sizes sizes_;
  at::Tensor embedding_;
  std::vector<std::unique_ptr<qwen3::Layer>> layers_;
  qwen3::RmsNorm norm_;
  WeightTable outer_, final_;
};

// A key of a file without a leading "model.".
std::string body_key(const std::string& key) {
  return key.starts_with("model.") ? key.substr(6) : key;
}

}  // namespace

std::unique_ptr<Qwen3> Qwen3::load(const fs::path& path, at::ScalarType dtype, at::Device device) {
  try {
    StateDict weights = StateDict::load(qwen3::weight_file(path), body_key);
    Qwen3Sizes sizes = qwen3::sizes_of(weights);
    if (fs::exists(path / "config.json")) qwen3::read_config(path / "config.json", sizes);
    return make_qwen3(weights, sizes, dtype, device);
  } catch (Error& error) {
    error.while_doing(format("loading the text encoder {}", path));
    throw;
  }
}

std::unique_ptr<Qwen3> make_qwen3(StateDict& weights, const Qwen3Sizes& sizes, at::ScalarType dtype,
                                  at::Device device) {
  auto body = std::make_unique<Body>(sizes);
  body->load(weights, dtype, device);
  return body;
}

std::vector<qwen3::KeyShape> qwen3::layout(const Qwen3Sizes& sizes) {
  return Body(sizes).layout();
}

}  // namespace lathe::models
