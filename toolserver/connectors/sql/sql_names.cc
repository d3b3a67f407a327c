#include "toolserver/connectors/sql/sql_names.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "base/duckdb/sql_text.h"

namespace tool::connectors {
namespace {

using base::ErrorKind;
using base::fail;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One part between slashes. Hidden files are not data.
bool is_plain_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.size() <= 255;
}

bool is_plain_path(std::string_view path) {
  if (path.empty() || path.size() > 1024 || !base::is_utf8(path)) return false;
  // Patterns, schemes, escapes of other systems, and what ends C strings.
  for (char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    if (std::string_view("*?[]{}\\:~%\"'|").contains(c)) return false;
  }
  for (std::size_t begin = 0;;) {
    std::size_t end = path.find('/', begin);
    if (!is_plain_part(path.substr(begin, end - begin))) return false;
    if (end == std::string_view::npos) return true;
    begin = end + 1;
  }
}

std::optional<FileKind> kind_of(std::string_view path) {
  struct Ending {
    std::string_view text;
    FileKind kind;
  };
  static constexpr std::array kEndings{
      Ending{".parquet", FileKind::kParquet}, Ending{".csv", FileKind::kCsv},
      Ending{".tsv", FileKind::kCsv},         Ending{".json", FileKind::kJson},
      Ending{".jsonl", FileKind::kJson},      Ending{".ndjson", FileKind::kJson},
  };
  std::string name = lower_ascii(path);
  std::string_view rest = name;
  bool packed = rest.ends_with(".gz");
  if (packed) rest.remove_suffix(3);
  for (const Ending& ending : kEndings) {
    if (!rest.ends_with(ending.text)) continue;
    if (packed && ending.kind == FileKind::kParquet) return std::nullopt;
    return ending.kind;
  }
  return std::nullopt;
}

}  // namespace

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_letter(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_engine_name(std::string_view text) {
  static constexpr std::array<std::string_view, 7> kStarts{
      "duckdb_", "pg_", "sqlite_", "pragma_", "information_schema", "__", "temp_"};
  std::string name = lower_ascii(text);
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return name.starts_with(start); });
}

base::Result<TableName> TableName::parse(std::string_view text) {
  if (!is_identifier(text)) {
    return fail(ErrorKind::kInvalid,
                "table: must be a letter or '_', then at most 62 letters, digits or '_'");
  }
  if (is_engine_name(text)) {
    return fail(ErrorKind::kInvalid,
                "table: the name is of a kind that the engine keeps for itself");
  }
  return TableName(std::string(text));
}

std::string TableName::quoted() const { return base::duckdb::quote_identifier(text_); }

base::Result<DataFile> DataFile::parse(std::string_view path) {
  if (!is_plain_path(path)) {
    return fail(ErrorKind::kInvalid,
                "file: must be a relative path of plain names, without '..' and patterns");
  }
  std::optional<FileKind> kind = kind_of(path);
  if (!kind) {
    return fail(ErrorKind::kInvalid,
                "file: must end in .parquet, .csv, .tsv, .json, .jsonl or .ndjson");
  }
  return DataFile(std::string(path), *kind);
}

}  // namespace tool::connectors
