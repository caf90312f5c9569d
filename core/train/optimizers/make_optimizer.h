#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/config/python_literal.h"
#include "core/train/not_yet.h"
#include "core/train/optimizers/optimizer.h"

namespace lathe::train {

// `type` as in optimizer_type (any case; empty: AdamW), `arguments` those of optimizer_args. Error(settings) for an
// argument that the optimizer does not know or that has the wrong kind of value.
OrNotYet<std::unique_ptr<Optimizer>> make_optimizer(std::string_view type,
                                                    const std::vector<config::KeyValue>& arguments,
                                                    std::vector<ParameterGroup> groups);

}  // namespace lathe::train
