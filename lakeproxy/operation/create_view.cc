// Making a view, from top to bottom:
//   1 its namespace, and that the name is free
//   2 the view as a value
//   3 its metadata file; nothing points to it before 4
//   4 one PostgreSQL transaction, which checks 1 again

#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/operation/new_view.h"
#include "lakeproxy/operation/views.h"

namespace lake::operation {

base::Task<base::Result<ViewAnswer>> create_view(base::RequestContext context, Catalog* catalog,
                                                 policy::Authorized<CreateViewIn> request) {
  const model::TableIdentifier identifier{request->name_space, request->view.name};
  CO_ASSIGN_OR_RETURN(auto parent, co_await find_view_place(context, catalog, identifier));
  // As a table's, a view's place follows the server's own rule.
  model::NewView decided{.uuid = base::make_uuid_v4(*catalog->random), .location = ""};
  decided.location = catalog->writer->new_table_location(parent, identifier.name, decided.uuid);
  CO_ASSIGN_OR_RETURN(auto metadata, model::new_view(request->view, decided));
  co_return co_await put_new_view(context, catalog, request.key(), identifier, std::move(metadata));
}

}  // namespace lake::operation
