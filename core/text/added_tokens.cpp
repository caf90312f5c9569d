#include "core/text/added_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lathe::text {

void AddedTokens::add(std::string content, std::int32_t id) {
  if (content.empty() || id_of(content)) return;
  starts_[static_cast<unsigned char>(content.front())] = true;
  const auto place =
      std::ranges::find_if(tokens_, [&](const Token& token) { return token.content.size() < content.size(); });
  tokens_.insert(place, {std::move(content), id});
}

std::optional<std::int32_t> AddedTokens::id_of(std::string_view content) const {
  const auto found = std::ranges::find(tokens_, content, &Token::content);
  return found != tokens_.end() ? std::optional(found->id) : std::nullopt;
}

const AddedTokens::Token* AddedTokens::match(std::string_view rest) const {
  if (!starts_[static_cast<unsigned char>(rest.front())]) return nullptr;
  const auto found = std::ranges::find_if(tokens_, [&](const Token& t) { return rest.starts_with(t.content); });
  return found != tokens_.end() ? &*found : nullptr;
}

void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(std::int32_t)>& on_id) const {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Token* token = match(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    if (at > begin) on_text(text.substr(begin, at - begin));
    on_id(token->id);
    at += token->content.size();
    begin = at;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

}  // namespace lathe::text
