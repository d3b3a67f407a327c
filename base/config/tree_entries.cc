#include "base/config/tree_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace base::config {

Entry TreeEntries::entry(const std::vector<std::string>& path) const {
  std::string shown = shown_key(fmt::format("{}", fmt::join(path, ".")));
  std::string key = prefix_;
  for (const auto& part : path) {
    if (key.size() > prefix_.size()) key += '_';
    // A '.' inside a key stays: it is no section.
    for (char c : part) key += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return {.key = shown_key(key),
          .text = {},
          .source = fmt::format("{}:{}", file_, shown),
          .path = shown,
          .form = EntryForm::kText};
}

void TreeEntries::add_text(const std::vector<std::string>& path, std::string text) {
  Entry made = entry(path);
  made.text = std::move(text);
  out_.entries.push_back(std::move(made));
}

void TreeEntries::add_list(const std::vector<std::string>& path,
                           const std::vector<std::string>& items) {
  for (const auto& item : items) {
    if (item.empty() || item.find(',') != std::string::npos) {
      refuse(path, "an item of a list must not be empty or have a ',' in it");
      return;
    }
  }
  Entry made = entry(path);
  made.text = fmt::format("{}", fmt::join(items, ","));
  made.form = EntryForm::kList;
  out_.entries.push_back(std::move(made));
}

void TreeEntries::add_empty(const std::vector<std::string>& path) {
  Entry made = entry(path);
  made.form = EntryForm::kEmpty;
  out_.entries.push_back(std::move(made));
}

void TreeEntries::refuse(const std::vector<std::string>& path, std::string_view rule) {
  Entry made = entry(path);
  out_.errors.push_back(fmt::format("{}: {}: {}", made.source, made.key, rule));
}

}  // namespace base::config
