#pragma once

#include <string>

#include "base/postgres/rows.h"
#include "lakeproxy/ducklake/lake_catalog.h"

namespace lake::ducklake {

/// The names in the first column of rows that were asked for with one more
/// than `size`: whether there is a next page is known by that one.
[[nodiscard]] Page<std::string> name_page(const base::pg::Rows& rows, std::size_t size);

}  // namespace lake::ducklake
