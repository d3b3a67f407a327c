#pragma once

// A foreign tool trusts its arguments: a path out of the repository, an option
// in the place of a branch. What an operator demands of them stands here, and
// is checked before the call, without a word to the tool.
// Source: docs/tools/bridge.md, "Rules on arguments"; docs/adr/0121.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/settings/bridge.h"

namespace tool::bridge {

/// The rules of one tool. Immutable; safe from any thread.
class ArgumentRules {
 public:
  /// Those of `rules` that are for `tool` (its name in the namespace) or for all.
  /// `input_schema` is the tool's: where there is a rule, only arguments that
  /// it names are taken, so that none comes in under a second name.
  /// Errors: kInvalid  a pattern that RE2 does not take.
  [[nodiscard]] static base::Result<ArgumentRules> compile(
      const std::vector<settings::ArgumentRule>& rules, std::string_view tool,
      const base::json::Object& input_schema);

  /// Errors: E_POLICY  names the argument and the rule.
  [[nodiscard]] Outcome<void> check(const base::json::Object& args) const;

  [[nodiscard]] bool empty() const { return rules_.empty(); }

 private:
  struct Rule;
  std::vector<std::shared_ptr<const Rule>> rules_;
  std::set<std::string, std::less<>> known_;
};

/// Whether `path` stays in `folder`: an absolute folder in normal form, or "."
/// for paths that are relative. What a server could read in another way is out:
/// a segment "..", a backslash, a control character, an escaped '.', '/' or
/// '\', and for "." a '~' or a scheme at the beginning. Texts alone are
/// compared: a link inside the folder is for the server's own walls.
[[nodiscard]] bool is_within(std::string_view path, std::string_view folder);

}  // namespace tool::bridge
