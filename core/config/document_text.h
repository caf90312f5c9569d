#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "core/config/diagnostic.h"

// What the readers of TOML and JSON share.
namespace lathe::config {

void add_at(Findings& findings, const std::filesystem::path& file, int line, int column, Message text);

// From 1.
int line_of(std::string_view text, std::size_t offset);

// false, and a finding: the text is not UTF-8.
bool is_utf8(std::string_view text, const std::filesystem::path& name, Findings& findings);

}  // namespace lathe::config
