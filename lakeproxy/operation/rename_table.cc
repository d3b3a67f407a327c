#include "lakeproxy/operation/tables.h"

namespace lake::operation {

base::Task<base::Result<void>> rename_table(base::RequestContext context, Catalog* catalog,
                                            policy::Authorized<RenameTable> request) {
  CO_RETURN_IF_ERROR(model::validate_new_name(request->to.name));
  co_return co_await catalog->writer->keyed(request.key())
      .rename_table(context, request->from, request->to);
}

}  // namespace lake::operation
