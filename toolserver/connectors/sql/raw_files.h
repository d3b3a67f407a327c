#pragma once

// Where queries may name files, they name them relative to data_dir, which
// callers do not know and the engine does not apply. So `data_dir` is put before
// each name in the statement's own text, at the place that the parse tree gives
// for it. The engine's printer is not used: it writes some names without the
// quotes that they need, so that a name becomes SQL.
// Source: DuckDB 1.5.5, json_serialize_sql, `query_location`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::connectors {

/// Why a call of a reader (is_file_reader) with these arguments, as they stand
/// in the tree, is not allowed; nothing when it is. What it reads is known only
/// when it is written out: one constant name of a DataFile, and options that
/// name no further files.
[[nodiscard]] std::optional<std::string> reader_refusal(std::string_view name,
                                                        const base::json::Array& arguments);

/// A statement whose file names are absolute paths.
struct AnchoredSql {
  std::string sql;
  base::json::Value tree;          ///< What the engine must parse `sql` to.
  std::vector<std::string> files;  ///< Relative to data_dir, each once.
};

/// Puts `data_dir` before the file names in `sql`, whose tree is `tree` and was
/// allowed by the screen. The caller parses the new text and compares it with
/// the new tree (is_same_statement) before it runs.
/// Errors: kInvalid  a name does not stand at its place as one plain text in
///         quotes (E'...', $$...$$, parts on several lines, blanks that are not
///         ASCII before it).
[[nodiscard]] base::Result<AnchoredSql> anchor_files(std::string_view sql, base::json::Value tree,
                                                     std::string_view data_dir);

/// Whether two trees of json_serialize_sql are equal but for where their parts
/// stand in the text.
[[nodiscard]] bool is_same_statement(const base::json::Value& one, const base::json::Value& other);

}  // namespace tool::connectors
