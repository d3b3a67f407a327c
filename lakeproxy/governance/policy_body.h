#pragma once

// The SQL of a policy. An administrator writes an expression over arguments; it is run for others,
// on values that they must not see, inside whatever engine reads the table. So it is taken apart
// when it is written: it must be one expression over its arguments alone, of functions that depend
// on nothing else. What is kept is not its text but what the engine's parser has made of
// it: no spelling, comment or quote of it can reach a statement that it is put into.
// Source: specification, sections 2.4 and 4.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/governance/policy_signature.h"

namespace lake::governance {

/// A body that may be run: its text with the places where arguments stand. A value.
class CompiledBody {
 public:
  struct Piece {
    std::string text;            ///< Before the argument.
    std::int64_t argument = -1;  ///< Of arguments(); -1 behind the last one.
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  /// The type of its value, as DuckDB writes it.
  [[nodiscard]] const std::string& type() const { return type_; }
  /// The expression over `values`: SQL that stands for each argument, in their order; one that
  /// is no quoted name must be in parentheses.
  [[nodiscard]] std::string over(const std::vector<std::string>& values) const;

  [[nodiscard]] base::json::Object to_json() const;
  /// Errors: kCorrupt  not what to_json() writes.
  [[nodiscard]] static base::Result<CompiledBody> from_json(const base::json::Value& value);

  friend bool operator==(const CompiledBody&, const CompiledBody&) = default;

 private:
  friend class BodyCompiler;
  std::vector<Argument> arguments_;
  std::vector<Piece> pieces_;
  std::string type_;
};

/// A mask: one argument, and a value of any type.
/// Blocks for up to five seconds, in an engine of its own that reaches no file, network or setting.
/// Errors: kInvalid  names "signature" or "body" and the rule, with the parser's words; kTooLarge;
///         kInternal  no engine.
[[nodiscard]] base::Result<CompiledBody> compile_mask(std::string_view signature,
                                                      std::string_view body);
/// A row-access policy: a BOOLEAN over one argument or more. Blocks; errors: as compile_mask().
[[nodiscard]] base::Result<CompiledBody> compile_filter(std::string_view signature,
                                                        std::string_view body);

/// The mask over a column, of the column's type. The policy may be for another type, as where a tag
/// of a table reaches all its columns: a value is then cast, and NULL where it does not fit.
[[nodiscard]] std::string mask_expression(const CompiledBody& mask, std::string_view column,
                                          std::string_view column_type);
/// The predicate over the columns, one for each argument. A value of another type that does not
/// fit the argument's is NULL to it.
[[nodiscard]] std::string filter_predicate(const CompiledBody& filter,
                                           const std::vector<Argument>& columns);

/// Tries an expression over columns of these names and types, on no row.
/// Blocks. Errors: kInvalid  the engine does not take it: its words, without a field's name.
[[nodiscard]] base::Status try_expression(std::string_view expression,
                                          const std::vector<Argument>& columns);

}  // namespace lake::governance
