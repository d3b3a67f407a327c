// A change of a view, from top to bottom:
//   1 the view as it is
//   2 requirements and updates on it, as values
//   3 its new metadata file; nothing points to it before 4
//   4 one PostgreSQL transaction, which checks that 1 still holds; if it does
//     not, again from 1

#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/operation/views.h"
#include "lakeproxy/to_iceberg/publish/view_file.h"

namespace lake::operation {
namespace {

// The view changed between 1 and 4 so many times in a row: the client is told.
constexpr int kAttempts = 20;

base::Task<base::Result<ViewAnswer>> attempt(base::RequestContext context, Catalog* catalog,
                                             const ReplaceView* request,
                                             const std::optional<model::IdempotencyKey>* key) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->view_store->load_view(context, request->identifier));
  auto view = std::make_shared<const ducklake::LakeView>(std::move(loaded));
  for (const auto& requirement : request->commit.requirements) {
    CO_RETURN_IF_ERROR(model::check_requirement(view->metadata, requirement));
  }
  CO_ASSIGN_OR_RETURN(auto after, model::change_view(view->metadata, request->commit.updates,
                                                     now_ms(*catalog->clock)));
  if (after == view->metadata) co_return co_await answer_with(context, catalog, view.get());
  CO_ASSIGN_OR_RETURN(auto file, publish::view_file(after));
  CO_RETURN_IF_ERROR(co_await catalog->manifests->put(context, {file}));
  ducklake::ViewChange change{request->identifier, view, std::move(after), file.location};
  CO_RETURN_IF_ERROR(
      co_await catalog->view_store->keyed(*key).replace_view(context, std::move(change)));
  co_return file;
}

}  // namespace

base::Task<base::Result<ViewAnswer>> replace_view(base::RequestContext context, Catalog* catalog,
                                                  policy::Authorized<ReplaceView> request) {
  const ReplaceView* asked = &*request;
  for (int i = 0; i < kAttempts; ++i) {
    auto answer = co_await attempt(context, catalog, asked, &request.key());
    if (answer || answer.error().reason() != ducklake::kStale) co_return answer;
  }
  co_return base::fail(base::ErrorKind::kConflict, "The view keeps changing; nothing was changed.")
      .with_reason(ducklake::kBusy);
}

}  // namespace lake::operation
