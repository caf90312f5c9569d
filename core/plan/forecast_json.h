#pragma once

#include <string>

#include "core/plan/forecast.h"

namespace lathe::plan {

// forecast.json of a run folder (UTF-8, indented by 2). `list_limit`: as many saves and dropped images are written; the
// counts beside them are whole.
std::string to_json(const Forecast& forecast, std::size_t list_limit = 1000);

}  // namespace lathe::plan
