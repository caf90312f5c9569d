#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/run/events.h"

namespace lathe::run {

// One event as one line of JSON without a line end: {"time":…, "type":"step_done", …}. Numbers that are not finite
// become the strings "nan", "inf", "-inf". Paths with '/'.
std::string to_json(const Event& event);
nlohmann::json to_json_value(const Event& event);

// The event of a line, or nothing where the line is cut off, is no event, or is of a type that this version lacks.
std::optional<Event> event_from_json(std::string_view line);
std::optional<Event> event_from_json_value(const nlohmann::json& value);

std::string_view name(Phase phase);
std::string_view name(CompileKind kind);
std::string_view name(EndStatus status);

}  // namespace lathe::run
