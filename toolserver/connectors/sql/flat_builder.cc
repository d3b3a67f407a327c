#include "toolserver/connectors/sql/flat_builder.h"

#include <algorithm>
#include <ranges>

namespace tool::connectors {

void FlatBuilder::align(std::size_t to, std::size_t coming) {
  while ((reversed_.size() + coming) % to != 0) reversed_ += '\0';
}

// The last byte in the buffer comes first here.
void FlatBuilder::put(std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = bytes; i-- > 0;) reversed_ += static_cast<char>(value >> (8 * i));
}

void FlatBuilder::put_ref(Ref to) {
  align(4, 4);
  put(4, reversed_.size() + 4 - to.from_end);
}

FlatBuilder::Ref FlatBuilder::text(std::string_view text) {
  align(4, text.size() + 1);
  reversed_ += '\0';
  reversed_.append(text.rbegin(), text.rend());
  put(4, text.size());
  return {static_cast<std::uint32_t>(reversed_.size())};
}

FlatBuilder::Ref FlatBuilder::refs(std::span<const Ref> items) {
  align(4, 4 * items.size());
  for (const Ref& item : items | std::views::reverse) put_ref(item);
  put(4, items.size());
  return {static_cast<std::uint32_t>(reversed_.size())};
}

FlatBuilder::Ref FlatBuilder::pairs(std::span<const std::pair<std::int64_t, std::int64_t>> items) {
  align(4, 16 * items.size());
  align(8, 16 * items.size());
  for (const auto& [first, second] : items | std::views::reverse) {
    put(8, static_cast<std::uint64_t>(second));
    put(8, static_cast<std::uint64_t>(first));
  }
  put(4, items.size());
  return {static_cast<std::uint32_t>(reversed_.size())};
}

void FlatBuilder::begin_table() {
  slots_.clear();
  table_begin_ = reversed_.size();
}

void FlatBuilder::note(unsigned slot) {
  if (slots_.size() <= slot) slots_.resize(slot + 1, 0);
  slots_[slot] = static_cast<std::uint32_t>(reversed_.size());
}

void FlatBuilder::field(unsigned slot, std::size_t bytes, std::uint64_t value) {
  align(bytes, bytes);
  put(bytes, value);
  note(slot);
}

void FlatBuilder::field_ref(unsigned slot, Ref value) {
  put_ref(value);
  note(slot);
}

FlatBuilder::Ref FlatBuilder::end_table() {
  align(4, 4);
  put(4, 0);  // The way to the list of slots; known below.
  std::size_t table = reversed_.size();
  for (std::uint32_t slot : slots_ | std::views::reverse) put(2, slot == 0 ? 0 : table - slot);
  put(2, table - table_begin_);
  put(2, 2 * (slots_.size() + 2));
  auto way = static_cast<std::uint32_t>(reversed_.size() - table);
  for (std::size_t i = 0; i < 4; ++i) reversed_[table - 1 - i] = static_cast<char>(way >> (8 * i));
  return {static_cast<std::uint32_t>(table)};
}

std::string FlatBuilder::finish(Ref root) && {
  align(8, 4);
  put_ref(root);
  std::ranges::reverse(reversed_);
  return std::move(reversed_);
}

}  // namespace tool::connectors
