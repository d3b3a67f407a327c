#include "lakeproxy/operation/views.h"

namespace lake::operation {

base::Task<base::Result<void>> rename_view(base::RequestContext context, Catalog* catalog,
                                           policy::Authorized<RenameView> request) {
  CO_RETURN_IF_ERROR(model::validate_new_name(request->to.name));
  co_return co_await catalog->view_store->keyed(request.key())
      .rename_view(context, request->from, request->to);
}

}  // namespace lake::operation
