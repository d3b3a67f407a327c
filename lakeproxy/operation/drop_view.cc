#include "lakeproxy/operation/views.h"

namespace lake::operation {

base::Task<base::Result<void>> drop_view(base::RequestContext context, Catalog* catalog,
                                         policy::Authorized<DropView> request) {
  co_return co_await catalog->view_store->keyed(request.key())
      .drop_view(context, request->identifier);
}

}  // namespace lake::operation
