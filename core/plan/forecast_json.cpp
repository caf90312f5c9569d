#include "core/plan/forecast_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/paths.h"

namespace lathe::plan {

using nlohmann::ordered_json;

namespace {

ordered_json data_json(const Forecast& forecast, std::size_t limit) {
  ordered_json dropped = ordered_json::array();
  for (std::size_t i = 0; i < std::min(limit, forecast.dropped.size()); ++i) {
    dropped.push_back({{"path", to_utf8(forecast.dropped[i].path)}, {"reason", forecast.dropped[i].reason.english()}});
  }
  ordered_json buckets = ordered_json::array();
  for (const BucketForecast& bucket : forecast.buckets) {
    buckets.push_back({{"dataset", bucket.dataset},
                       {"width", bucket.size.width},
                       {"height", bucket.size.height},
                       {"images", bucket.images},
                       {"items", bucket.items},
                       {"batches", bucket.batches}});
  }
  return {{"images", forecast.images},
          {"items", forecast.items},
          {"regularisation_images", forecast.regularisation_images},
          {"regularisation_items", forecast.regularisation_items},
          {"validation_images", forecast.validation_images},
          {"dropped_count", forecast.dropped.size()},
          {"dropped", dropped},
          {"coverage", forecast.coverage},
          {"buckets", buckets}};
}

ordered_json length_json(const Forecast& forecast, std::size_t limit) {
  ordered_json saves = ordered_json::array();
  for (std::size_t i = 0; i < std::min(limit, forecast.saves.size()); ++i) {
    const Save& save = forecast.saves[i];
    saves.push_back({{"step", save.step}, {"epoch", save.epoch}, {"adapter", save.adapter}});
    if (!save.state.empty()) saves.back()["state"] = save.state;
    if (!save.outdated_adapter.empty()) saves.back()["removes_adapter"] = save.outdated_adapter;
    if (!save.outdated_state.empty()) saves.back()["removes_state"] = save.outdated_state;
  }
  const RunLength& length = forecast.length;
  return {{"batches_per_epoch", length.batches_per_epoch},
          {"gradient_accumulation_steps", length.accumulation},
          {"steps_per_epoch", length.steps_per_epoch},
          {"epochs", length.epochs},
          {"steps", length.steps},
          {"by_epochs", length.by_epochs},
          {"saves_count", forecast.saves.size()},
          {"saves", saves},
          {"sample_times", forecast.sample_times}};
}

ordered_json cache_json(const CacheForecast& cache) {
  return {{"wanted", cache.wanted},
          {"on_disk", cache.on_disk},
          {"entries", cache.entries},
          {"to_make", cache.to_make},
          {"bytes_to_make", cache.bytes_to_make}};
}

ordered_json resources_json(const Forecast& forecast) {
  ordered_json disk = ordered_json::array(), memory = ordered_json::array();
  for (const DiskForecast& need : forecast.disk) {
    disk.push_back({{"folder", to_utf8(need.folder)}, {"bytes", need.bytes}, {"free", need.free}});
  }
  for (const MemoryPart& part : forecast.memory) {
    memory.push_back({{"name", part.name.english()}, {"bytes", part.bytes}, {"formula", part.formula.english()}});
  }
  return {{"latent_cache", cache_json(forecast.latents)},
          {"text_cache", cache_json(forecast.texts)},
          {"adapter_modules", forecast.adapter.modules},
          {"adapter_parameters", forecast.adapter.parameters},
          {"adapter_bytes", forecast.adapter.file_bytes},
          {"output_bytes", forecast.output_bytes},
          {"disk", disk},
          {"memory", memory},
          {"memory_bytes", forecast.memory_bytes}};
}

}  // namespace

std::string to_json(const Forecast& forecast, std::size_t list_limit) {
  ordered_json shapes = ordered_json::array();
  for (const ShapeForecast& shape : forecast.shapes) {
    shapes.push_back(
        {{"batch", shape.batch}, {"height", shape.height}, {"width", shape.width}, {"batches", shape.batches}});
  }
  const ordered_json all = {{"data", data_json(forecast, list_limit)},
                            {"length", length_json(forecast, list_limit)},
                            {"shapes", shapes},
                            {"compiles", forecast.compiles},
                            {"compile_limit", forecast.compile_limit},
                            {"resources", resources_json(forecast)}};
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace lathe::plan
