#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/postgres/rows.h"

namespace lake::ducklake {

/// A page of names in byte order. `next` continues after the last one.
template <class T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next;
};

struct PageRequest {
  std::size_t size = 1000;
  std::string after;  ///< Name to continue after; empty from the start.
};

/// The names in the first column of rows that were asked for with one more
/// than `size`: whether there is a next page is known by that one.
[[nodiscard]] Page<std::string> name_page(const base::pg::Rows& rows, std::size_t size);

}  // namespace lake::ducklake
