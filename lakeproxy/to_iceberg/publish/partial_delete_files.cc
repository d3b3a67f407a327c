#include "lakeproxy/to_iceberg/publish/partial_delete_files.h"

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

namespace lake::publish {
namespace {

constexpr base::AtOnce kReadsAtOnce{8};

}  // namespace

base::Task<base::Status> read_partial_delete_files(base::RequestContext context,
                                                   exporter::Exporter* exporter,
                                                   model::LakeChanges* changes) {
  const auto wanted = materialize::delete_files_to_read(*changes);
  auto read = [&](std::size_t i) { return exporter->row_ends(context, wanted[i]); };
  auto keep = [&](std::size_t i, std::shared_ptr<const model::RowEnds> ends) {
    if (ends) changes->row_ends.emplace(wanted[i]->id, std::move(ends));
    return base::Status{};
  };
  co_return co_await base::gather_few(kReadsAtOnce, wanted.size(), read, keep);
}

}  // namespace lake::publish
