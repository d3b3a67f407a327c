#pragma once

// One table of the configuration whose keys are known beforehand. Whatever is
// wrong in it is told at once, and a key that is not known is told together
// with the one that was meant: a typing error in a limit must not leave the
// default in force.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/setting.h"
#include "base/json/json.h"

namespace tool::definition {

/// A key, and what the documentation says of it. Literals.
struct Key {
  std::string_view name;
  std::string_view takes;
  std::string_view standard;  ///< What holds without it; empty for nothing.
  std::string_view help;
};

/// A heading and a line for each key, for docs/tool-configuration.md.
[[nodiscard]] std::string key_table(std::string_view title, std::span<const Key> keys);

/// Lines "tools.NAME.key: rule", at most 100. No value stands in one.
class Faults {
 public:
  void add(std::string line);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] std::vector<std::string> take() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

/// Reads one table. Each function reports what is wrong and answers with what
/// may be gone on with; nothing is in force when there was a fault. Borrows all.
class Section {
 public:
  Section(const base::json::Object& table, std::string path, Faults& faults)
      : table_(table), path_(std::move(path)), faults_(faults) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const base::json::Object& table() const { return table_; }
  void fault(std::string_view key, std::string_view rule);
  /// Reports every key that is in none of the lists.
  void only(std::initializer_list<std::span<const Key>> known);

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// A text without control characters; a line break may stand in it when it
  /// is `long_text`. Empty when it is missing.
  enum class Lines { kOne, kMany };
  [[nodiscard]] std::string text(std::string_view key, std::size_t most, Lines lines = Lines::kOne);
  /// The same; a missing or empty one is a fault.
  [[nodiscard]] std::string required(std::string_view key, std::size_t most);
  [[nodiscard]] bool flag(std::string_view key, bool standard);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key, std::size_t most);
  [[nodiscard]] std::vector<int> integers(std::string_view key, int least, int greatest,
                                          std::size_t most);
  /// Null when it is missing or no table.
  [[nodiscard]] const base::json::Object* section(std::string_view key);
  /// A value of a setting's type, written as a text or a number.
  [[nodiscard]] base::config::SettingValue value(std::string_view key,
                                                 const base::config::SettingType& type,
                                                 std::string_view standard);

 private:
  [[nodiscard]] const base::json::Value* find(std::string_view key) const {
    return table_.if_contains(boost::json::string_view(key.data(), key.size()));
  }
  const base::json::Object& table_;
  std::string path_;
  Faults& faults_;
};

}  // namespace tool::definition
