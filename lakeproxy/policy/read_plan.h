#pragma once

// How a read is answered once governance has spoken: as everybody's, through masks that the engine
// of the reader applies, from files that hold nothing else, or not at all. The resolver
// makes it; what stands behind it (what is shown, the files, the keys) only follows it.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/strong_id.h"
#include "lakeproxy/model/ids.h"

namespace lake::policy {

/// lakeproxy_policy_version.version: raised by each change of governance. 0: of no lake.
using PolicyVersion = base::StrongId<struct PolicyVersionTag>;

/// A column's mask, for one principal and one state of the table.
struct ColumnMask {
  model::FieldId field = 0;
  std::string column;  ///< Its name in that state.
  /// SQL of DuckDB over the quoted column, of the column's type: `left("ssn", 2) || '***'`.
  std::string expression;
  std::string policy;
  std::string why;  ///< "attached to the column", "tag pii.ssn of the table".
  friend bool operator==(const ColumnMask&, const ColumnMask&) = default;
};

/// A predicate over raw values. Rows that it is not true of are kept from the principal.
struct RowFilter {
  struct Column {
    model::FieldId field = 0;
    std::string name;
    friend bool operator==(const Column&, const Column&) = default;
  };
  std::string policy;
  std::string predicate;        ///< SQL of DuckDB over quoted columns.
  std::vector<Column> columns;  ///< Those that it reads.
  std::string why;
  friend bool operator==(const RowFilter&, const RowFilter&) = default;
};

/// What a principal does not get of a table. Filters run on raw values, joined with AND; the
/// rows that are left go through the masks. Never empty.
struct MaskPlan {
  /// 32 hexadecimal digits: a hash of all that decides the bytes which a reader gets. Principals
  /// with the same one may share files and answers.
  std::string signature;
  std::vector<ColumnMask> masks;   ///< By field id; one for a column.
  std::vector<RowFilter> filters;  ///< By policy name.
  friend bool operator==(const MaskPlan&, const MaskPlan&) = default;
};

/// The filters as one predicate of DuckDB, `(...) AND (...)`; empty without any.
[[nodiscard]] std::string row_filter_of(const MaskPlan& plan);
/// The names of its policies, sorted, each once.
[[nodiscard]] std::vector<std::string> policies_of(const MaskPlan& plan);
/// The names of the masked columns, by field id.
[[nodiscard]] std::vector<std::string> masked_columns_of(const MaskPlan& plan);

enum class ReadKind : std::uint8_t {
  kRaw,          ///< Nothing is kept from the principal.
  kCooperative,  ///< Masks are told to the reader's engine, which applies them.
  kFileMask,     ///< Only files that hold what the plan leaves may be shown.
  kRefused,      ///< Nothing may be shown; reason() says why.
};
[[nodiscard]] constexpr std::string_view to_string(ReadKind kind) {
  switch (kind) {
    case ReadKind::kRaw: return "raw";
    case ReadKind::kCooperative: return "cooperative";
    case ReadKind::kFileMask: return "file_mask";
    case ReadKind::kRefused: return "refused";
  }
  return "";
}

/// The hand-over from governance to a read. A value; copies share the plan.
class ReadPlan {
 public:
  /// `lifted` are the policies that reach the table and that a role lets the principal off.
  [[nodiscard]] static ReadPlan raw(PolicyVersion version, std::vector<std::string> lifted = {}) {
    ReadPlan plan(ReadKind::kRaw, nullptr, "", version);
    plan.lifted_ = std::move(lifted);
    return plan;
  }
  [[nodiscard]] static ReadPlan cooperative(std::shared_ptr<const MaskPlan> plan,
                                            PolicyVersion version) {
    return masked(ReadKind::kCooperative, std::move(plan), version);
  }
  [[nodiscard]] static ReadPlan file_mask(std::shared_ptr<const MaskPlan> plan,
                                          PolicyVersion version) {
    return masked(ReadKind::kFileMask, std::move(plan), version);
  }
  /// `reason` names the policies and columns in the way: it may be told to the principal.
  [[nodiscard]] static ReadPlan refused(std::string reason, PolicyVersion version) {
    return {ReadKind::kRefused, nullptr, std::move(reason), version};
  }

  [[nodiscard]] ReadKind kind() const { return kind_; }
  /// Null where nothing is masked, and where the read is refused.
  [[nodiscard]] const std::shared_ptr<const MaskPlan>& mask() const { return mask_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Of kRaw: policies without which it would not be raw. Empty: the table has none.
  [[nodiscard]] const std::vector<std::string>& lifted() const { return lifted_; }
  /// Of the policies that it was made by.
  [[nodiscard]] PolicyVersion version() const { return version_; }

 private:
  ReadPlan(ReadKind kind, std::shared_ptr<const MaskPlan> mask, std::string reason,
           PolicyVersion version)
      : kind_(kind), mask_(std::move(mask)), reason_(std::move(reason)), version_(version) {}
  static ReadPlan masked(ReadKind kind, std::shared_ptr<const MaskPlan> plan,
                         PolicyVersion version) {
    if (plan == nullptr) std::abort();
    return {kind, std::move(plan), "", version};
  }

  ReadKind kind_;
  std::shared_ptr<const MaskPlan> mask_;
  std::string reason_;
  std::vector<std::string> lifted_;
  PolicyVersion version_;
};

}  // namespace lake::policy
