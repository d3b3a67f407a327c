#include "lakeproxy/derive/inlined/nested_text.h"

namespace lake::exporter {
namespace {

using model::Type;
using model::TypeKind;

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  [[nodiscard]] bool at_end() const { return left_.empty(); }
  [[nodiscard]] bool sees(std::string_view word) const { return left_.starts_with(word); }
  bool take(std::string_view word) {
    if (!sees(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  // An SQL string after its first quote, up to and with its last.
  std::optional<std::string> quoted() {
    std::string out;
    while (!left_.empty()) {
      char c = left_.front();
      left_.remove_prefix(1);
      if (c == '\'' && !take("'")) return out;
      out += c;
    }
    return std::nullopt;
  }

  // Up to the comma or bracket that ends a number or truth value.
  std::string_view plain() { return cut(left_.find_first_of(",}")); }

  // "DOUBLE PRECISION", "VARCHAR".
  void type_name() {
    cut(left_.find_first_not_of(" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"));
  }

  // A list or a map in the engine's form: to its closing bracket, past quotes.
  std::optional<std::string_view> bracketed() {
    int depth = 0;
    char quote = 0;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      char c = left_[i];
      if (quote != 0 && c == '\\') {
        ++i;
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if ((c == ']' || c == '}') && --depth == 0) {
        return cut(i + 1);
      }
    }
    return std::nullopt;
  }

 private:
  std::string_view cut(std::size_t size) {
    std::string_view head = left_.substr(0, size);
    left_.remove_prefix(head.size());
    return head;
  }

  std::string_view left_;
};

void append_engine_string(std::string& out, std::string_view value) {
  out += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

// CONCAT('a', chr(0), 'b'), which stands for a string with NULs.
std::optional<std::string> concatenated(Reader& in) {
  std::string value;
  for (;;) {
    if (!in.take("'")) return std::nullopt;
    auto part = in.quoted();
    if (!part) return std::nullopt;
    value += *part;
    if (in.take(")")) return value;
    if (!in.take(", chr(0), ")) return std::nullopt;
    value += '\0';
  }
}

// CAST('text' AS TYPE WITH SPACES).
std::optional<std::string> cast(Reader& in) {
  auto value = in.quoted();
  if (!value || !in.take(" AS ")) return std::nullopt;
  in.type_name();
  return in.take(")") ? value : std::nullopt;
}

bool append_struct(const Type& type, Reader& in, std::string& out);

bool append_leaf(Reader& in, std::string& out) {
  std::optional<std::string> value;
  if (in.take("CAST('")) {
    value = cast(in);
  } else if (in.take("CONCAT(")) {
    value = concatenated(in);
  } else if (in.take("'")) {
    value = in.quoted();
  } else {
    value = std::string(in.plain());
    if (value->empty()) return false;
  }
  if (!value) return false;
  append_engine_string(out, *value);
  return true;
}

bool append_value(const Type& type, Reader& in, std::string& out) {
  if (in.take("NULL")) {
    out += "NULL";
    return true;
  }
  if (type.kind() == TypeKind::kStruct) return append_struct(type, in, out);
  if (type.is_primitive()) return append_leaf(in, out);
  auto raw = in.bracketed();
  if (raw) out += *raw;
  return raw.has_value();
}

bool append_struct(const Type& type, Reader& in, std::string& out) {
  if (!in.take("{")) return false;
  out += '{';
  bool first = true;
  for (const auto& field : type.children()) {
    if (!first && !in.take(", ")) return false;
    if (!in.take("'")) return false;
    auto name = in.quoted();
    if (name != field.name || !in.take(": ")) return false;
    if (!first) out += ", ";
    append_engine_string(out, *name);
    out += ": ";
    if (!append_value(field.type, in, out)) return false;
    first = false;
  }
  out += '}';
  return in.take("}");
}

}  // namespace

std::optional<std::string> engine_struct_text(const Type& type, std::string_view text) {
  Reader in(text);
  std::string out;
  if (type.kind() != TypeKind::kStruct || !append_struct(type, in, out) || !in.at_end()) {
    return std::nullopt;
  }
  return out;
}

}  // namespace lake::exporter
