#include "lakeproxy/ducklake/lake/name_page.h"

namespace lake::ducklake {

Page<std::string> name_page(const base::pg::Rows& rows, std::size_t size) {
  Page<std::string> page;
  for (std::size_t i = 0; i < rows.size() && i < size; ++i) {
    page.items.emplace_back(rows.text(i, 0));
  }
  if (rows.size() > size && size > 0) page.next = page.items.back();
  return page;
}

}  // namespace lake::ducklake
