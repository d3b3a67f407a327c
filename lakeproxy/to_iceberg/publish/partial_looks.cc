#include "lakeproxy/to_iceberg/publish/partial_looks.h"

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

namespace lake::publish {
namespace {

constexpr base::AtOnce kLooksAtOnce{8};

base::Task<base::Status> look_into_data_files(base::RequestContext context,
                                              exporter::Exporter* exporter,
                                              model::LakeChanges* changes) {
  const auto wanted = materialize::partial_files_to_read(*changes);
  auto look = [&](std::size_t i) {
    return exporter->row_snapshot_ids(context, &changes->data_files.at(wanted[i]));
  };
  auto keep = [&](std::size_t i, std::shared_ptr<const model::RowSnapshotIds> begins) {
    if (begins) changes->row_snapshot_ids.emplace(wanted[i], std::move(begins));
    return base::Status{};
  };
  co_return co_await base::gather_few(kLooksAtOnce, wanted.size(), look, keep);
}

base::Task<base::Status> look_into_delete_files(base::RequestContext context,
                                                exporter::Exporter* exporter,
                                                model::LakeChanges* changes) {
  const auto wanted = materialize::delete_files_to_read(*changes);
  auto look = [&](std::size_t i) { return exporter->row_ends(context, wanted[i]); };
  auto keep = [&](std::size_t i, std::shared_ptr<const model::RowEnds> ends) {
    changes->row_ends.emplace(wanted[i]->id, std::move(ends));
    return base::Status{};
  };
  co_return co_await base::gather_few(kLooksAtOnce, wanted.size(), look, keep);
}

}  // namespace

base::Task<base::Status> look_into_partial_files(base::RequestContext context,
                                                 exporter::Exporter* exporter,
                                                 model::LakeChanges* changes) {
  CO_RETURN_IF_ERROR(co_await look_into_data_files(context, exporter, changes));
  CO_RETURN_IF_ERROR(co_await look_into_delete_files(context, exporter, changes));
  materialize::hide_commits(*changes);
  co_return base::Status{};
}

}  // namespace lake::publish
