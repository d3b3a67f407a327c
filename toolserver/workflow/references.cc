#include "toolserver/workflow/references.h"

#include <algorithm>
#include <utility>

#include "base/json/pointer.h"

namespace tool::workflow {
namespace {

namespace json = base::json;

constexpr std::size_t kPointerBytes = 1'024;
// A message may have 64; the arguments stand in an envelope and a payload.
constexpr std::size_t kDepth = 60;
constexpr std::string_view kFrom = "$from";
constexpr std::string_view kLiteral = "$literal";

std::string below(const std::string& place, std::string_view token) {
  std::string out = place;
  json::append_token(out, token);
  return out;
}

// The one member of an object that has a "$" word of ours; null when it has none.
Outcome<const json::Object::value_type*> marked(const json::Object& object,
                                                const std::string& place) {
  for (std::string_view word : {kFrom, kLiteral}) {
    auto found = object.find(word);
    if (found == object.end()) continue;
    if (object.size() != 1) {
      return refuse(Code::kShape, place + ": \"" + std::string(word) + "\" must stand alone");
    }
    return &*found;
  }
  return nullptr;
}

class Filler {
 public:
  Filler(const json::Value& document, std::size_t bytes, std::vector<std::string>& filled)
      : document_(document), left_(bytes), filled_(filled) {}

  Outcome<json::Value> fill(const json::Value& value, const std::string& place, std::size_t depth) {
    if (value.is_object()) return fill_object(value.get_object(), place, depth);
    if (!value.is_array()) return copy(value, depth);
    if (depth > kDepth) return too_deep();
    json::Array out;
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      auto one = fill(value.get_array()[i], below(place, std::to_string(i)), depth + 1);
      if (!one) return one;
      out.push_back(std::move(*one));
    }
    return json::Value(std::move(out));
  }

 private:
  static Fault too_deep() { return refuse(Code::kLimit, ": deeper than 60 levels"); }

  Outcome<json::Value> fill_object(const json::Object& object, const std::string& place,
                                   std::size_t depth) {
    if (depth > kDepth) return too_deep();
    auto mark = marked(object, place);
    if (!mark) return std::move(mark).error();
    if (*mark != nullptr && std::string_view((*mark)->key()) == kLiteral)
      return copy((*mark)->value(), depth);
    if (*mark != nullptr) {
      if (!(*mark)->value().is_string()) {
        return refuse(Code::kShape, place + ": \"$from\" must be a text");
      }
      std::string_view pointer((*mark)->value().get_string());
      const auto* found = json::find_at(document_, pointer);
      if (found == nullptr) {
        return refuse(Code::kShape, place + ": " + std::string(pointer) + " leads to nothing");
      }
      // What the caller gave it may see again; what a tool answered it may not.
      if (pointer.starts_with("/steps/")) filled_.push_back(place);
      return copy(*found, depth);
    }
    json::Object out;
    for (const auto& member : object) {
      auto one = fill(member.value(), below(place, std::string_view(member.key())), depth + 1);
      if (!one) return one;
      out[member.key()] = std::move(*one);
    }
    return json::Value(std::move(out));
  }

  Outcome<json::Value> copy(const json::Value& value, std::size_t depth) {
    if (depth + depth_of(value) > kDepth) return too_deep();
    std::size_t bytes = json::write(value).size();
    if (bytes > left_) return refuse(Code::kLimit, ": too large");
    left_ -= bytes;
    return value;
  }

  static std::size_t depth_of(const json::Value& value) {
    std::size_t most = 0;
    if (value.is_object()) {
      for (const auto& member : value.get_object()) most = std::max(most, depth_of(member.value()));
    } else if (value.is_array()) {
      for (const auto& one : value.get_array()) most = std::max(most, depth_of(one));
    } else {
      return 0;
    }
    return most + 1;
  }

  const json::Value& document_;
  std::size_t left_;
  std::vector<std::string>& filled_;
};

Outcome<void> each_hole_below(const json::Value& value, const std::string& place, const See& see) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      auto seen = each_hole_below(value.get_array()[i], below(place, std::to_string(i)), see);
      if (!seen) return seen;
    }
  }
  if (!value.is_object()) return {};
  auto mark = marked(value.get_object(), place);
  if (!mark) return std::move(mark).error();
  if (*mark == nullptr) {
    for (const auto& member : value.get_object()) {
      auto seen =
          each_hole_below(member.value(), below(place, std::string_view(member.key())), see);
      if (!seen) return seen;
    }
    return {};
  }
  if (std::string_view((*mark)->key()) == kLiteral) return {};
  if (!(*mark)->value().is_string()) {
    return refuse(Code::kShape, place + ": \"$from\" must be a text");
  }
  auto from = Reference::parse(std::string_view((*mark)->value().get_string()));
  if (!from) {
    from.error().message = place + ": " + from.error().message;
    return std::move(from).error();
  }
  return see(place, *from);
}

}  // namespace

Outcome<Reference> Reference::parse(std::string_view text) {
  Reference out;
  out.pointer = text;
  if (text.size() > kPointerBytes) return refuse(Code::kShape, "a pointer over 1,024 bytes");
  if (!text.starts_with('/')) {
    return refuse(Code::kShape, out.pointer + ": must begin with /input or /steps/<name>");
  }
  auto tokens = json::pointer_tokens(text);
  if (!tokens) return refuse(Code::kShape, out.pointer + ": \"~\" must be ~0 or ~1");
  if (tokens->front() == "input") {
    out.below.assign(tokens->begin() + 1, tokens->end());
    return out;
  }
  if (tokens->front() != "steps" || tokens->size() < 2 || (*tokens)[1].empty()) {
    return refuse(Code::kShape, out.pointer + ": must begin with /input or /steps/<name>");
  }
  out.step = std::move((*tokens)[1]);
  out.below.assign(tokens->begin() + 2, tokens->end());
  return out;
}

bool is_hole(const json::Value& value) {
  return value.is_object() && value.get_object().contains(kFrom);
}

Outcome<void> each_hole(const json::Value& value, const See& see) {
  return each_hole_below(value, "", see);
}

Outcome<json::Value> fill(const json::Value& value, const json::Value& document, std::size_t bytes,
                          std::vector<std::string>& filled) {
  return Filler(document, bytes, filled).fill(value, "", 0);
}

}  // namespace tool::workflow
