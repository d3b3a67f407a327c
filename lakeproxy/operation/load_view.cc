#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/operation/masking_view.h"
#include "lakeproxy/operation/see_table.h"
#include "lakeproxy/operation/views.h"
#include "lakeproxy/policy/masking_view.h"
#include "lakeproxy/to_iceberg/masked/mask_marks.h"
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

namespace {

// The caller's own masking view, of the plan of now: of any other signature there is none.
base::Task<base::Result<ducklake::LakeView>> find_masking_view(base::RequestContext context,
                                                               Catalog* catalog,
                                                               auth::Principal principal,
                                                               model::TableIdentifier of_view,
                                                               policy::MaskingViewName name) {
  const model::TableIdentifier identifier{of_view.name_space, name.table};
  auto loaded = co_await catalog->loaded_tables->get(context, identifier);
  if (!loaded && loaded.error().reason() == ducklake::kNoSuchTable) {
    co_return ducklake::no_such_view(of_view.display());
  }
  if (!loaded) co_return std::move(loaded).error();
  auto seen = co_await see_lake_table(context, catalog, std::move(principal), *loaded);
  if (!seen && seen.error().reason() != kMasked) co_return std::move(seen).error();
  const bool is_there = seen && seen->told_mask && seen->told_mask->signature == name.signature &&
                        masked::has_masking_views((*loaded)->metadata);
  if (!is_there) co_return ducklake::no_such_view(of_view.display());
  ducklake::LakeView view;
  view.metadata = masking_view(**loaded, identifier, *seen->told_mask);
  co_return view;
}

base::Task<base::Result<ducklake::LakeView>> find_view(base::RequestContext context,
                                                       Catalog* catalog, auth::Principal principal,
                                                       model::TableIdentifier identifier) {
  if (auto name = policy::parse_masking_view_name(identifier.name)) {
    co_return co_await find_masking_view(context, catalog, std::move(principal), identifier,
                                         std::move(*name));
  }
  co_return co_await catalog->view_store->load_view(context, std::move(identifier));
}

}  // namespace

base::Task<base::Result<ViewAnswer>> load_view(base::RequestContext context, Catalog* catalog,
                                               policy::Authorized<LoadView> request) {
  CO_ASSIGN_OR_RETURN(
      auto view, co_await find_view(context, catalog, request.principal(), request->identifier));
  co_return co_await answer_with(context, catalog, &view);
}

base::Task<base::Result<void>> view_exists(base::RequestContext context, Catalog* catalog,
                                           policy::Authorized<LoadView> request) {
  CO_RETURN_IF_ERROR(
      co_await find_view(context, catalog, request.principal(), request->identifier));
  co_return base::Result<void>{};
}

}  // namespace lake::operation
