#pragma once

// A tool trusts its arguments: a path out of the repository, an option in the
// place of a branch. What an operator demands of those of a foreign tool, and
// what a credential narrows its bearer to, are rules of one kind; they are
// checked before the call, without a word to the tool.
// Source: docs/tools/bridge.md, "Rules on arguments"; docs/wire-3.0.md, section
// 6.7; docs/adr/0121, 0141.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"

namespace tool {

/// What an argument must be before a tool gets it. A rule holds for each item of
/// an array. At least one of the parts is set.
struct ArgumentRule {
  std::string tool;      ///< Name in its namespace; "*" for all its tools.
  std::string argument;  ///< Name of a member of the arguments.
  /// A folder, absolute or relative, or "." for relative paths: the value is a
  /// path in it.
  std::string within;
  std::string pattern;  ///< RE2, of the whole value.
  std::optional<double> min;
  std::optional<double> max;
  std::vector<std::string> values;  ///< The only ones that are allowed.
  /// Tables, in lower case: the value names these and no others, as a name or in
  /// the statement that it is. Only the tool's connector can tell.
  std::vector<std::string> tables = {};
  bool is_optional = false;  ///< The argument may be left out.
  friend bool operator==(const ArgumentRule&, const ArgumentRule&) = default;
};

/// The rules of one tool. Immutable; safe from any thread.
class ArgumentRules {
 public:
  /// All of `rules`, whatever tool they name.
  /// Errors: kInvalid  a pattern that RE2 does not take.
  [[nodiscard]] static base::Result<ArgumentRules> compile(const std::vector<ArgumentRule>& rules);

  /// Those of `rules` that are for `tool` (its name in the namespace) or for all.
  /// `input_schema` is the tool's: where there is a rule, only arguments that
  /// it names are taken, so that none comes in under a second name.
  /// Errors: kInvalid  a pattern that RE2 does not take.
  [[nodiscard]] static base::Result<ArgumentRules> compile(const std::vector<ArgumentRule>& rules,
                                                           std::string_view tool,
                                                           const base::json::Object& input_schema);

  /// All but what only a connector can tell: see with_tables().
  /// Errors: E_POLICY  names the argument and the rule.
  [[nodiscard]] Outcome<void> check(const base::json::Object& args) const;
  /// The same of rules that were compiled without the tool's schema.
  [[nodiscard]] Outcome<void> check(const base::json::Object& args,
                                    const base::json::Object& input_schema) const;

  /// Those that name tables.
  [[nodiscard]] std::vector<ArgumentRule> with_tables() const;

  [[nodiscard]] bool empty() const { return rules_.empty(); }

 private:
  struct Rule;
  using Names = std::set<std::string, std::less<>>;
  [[nodiscard]] Outcome<void> check(const base::json::Object& args, const Names& known) const;
  std::vector<std::shared_ptr<const Rule>> rules_;
  Names known_;
};

/// Whether `path` stays in `folder`: an absolute or relative folder in normal
/// form, or "." for any path that is relative. What a tool could read in another
/// way is out: a segment "..", a backslash, a control character, an escaped '.',
/// '/' or '\', and of a relative path a '~' or a scheme at the beginning. Texts
/// alone are compared: a link inside the folder is for the tool's own walls.
[[nodiscard]] bool is_within(std::string_view path, std::string_view folder);

/// Whether `folder` can be that of a rule.
[[nodiscard]] bool is_rule_folder(std::string_view folder);

}  // namespace tool
