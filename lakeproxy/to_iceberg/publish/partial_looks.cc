#include "lakeproxy/to_iceberg/publish/partial_looks.h"

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

namespace lake::publish {
namespace {

constexpr base::AtOnce kLooksAtOnce{8};

}  // namespace

base::Task<base::Status> look_into_delete_files(base::RequestContext context,
                                                exporter::Exporter* exporter,
                                                model::LakeChanges* changes) {
  const auto wanted = materialize::delete_files_to_read(*changes);
  auto look = [&](std::size_t i) { return exporter->row_ends(context, wanted[i]); };
  auto keep = [&](std::size_t i, std::shared_ptr<const model::RowEnds> ends) {
    if (ends) changes->row_ends.emplace(wanted[i]->id, std::move(ends));
    return base::Status{};
  };
  co_return co_await base::gather_few(kLooksAtOnce, wanted.size(), look, keep);
}

}  // namespace lake::publish
