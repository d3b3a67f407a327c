#include "lakeproxy/engine/parquet/footer.h"

#include <algorithm>
#include <utility>

#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/column_ranges.h"

namespace lake::exporter {

base::Task<base::Result<std::uint64_t>> bring_footer(Means means, base::RequestContext context,
                                                     storage::ObjectKey key, std::string path,
                                                     std::uint64_t size, ByteBudget* budget) {
  const std::uint64_t begin = size - std::min(size, kTailBytes);
  if (budget != nullptr) CO_RETURN_IF_ERROR(budget->take(size - begin));
  CO_ASSIGN_OR_RETURN(std::string tail,
                      co_await get_exactly(means, context, key, begin, size - begin));
  CO_ASSIGN_OR_RETURN(std::uint64_t footer, footer_begin(tail, size));
  if (budget != nullptr && footer < begin) CO_RETURN_IF_ERROR(budget->take(begin - footer));
  auto write = [path, begin, bytes = std::move(tail)] { return write_file_at(path, begin, bytes); };
  CO_RETURN_IF_ERROR(co_await means.blocking->run(std::move(write)));
  CO_RETURN_IF_ERROR(co_await bring(means, context, std::move(key), std::move(path), footer,
                                    std::max(footer, begin)));
  co_return std::min(footer, begin);
}

}  // namespace lake::exporter
