#include "core/text/nfc.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/text/code_points.h"
#include "core/text/utf8.h"

namespace lathe::text {

namespace {

// What Unicode 10 to 16 brought with a combining class or a composition; whole blocks where they were new.
constexpr CodePointRange kAfterUnicode9[] = {
    {0x7FD, 0x7FD},     {0x897, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xCF3, 0xCF3},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x105C0, 0x105FF}, {0x10D24, 0x10D27},
    {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10EFC, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85},
    {0x11070, 0x11070}, {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x11380, 0x113FF}, {0x1145E, 0x1145E},
    {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938}, {0x1193D, 0x1193E},
    {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99},
    {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F00, 0x11F5F}, {0x13440, 0x13440},
    {0x13447, 0x13455}, {0x16100, 0x1613F}, {0x16D40, 0x16D7F}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}};

// A vowel that utf8proc (seen in 2.8) takes for the empty trailing consonant and drops after a Hangul syllable.
constexpr char32_t kLostByUtf8proc = 0x11A7;

void append_composed(std::string_view text, std::string& result) {
  if (text.empty()) return;
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) throw Error(ErrorKind::internal, format("normalising a text failed: {}", utf8proc_errmsg(size)));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  result.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size));
}

}  // namespace

// Nothing is reordered or composed across a character of class 0 that composes with nothing, so the text may be cut at
// these and its parts composed alone.
std::string nfc(std::string_view utf8) {
  const bool ascii = std::ranges::all_of(utf8, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(utf8);
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const CodePoint c = decode(utf8, at);
    if (lies_in(kAfterUnicode9, c.value) || c.value == kLostByUtf8proc) {
      append_composed(utf8.substr(begin, at - begin), result);
      result += utf8.substr(at, c.size);
      begin = at + c.size;
    }
    at += c.size;
  }
  append_composed(utf8.substr(begin), result);
  return result;
}

}  // namespace lathe::text
