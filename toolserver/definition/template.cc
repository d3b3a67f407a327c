#include "toolserver/definition/template.h"

#include <algorithm>

#include "base/core/text.h"

namespace tool::definition {
namespace {

using base::ErrorKind;
using base::fail;
using Part = Template::Part;

constexpr std::size_t kMaxTemplate = 4'096;
constexpr std::size_t kMaxParts = 32;
constexpr std::size_t kMaxName = 64;
constexpr std::string_view kSecret = "secret.";
// A shorter one stands in any text by chance, and settings refuse it anyway.
constexpr std::size_t kShortestSecret = 4;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

base::Error broken(std::string rule) { return fail(ErrorKind::kInvalid, std::move(rule)); }

// The place that `text` begins with, braces included.
base::Result<Part> place(std::string_view text, std::size_t& length) {
  std::size_t end = text.find('}');
  if (end == std::string_view::npos) return broken("a '{' has no '}'; a brace itself is '{{'");
  length = end + 1;
  std::string_view name = text.substr(1, end - 1);
  Part part{Part::Kind::kArgument, {}};
  if (name.starts_with(kSecret)) {
    part.kind = Part::Kind::kSecret;
    name.remove_prefix(kSecret.size());
  }
  if (!is_place_name(name)) {
    return broken("a place is {argument} or {secret.name}; a brace itself is '{{'");
  }
  part.text = name;
  return part;
}

const base::json::Value* argument(const base::json::Object& args, const std::string& name) {
  const auto* value = args.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string replace_all(std::string text, std::string_view what) {
  constexpr std::string_view kStars = "***";
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += kStars.size()) {
    text.replace(at, what.size(), kStars);
  }
  return text;
}

}  // namespace

bool is_place_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName || !(is_letter(text[0]) || text[0] == '_')) {
    return false;
  }
  return std::ranges::all_of(
      text, [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

base::Result<std::string> scalar_text(const base::json::Value& value) {
  if (value.is_string()) {
    std::string text(value.get_string());
    if (text.contains('\0')) return broken("must not hold a NUL character");
    return text;
  }
  if (value.is_number() || value.is_bool()) return base::json::write(value);
  return broken("must be a text, a number or a boolean");
}

base::Result<Template> Template::parse(std::string_view text) {
  if (text.size() > kMaxTemplate) return fail(ErrorKind::kTooLarge, "must have at most 4 KiB");
  Template out;
  std::string literal;
  auto end_literal = [&] {
    if (!literal.empty()) out.parts_.push_back({Part::Kind::kText, std::move(literal)});
    literal.clear();
  };
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.starts_with("{{") || text.starts_with("}}")) {
      literal += text[0];
      length = 2;
    } else if (text[0] == '{') {
      ASSIGN_OR_RETURN(auto part, place(text, length));
      end_literal();
      out.parts_.push_back(std::move(part));
    } else if (text[0] == '}') {
      return broken("a '}' has no '{'; a brace itself is '}}'");
    } else {
      literal += text[0];
    }
    text.remove_prefix(length);
  }
  end_literal();
  if (out.parts_.size() > kMaxParts) return fail(ErrorKind::kTooLarge, "has more than 32 parts");
  return out;
}

bool Template::holds(Part::Kind kind) const {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part.kind == kind; });
}

std::optional<std::string_view> Template::literal() const {
  if (parts_.empty()) return "";
  if (parts_.size() > 1 || parts_[0].kind != Part::Kind::kText) return std::nullopt;
  return parts_[0].text;
}

base::Result<std::optional<std::string>> Template::render(const base::json::Object& args,
                                                          const std::vector<NamedSecret>& secrets,
                                                          Encoding encoding) const {
  std::string out;
  for (const Part& part : parts_) {
    if (part.kind == Part::Kind::kText) {
      out += part.text;
    } else if (part.kind == Part::Kind::kSecret) {
      auto found = std::ranges::find(secrets, part.text, &NamedSecret::name);
      if (found == secrets.end()) return fail(ErrorKind::kInternal, "a secret is missing");
      out += found->value.reveal();
    } else {
      const auto* value = argument(args, part.text);
      if (value == nullptr) return std::optional<std::string>();
      auto text = scalar_text(*value);
      if (!text) return std::move(text).error().with_context("args." + part.text);
      out += encoding == Encoding::kUrl ? base::percent_encode(*text, base::Slash::kEncode) : *text;
    }
  }
  return std::optional(std::move(out));
}

std::string without_secrets(std::string text, const std::vector<NamedSecret>& secrets) {
  for (const auto& secret : secrets) {
    if (secret.value.reveal().size() < kShortestSecret) continue;
    text = replace_all(std::move(text), secret.value.reveal());
  }
  return text;
}

base::json::Value without_secrets(const base::json::Value& value,
                                  const std::vector<NamedSecret>& secrets) {
  if (value.is_string()) {
    return boost::json::string(without_secrets(std::string(value.get_string()), secrets));
  }
  if (value.is_array()) {
    base::json::Array out;
    for (const auto& item : value.get_array()) out.push_back(without_secrets(item, secrets));
    return out;
  }
  if (!value.is_object()) return value;
  base::json::Object out;
  for (const auto& member : value.get_object()) {
    out[without_secrets(std::string(member.key()), secrets)] =
        without_secrets(member.value(), secrets);
  }
  return out;
}

}  // namespace tool::definition
