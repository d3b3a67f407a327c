#include "base/http/message.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/core/text.h"

namespace base::http {
namespace {

constexpr std::array<std::pair<std::string_view, Method>, 5> kMethods{{
    {"GET", Method::kGet},
    {"HEAD", Method::kHead},
    {"POST", Method::kPost},
    {"PUT", Method::kPut},
    {"DELETE", Method::kDelete},
}};

// Not std::tolower: what a header is called must not depend on a locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string_view to_string(Method method) {
  for (const auto& [text, value] : kMethods) {
    if (value == method) return text;
  }
  return "OTHER";
}

Method parse_method(std::string_view text) {
  for (const auto& [name, value] : kMethods) {
    if (name == text) return value;
  }
  return Method::kOther;
}

bool Headers::Field::is(std::string_view field_name) const { return same_name(name, field_name); }

void Headers::set(std::string_view name, std::string value) {
  std::string kept(name);  // `name` may be a view of a field that goes.
  std::erase_if(fields_, [&](const Field& field) { return field.is(kept); });
  fields_.push_back({std::move(kept), std::move(value)});
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.is(name)) return field.value;
  }
  return std::nullopt;
}

void Body::append(Buffer next) {
  if (next == nullptr) return;
  if (first_ == nullptr) {
    first_ = std::move(next);
  } else {
    more_.push_back(std::move(next));
  }
}

std::string_view Body::view() const {
  if (!more_.empty()) std::abort();
  return first_ ? *first_ : std::string_view();
}

std::string Body::text() const {
  std::string all;
  all.reserve(size());
  append_to(all);
  return all;
}

std::size_t Body::size() const {
  std::size_t size = first_ ? first_->size() : 0;
  for (const Buffer& buffer : more_) size += buffer->size();
  return size;
}

void Body::append_to(std::string& out) const {
  if (first_) out.append(*first_);
  for (const Buffer& buffer : more_) out.append(*buffer);
}

std::vector<std::string_view> Body::buffers() const {
  std::vector<std::string_view> all;
  all.reserve(1 + more_.size());
  if (first_) all.emplace_back(*first_);
  for (const Buffer& buffer : more_) all.emplace_back(*buffer);
  return all;
}

std::optional<std::string> decode_form(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decode(spaced);
}

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::optional<std::string> Request::query(std::string_view name) const {
  std::string_view rest = target;
  std::size_t mark = rest.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(mark + 1);
  while (!rest.empty()) {
    std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    std::size_t equals = pair.find('=');
    std::optional<std::string> key = decode_form(pair.substr(0, equals));
    if (!key || *key != name) continue;
    return equals == std::string_view::npos ? std::string() : decode_form(pair.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace base::http
