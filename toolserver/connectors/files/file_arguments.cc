#include "toolserver/connectors/files/file_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/core/text.h"
#include "base/crypto/encoding.h"

namespace tool::files {
namespace {

using base::json::Object;
using base::json::Value;

Fault wrong(std::string_view key, std::string_view rule) {
  return refuse(Code::kShape, fmt::format("args.{}: {}", key, rule));
}

Outcome<void> only(const Object& args, std::initializer_list<std::string_view> known) {
  for (const auto& member : args) {
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return refuse(Code::kShape, "args: an unknown member");
    }
  }
  return {};
}

Outcome<std::optional<std::string_view>> text(const Object& args, std::string_view key) {
  const Value* value = args.if_contains(key);
  if (value == nullptr) return std::optional<std::string_view>{};
  if (!value->is_string()) return wrong(key, "must be a string");
  return std::optional<std::string_view>(value->get_string());
}

Outcome<std::optional<std::uint64_t>> count(const Object& args, std::string_view key) {
  const Value* value = args.if_contains(key);
  if (value == nullptr) return std::optional<std::uint64_t>{};
  if (!value->is_int64() || value->get_int64() < 0) {
    return wrong(key, "must be an integer of at least 0");
  }
  return std::optional<std::uint64_t>(static_cast<std::uint64_t>(value->get_int64()));
}

Outcome<RelativePath> parsed_path(std::string_view path) {
  auto parsed = RelativePath::parse(path);
  if (!parsed) return refuse(Code::kPolicy, parsed.error().message());
  return std::move(*parsed);
}

Outcome<RelativePath> path_of(const Object& args) {
  auto given = text(args, "path");
  if (!given) return std::move(given).error();
  if (!*given) return wrong("path", "is missing");
  return parsed_path(**given);
}

Outcome<Encoding> encoding_of(const Object& args) {
  auto given = text(args, "encoding");
  if (!given) return std::move(given).error();
  std::string_view word = given->value_or("text");
  if (word == "text") return Encoding::kText;
  if (word == "base64") return Encoding::kBase64;
  return wrong("encoding", "must be \"text\" or \"base64\"");
}

Outcome<WriteMode> mode_of(const Object& args) {
  auto given = text(args, "mode");
  if (!given) return std::move(given).error();
  std::string_view word = given->value_or("create");
  if (word == "create") return WriteMode::kCreate;
  if (word == "replace") return WriteMode::kReplace;
  return wrong("mode", "must be \"create\" or \"replace\"");
}

Outcome<std::string> bytes_of(std::string_view content, Encoding encoding, std::uint64_t cap) {
  if (encoding == Encoding::kText) {
    if (content.size() > cap) return refuse(Code::kLimit, "args.content: over the most bytes");
    if (!base::is_utf8(content)) return wrong("content", "must be UTF-8");
    return std::string(content);
  }
  auto decoded = base::crypto::from_base64(content, cap);
  if (decoded) return std::move(*decoded);
  if (decoded.error().kind() == base::ErrorKind::kTooLarge) {
    return refuse(Code::kLimit, "args.content: over the most bytes");
  }
  return wrong("content", "must be base64 with padding");
}

Outcome<std::optional<RelativePath>> cursor_of(const Object& args) {
  auto given = text(args, "cursor");
  if (!given) return std::move(given).error();
  if (!*given) return std::optional<RelativePath>{};
  auto decoded = base::crypto::from_base64url(**given, PathLimits::kBytes);
  if (decoded) {
    if (auto path = RelativePath::parse(*decoded)) return std::optional(std::move(*path));
  }
  return wrong("cursor", "not one of a listing");
}

}  // namespace

std::string cursor_after(const RelativePath& last) {
  return base::crypto::to_base64url(last.text());
}

Outcome<RelativePath> path_arguments(const Object& args) {
  if (auto known = only(args, {"path"}); !known) return std::move(known).error();
  return path_of(args);
}

Outcome<ReadRequest> read_arguments(const Object& args) {
  auto known = only(args, {"path", "offset", "length", "encoding"});
  if (!known) return std::move(known).error();
  auto path = path_of(args);
  if (!path) return std::move(path).error();
  auto offset = count(args, "offset");
  if (!offset) return std::move(offset).error();
  auto length = count(args, "length");
  if (!length) return std::move(length).error();
  auto encoding = encoding_of(args);
  if (!encoding) return std::move(encoding).error();
  return ReadRequest{std::move(*path), offset->value_or(0), *length, *encoding};
}

Outcome<WriteRequest> write_arguments(const Object& args, std::uint64_t cap) {
  auto known = only(args, {"path", "content", "encoding", "mode"});
  if (!known) return std::move(known).error();
  auto path = path_of(args);
  if (!path) return std::move(path).error();
  auto encoding = encoding_of(args);
  if (!encoding) return std::move(encoding).error();
  auto mode = mode_of(args);
  if (!mode) return std::move(mode).error();
  auto content = text(args, "content");
  if (!content) return std::move(content).error();
  if (!*content) return wrong("content", "is missing");
  auto bytes = bytes_of(**content, *encoding, cap);
  if (!bytes) return std::move(bytes).error();
  return WriteRequest{std::move(*path), std::move(*bytes), *mode};
}

Outcome<ListRequest> list_arguments(const Object& args) {
  auto known = only(args, {"path", "recursive", "cursor"});
  if (!known) return std::move(known).error();
  ListRequest request;
  if (args.contains("path")) {
    auto path = path_of(args);
    if (!path) return std::move(path).error();
    request.folder = std::move(*path);
  }
  if (const Value* recursive = args.if_contains("recursive")) {
    if (!recursive->is_bool()) return wrong("recursive", "must be true or false");
    request.recursion = recursive->get_bool() ? Recursion::kYes : Recursion::kNo;
  }
  auto cursor = cursor_of(args);
  if (!cursor) return std::move(cursor).error();
  request.after = std::move(*cursor);
  return request;
}

}  // namespace tool::files
