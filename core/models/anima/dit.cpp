#include "core/models/anima/dit.h"

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/anima/dit_model.h"
#include "core/models/anima/dit_sizes.h"

namespace lathe::models::anima {

namespace {
// The reference's own writer puts net. before every key; other programs use the other two.
std::string without_prefix(const std::string& key) {
  for (const std::string prefix : {"net.", "model.diffusion_model.", "diffusion_model."}) {
    if (key.rfind(prefix, 0) == 0) return key.substr(prefix.size());
  }
  return key;
}
}  // namespace

std::unique_ptr<Dit> Dit::build(StateDict& weights, const DitOptions& options) {
  auto model = std::make_unique<DitModel>(read_sizes(weights), options);
  model->load(weights);
  weights.finish("these weights are not those of an Anima transformer");
  return model;
}

std::unique_ptr<Dit> Dit::load(const std::filesystem::path& path, const DitOptions& options) {
  try {
    StateDict weights = StateDict::load(path, without_prefix);
    return build(weights, options);
  } catch (Error& error) {
    error.while_doing(format("loading the transformer {}", path));
    throw;
  }
}

}  // namespace lathe::models::anima
