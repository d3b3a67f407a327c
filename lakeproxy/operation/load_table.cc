#include "lakeproxy/operation/tables.h"

namespace lake::operation {

base::Task<base::Result<publish::TableViewPtr>> load_table(base::RequestContext context,
                                                           Catalog* catalog,
                                                           govern::Authorized<LoadTable> request) {
  co_return co_await catalog->views->get(context, request->identifier);
}

}  // namespace lake::operation
