#pragma once

// Settings come from several places. Each place is turned into the same list
// of entries, every one with the words that lead a reader back to it.
// The parsers here are pure; reading the files is settings_table's part.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace base::config {

/// What stood there: one text, a list (its items joined with ','), or nothing.
enum class EntryForm { kText, kList, kEmpty };

/// One text for one setting. `key` is the full name, prefix and all, and is
/// fit to be shown: no control characters, bounded in length.
struct Entry {
  std::string key;
  std::string text;
  std::string source;  ///< "environment", ".env:3", "lakes.toml:server.port".
  std::string path;    ///< Of a TOML or YAML file: "server.port"; fit to be shown, too.
  EntryForm form = EntryForm::kText;
};

/// What a source holds for us, and one line for each entry that was refused.
struct Entries {
  std::vector<Entry> entries;
  std::vector<std::string> errors;
  /// Nothing could be read, so what is missing here may stand there.
  bool unreadable = false;
  /// The open sections that are there, by name. Their keys are no settings: all
  /// stands as it was written, with numbers as numbers.
  json::Object open = {};
};

/// A key of foreign origin, made fit for a message.
[[nodiscard]] std::string shown_key(std::string_view key);

/// The entries of "NAME=value" strings whose name begins with `prefix`.
[[nodiscard]] Entries from_environment(const std::vector<std::string>& environment,
                                       std::string_view prefix);

/// Lines "NAME=value" or "export NAME=value"; '#' begins a comment at the
/// start of a line or after a space. A value in single or double quotes is
/// taken as it stands, without escapes. Names without `prefix` are passed over.
[[nodiscard]] Entries from_dotenv(std::string_view text, std::string_view prefix,
                                  std::string_view file);

/// kFlat: sections on one level. kNested: sections in sections, up to
/// kMaxNesting levels, and arrays of strings, numbers and booleans.
enum class Nesting { kFlat, kNested };
inline constexpr std::size_t kMaxNesting = 8;
/// Levels of an open section below its own name.
inline constexpr std::size_t kMaxOpenNesting = 32;

/// A top-level key is PREFIX_<KEY>, a key of a section PREFIX_<SECTION>_<KEY>,
/// in capitals. Strings, integers, floats and booleans are taken.
/// The top-level tables `open_sections` are no settings: they become
/// Entries::open. Dates and numbers that are not finite are refused.
/// Source: TOML v1.0.0.
[[nodiscard]] Entries from_toml(std::string_view text, std::string_view prefix,
                                std::string_view file, Nesting nesting = Nesting::kFlat,
                                std::span<const std::string> open_sections = {});

/// Maps are sections, always nested. One document of at most 1 MiB; anchors,
/// aliases, tags, a key that is there twice and a key that is no text make the
/// whole document refused: a setting must stand where it can be read.
/// Source: YAML 1.2, as far as yaml-cpp reads it.
[[nodiscard]] Entries from_yaml(std::string_view text, std::string_view prefix,
                                std::string_view file);

}  // namespace base::config
