#pragma once

// Names from callers that end up in SQL text or in the file system. Each is
// checked once and is a type from then on.

#include <compare>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool::connectors {

/// The engine compares names without regard to case; ASCII is all we allow.
[[nodiscard]] std::string lower_ascii(std::string_view text);

/// A table that callers may make: [A-Za-z_][A-Za-z0-9_]{0,62}, and none of the
/// names that the engine's own tables and views start with.
class TableName {
 public:
  /// Errors: kInvalid  the text breaks the rule.
  [[nodiscard]] static base::Result<TableName> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// As the engine compares it.
  [[nodiscard]] std::string key() const { return lower_ascii(text_); }
  /// `"text"`, for a statement.
  [[nodiscard]] std::string quoted() const;

 private:
  explicit TableName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// [A-Za-z_][A-Za-z0-9_]{0,62}
[[nodiscard]] bool is_identifier(std::string_view text);
/// Whether the engine may have a table or view of its own by that name.
[[nodiscard]] bool is_engine_name(std::string_view text);

enum class FileKind : std::uint8_t { kParquet, kCsv, kJson };

/// A file below data_dir: a relative path of plain parts, without '..', a
/// scheme, or a character that the engine takes for a pattern.
class DataFile {
 public:
  /// Errors: kInvalid  the path breaks the rule, or its ending is none of
  ///         parquet, csv, tsv, json, jsonl, ndjson, or of these with .gz.
  [[nodiscard]] static base::Result<DataFile> parse(std::string_view path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] FileKind kind() const { return kind_; }

 private:
  DataFile(std::string path, FileKind kind) : path_(std::move(path)), kind_(kind) {}
  std::string path_;
  FileKind kind_;
};

}  // namespace tool::connectors
