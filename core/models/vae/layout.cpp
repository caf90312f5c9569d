#include "core/models/vae/layout.h"

#include <array>
#include <charconv>
#include <string_view>

#include "core/base/format.h"

namespace lathe::models::vae {
namespace {

using Shape = std::vector<std::int64_t>;

class Lister {
 public:
  void weight_and_bias(const std::string& name, Shape weight) {
    const std::int64_t out = weight.front();
    keys.emplace_back(name + ".weight", std::move(weight));
    keys.emplace_back(name + ".bias", Shape{out});
  }
  void conv3(const std::string& name, std::int64_t in, std::int64_t out) { weight_and_bias(name, {out, in, 3, 3, 3}); }
  void norm(const std::string& name, std::int64_t width) { keys.emplace_back(name + ".gamma", Shape{width, 1, 1, 1}); }

  void residual(const std::string& name, std::int64_t in, std::int64_t out) {
    norm(name + ".norm1", in);
    conv3(name + ".conv1", in, out);
    norm(name + ".norm2", out);
    conv3(name + ".conv2", out, out);
    if (in != out) weight_and_bias(name + ".conv_shortcut", {out, in, 1, 1, 1});
  }
  void middle(const std::string& name, std::int64_t width) {
    const std::string attention = name + ".attentions.0";
    keys.emplace_back(attention + ".norm.gamma", Shape{width, 1, 1});
    weight_and_bias(attention + ".to_qkv", {3 * width, width, 1, 1});
    weight_and_bias(attention + ".proj", {width, width, 1, 1});
    residual(name + ".resnets.0", width, width);
    residual(name + ".resnets.1", width, width);
  }
  // `time_out`: 0 where the resampling has no temporal part.
  void resample(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t time_out) {
    weight_and_bias(name + ".resample.1", {out, in, 3, 3});
    if (time_out) weight_and_bias(name + ".time_conv", {time_out, in, 3, 1, 1});
  }

  std::vector<KeyShape> keys;
};

void list_encoder(Lister& list, std::int64_t base) {
  list.conv3("encoder.conv_in", 3, base);
  const std::array<std::int64_t, 4> widths = {base, 2 * base, 4 * base, 4 * base};
  int index = 0;
  const auto next = [&index] { return format("encoder.down_blocks.{}", index++); };
  std::int64_t in = base;
  for (std::size_t level = 0; level < widths.size(); ++level) {
    const std::int64_t out = widths[level];
    list.residual(next(), in, out);
    list.residual(next(), out, out);
    if (level < 3) list.resample(next(), out, out, level > 0 ? out : 0);
    in = out;
  }
  list.middle("encoder.mid_block", in);
  list.norm("encoder.norm_out", in);
  list.conv3("encoder.conv_out", in, 2 * kLatentChannels);
}

void list_decoder(Lister& list, std::int64_t base) {
  const std::array<std::int64_t, 4> widths = {4 * base, 4 * base, 2 * base, base};
  std::int64_t in = widths[0];
  list.conv3("decoder.conv_in", kLatentChannels, in);
  list.middle("decoder.mid_block", in);
  for (std::size_t level = 0; level < widths.size(); ++level) {
    const std::int64_t out = widths[level];
    for (int r = 0; r < 3; ++r) {
      list.residual(format("decoder.up_blocks.{}.resnets.{}", level, r), in, out);
      in = out;
    }
    if (level < 3) {
      list.resample(format("decoder.up_blocks.{}.upsamplers.0", level), out, out / 2, level < 2 ? 2 * out : 0);
      in = out / 2;
    }
  }
  list.norm("decoder.norm_out", base);
  list.conv3("decoder.conv_out", base, 3);
}

// Removes `prefix` from the front of `text` if it is there.
bool cut(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string inside_residual(std::string_view rest) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames = {{{"residual.0.", "norm1."},
                                                                                    {"residual.2.", "conv1."},
                                                                                    {"residual.3.", "norm2."},
                                                                                    {"residual.6.", "conv2."},
                                                                                    {"shortcut.", "conv_shortcut."}}};
  for (const auto& [wan, ours] : kNames) {
    if (cut(rest, wan)) return std::string(ours).append(rest);
  }
  return std::string(rest);
}

// "12.rest" → 12 and "rest"; −1 where no number stands there.
int cut_index(std::string_view& text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end == text.data() + text.size() || *end != '.') return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return index;
}

// Names below "encoder." and "decoder.".
std::string inside_coder(std::string_view rest, bool decoder) {
  if (cut(rest, "conv1.")) return std::string("conv_in.").append(rest);
  if (cut(rest, "head.0.")) return std::string("norm_out.").append(rest);
  if (cut(rest, "head.2.")) return std::string("conv_out.").append(rest);
  if (cut(rest, "middle.0.")) return "mid_block.resnets.0." + inside_residual(rest);
  if (cut(rest, "middle.1.")) return std::string("mid_block.attentions.0.").append(rest);
  if (cut(rest, "middle.2.")) return "mid_block.resnets.1." + inside_residual(rest);
  if (!decoder && cut(rest, "downsamples.")) {
    const int n = cut_index(rest);
    return format("down_blocks.{}.{}", n, inside_residual(rest));
  }
  if (decoder && cut(rest, "upsamples.")) {
    const int n = cut_index(rest);
    const std::string part = n % 4 == 3 ? "upsamplers.0" : format("resnets.{}", n % 4);
    return format("up_blocks.{}.{}.{}", n / 4, part, inside_residual(rest));
  }
  return std::string(rest);
}

}  // namespace

std::vector<KeyShape> layout(std::int64_t base) {
  Lister list;
  list_encoder(list, base);
  list.weight_and_bias("quant_conv", {2 * kLatentChannels, 2 * kLatentChannels, 1, 1, 1});
  list.weight_and_bias("post_quant_conv", {kLatentChannels, kLatentChannels, 1, 1, 1});
  list_decoder(list, base);
  return std::move(list.keys);
}

std::string qwen_image_key(const std::string& key) {
  std::string_view rest = key;
  if (cut(rest, "conv1.")) return std::string("quant_conv.").append(rest);
  if (cut(rest, "conv2.")) return std::string("post_quant_conv.").append(rest);
  if (cut(rest, "encoder.")) return "encoder." + inside_coder(rest, false);
  if (cut(rest, "decoder.")) return "decoder." + inside_coder(rest, true);
  return key;
}

}  // namespace lathe::models::vae
