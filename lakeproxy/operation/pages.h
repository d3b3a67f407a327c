#pragma once

// A list of names, in one page or whole.

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/lake/name_page.h"

namespace lake::operation {

/// Nothing: everything at once, as clients that do not page expect.
struct Paging {
  std::optional<std::string> token;
  std::size_t size = 1000;
};

/// What `read` gives, a task of a page for each request: one page where the
/// client pages, else all of them as one. Errors: those of `read`.
template <class Item, class Read>
base::Task<base::Result<ducklake::Page<Item>>> read_pages(Paging paging, Read read) {
  ducklake::PageRequest page{paging.size, paging.token.value_or("")};
  ducklake::Page<Item> all;
  do {
    CO_ASSIGN_OR_RETURN(ducklake::Page<Item> part, co_await read(page));
    std::ranges::move(part.items, std::back_inserter(all.items));
    all.next = std::move(part.next);
    page.after = all.next.value_or("");
  } while (!paging.token && all.next);
  co_return all;
}

}  // namespace lake::operation
