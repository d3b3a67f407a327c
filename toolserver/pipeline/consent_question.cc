#include "toolserver/pipeline/consent_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/json/canonical.h"

namespace tool::pipeline {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted. Source: Unicode 16.0, categories Cc, Cf, Zl, Zp, Zs but for U+0020,
// Default_Ignorable_Code_Point, and fillers that print nothing.
constexpr auto kHidden = std::to_array<Range>({
    {0x0000, 0x001F},    {0x007F, 0x00A0},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
    {0x0600, 0x0605},    {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},
    {0x0890, 0x0891},    {0x08E2, 0x08E2},   {0x115F, 0x1160},   {0x1680, 0x1680},
    {0x17B4, 0x17B5},    {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},
    {0x205F, 0x206F},    {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
    {0xE000, 0xF8FF},    {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},    {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD},
    {0x110CD, 0x110CD},  {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0x10FFFF},
});

bool is_hidden(char32_t c) {
  const auto* range = std::ranges::upper_bound(kHidden, c, {}, &Range::first);
  return range != kHidden.begin() && c <= std::prev(range)->last;
}

// The character at `at` of valid UTF-8, and its bytes.
std::pair<char32_t, std::size_t> character_at(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) -> char32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0x80U;
  };
  char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) {
    return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  }
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

// As JSON writes it, so that a preview without a cut is JSON.
std::string escaped(char32_t c) {
  if (c < 0x10000) return fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  unsigned rest = static_cast<unsigned>(c) - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

// 1800 -> "1,800"
std::string grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// A foreign server's hints are its own claims: they never lower the risk.
std::string_view risk_of(const Capability& capability) {
  const Annotations& hints = capability.annotations;
  if (capability.origin != OriginKind::kLocal) return "high";
  if (hints.read_only) return "low";
  return hints.destructive ? "high" : "medium";
}

// Members in canonical order; the shape stage has made sure that there is one.
base::json::Object in_order(const base::json::Object& args, std::size_t& bytes) {
  auto text = base::json::canonical(args);
  std::string written = text ? *std::move(text) : base::json::write(base::json::Value(args));
  bytes = written.size();
  auto parsed = base::json::parse(written);
  return parsed && parsed->is_object() ? std::move(parsed->get_object()) : args;
}

struct Shown {
  std::string text;
  std::size_t left_out = 0;  // Bytes of what is shown no more.
};

Shown show(std::string_view text, std::size_t most) {
  Shown shown;
  for (std::size_t at = 0; at < text.size();) {
    auto [c, size] = character_at(text, at);
    std::string one = is_hidden(c) ? escaped(c) : std::string(text.substr(at, size));
    if (shown.text.size() + one.size() > most) {
      shown.left_out = text.size() - at;
      shown.text += fmt::format("...(+{} bytes)", grouped(shown.left_out));
      break;
    }
    shown.text += one;
    at += size;
  }
  return shown;
}

}  // namespace

std::string shown_text(std::string_view text, std::size_t most) { return show(text, most).text; }

Outcome<ConsentQuestion> question_of(const Invocation& call, const Capability& capability,
                                     base::WallTime expires) {
  ConsentQuestion question;
  question.request_id = call.request_id;
  question.session_id = call.session_id;
  question.principal = call.principal->subject;
  question.tool = call.tool.text();
  question.summary = fmt::format(
      "{} asks to run {}{}{}", shown_text(call.principal->subject, kShownBytes), call.tool.text(),
      capability.title.empty() ? "" : ": ", shown_text(capability.title, kShownBytes));
  question.args_preview = "{";
  for (const auto& [key, value] : in_order(call.args, question.bytes)) {
    Shown name = show(base::json::write(base::json::Value(key)), kShownBytes);
    Shown text = show(base::json::write(value), kShownBytes);
    if (name.left_out + text.left_out > 0) question.truncated = true;
    if (question.args_preview.size() > 1) question.args_preview += ',';
    question.args_preview += name.text + ':' + text.text;
    if (question.args_preview.size() > kPreviewBytes) {
      return refuse(Code::kLimit, "more arguments than a person can be shown");
    }
  }
  question.args_preview += '}';
  question.args_hash = call.args_hash;
  question.risk = risk_of(capability);
  question.session_scope = capability.session_consent;
  question.expires = expires;
  return question;
}

}  // namespace tool::pipeline
