#pragma once

// A scope lets its bearer call a tool with any arguments. Details beside it let
// the tool be called only so: a path in one folder, one of three values, these
// tables. They come with a credential, are written as RFC 9396 has it, and can
// only ever narrow: what nobody here understands refuses the credential.
// Source: docs/wire-3.0.md, section 6.7; docs/adr/0141; RFC 9396.

#include <memory>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/argument_rules.h"
#include "toolserver/model/tool_id.h"

namespace tool {

/// The `type` of a detail that this service understands.
inline constexpr std::string_view kDetailType = "scp_tool";

/// One detail: this tool, with arguments that keep these rules.
struct Detail {
  ToolId tool;
  ArgumentRules rules;
  base::json::Object args;  ///< The rules as they were written.
};

/// All that narrows one principal: sets of details, of each of which a call must
/// fulfil one of those that name its tool. A set that does not name the tool says
/// nothing of it. Immutable and cheap to copy.
class Details {
 public:
  static constexpr std::size_t kMost = 64;      ///< In one set, and rules in one detail.
  static constexpr std::size_t kMostSets = 16;  ///< Of a call that was forwarded.
  static constexpr std::size_t kTextBytes = 512;

  Details() = default;

  /// One set, of `authorization_details`; an empty list is none.
  /// Errors: kInvalid  another type, an unknown member, a rule that is none; the
  ///         message has the path of the member and never a value.
  [[nodiscard]] static base::Result<Details> parse(const base::json::Value& claim);
  /// What sets_of() gave, for what is the same tool under another name.
  /// Errors: kInvalid  as parse(), and more than kMostSets.
  [[nodiscard]] static base::Result<Details> parse_sets(const ToolId& tool,
                                                        const base::json::Value& sets);
  /// One set. `details` has at most kMost.
  [[nodiscard]] static Details of(std::vector<Detail> details);

  [[nodiscard]] bool empty() const { return sets_.empty(); }
  [[nodiscard]] bool names(const ToolId& tool) const;
  /// Both must be kept.
  [[nodiscard]] Details with(const Details& other) const;
  /// Whether whoever has these may do all that `others` let their bearer do: they
  /// have no set that `others` do not have. Fewer bounds than could be compared
  /// count as more.
  [[nodiscard]] bool admits(const Details& others) const;

  using Set = std::shared_ptr<const std::vector<Detail>>;  ///< Never null or empty.
  [[nodiscard]] const std::vector<Set>& sets() const { return sets_; }

  /// All sets, each a list of details as parse() takes it.
  [[nodiscard]] base::json::Array json() const;
  /// The sets that name `tool`, each a list of the `args` of its details for it.
  [[nodiscard]] base::json::Array sets_of(const ToolId& tool) const;

 private:
  std::vector<Set> sets_;
};

}  // namespace tool
