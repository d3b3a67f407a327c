#include "lakeproxy/operation/views.h"
#include "lakeproxy/to_iceberg/publish/view_file.h"

namespace lake::operation {

// The file is there when our own change wrote the view. Where DuckDB made the
// view or its comment, this load is the first that needs it.
base::Task<base::Result<ViewAnswer>> answer_with(base::RequestContext context, Catalog* catalog,
                                                 const ducklake::LakeView* view) {
  CO_ASSIGN_OR_RETURN(auto file, publish::view_file(view->metadata));
  if (file.location != view->metadata_location) {
    CO_RETURN_IF_ERROR(co_await catalog->manifests->put(context, {file}));
  }
  co_return file;
}

base::Task<base::Result<ViewAnswer>> load_view(base::RequestContext context, Catalog* catalog,
                                               policy::Authorized<LoadView> request) {
  CO_ASSIGN_OR_RETURN(auto view,
                      co_await catalog->view_store->load_view(context, request->identifier));
  co_return co_await answer_with(context, catalog, &view);
}

base::Task<base::Result<void>> view_exists(base::RequestContext context, Catalog* catalog,
                                           policy::Authorized<LoadView> request) {
  CO_RETURN_IF_ERROR(co_await catalog->view_store->load_view(context, request->identifier));
  co_return base::Result<void>{};
}

}  // namespace lake::operation
