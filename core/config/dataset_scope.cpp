#include <variant>

#include "core/config/dataset_keys.h"
#include "core/config/dataset_reader.h"

namespace lathe::config {

Value value_of(const Node& node, KeyType type) {
  const bool number = type == KeyType::integer || type == KeyType::number;
  switch (node.kind) {
    case Node::Kind::boolean:
      if (number) return std::int64_t{node.boolean ? 1 : 0};
      return node.boolean;
    case Node::Kind::integer:
      return node.integer;
    case Node::Kind::real:
      return node.real;
    case Node::Kind::text:
      return node.text;
    default:
      return {};
  }
}

namespace {

bool is_compound(KeyType type) {
  return type == KeyType::size || type == KeyType::range || type == KeyType::table;
}

}  // namespace

const Member* Scope::member(std::string_view key) const {
  for (const Node* table : tables_) {
    if (const Member* found = table->find(key)) return found;
  }
  return nullptr;
}

Value Scope::value(std::string_view key) const {
  const DatasetKey* row = find_dataset_key(key);
  if (row == nullptr || is_compound(row->type)) return {};
  if (const Member* found = member(key)) return value_of(found->value, row->type);
  return row->option.empty() ? Value() : settings_.value(row->option);
}

void Scope::read(std::string_view key, bool& to) const {
  const Value held = value(key);
  if (const auto* flag = std::get_if<bool>(&held)) to = *flag;
}

void Scope::read(std::string_view key, std::int64_t& to) const {
  const Value held = value(key);
  if (const auto* whole = std::get_if<std::int64_t>(&held)) to = *whole;
}

void Scope::read(std::string_view key, double& to) const {
  const Value held = value(key);
  if (const auto* whole = std::get_if<std::int64_t>(&held)) to = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&held)) to = *real;
}

void Scope::read(std::string_view key, std::string& to) const {
  const Value held = value(key);
  if (const auto* text = std::get_if<std::string>(&held)) to = *text;
}

void Scope::read(std::string_view key, std::optional<std::int64_t>& to) const {
  const Value held = value(key);
  if (const auto* whole = std::get_if<std::int64_t>(&held)) to = *whole;
}

void Scope::read(std::string_view key, std::optional<std::string>& to) const {
  const Value held = value(key);
  if (const auto* text = std::get_if<std::string>(&held)) to = *text;
}

Finding Scope::finding(Severity severity, std::string_view key, Message text) const {
  const DatasetKey* row = find_dataset_key(key);
  Finding made{.severity = severity, .message = std::move(text)};
  const Member* found = member(key);
  if (found == nullptr && row != nullptr && !row->option.empty()) {
    made.fields = {std::string(row->option)};
  } else {
    made.fields = {std::string(key)};
  }
  if (file_.empty()) return made;
  if (found != nullptr || !tables_.empty()) {
    made.file = file_;
    made.line = found != nullptr ? found->line : tables_.front()->line;
    made.column = found != nullptr ? found->column : tables_.front()->column;
  }
  return made;
}

}  // namespace lathe::config
