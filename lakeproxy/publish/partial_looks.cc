#include "lakeproxy/publish/partial_looks.h"

#include <algorithm>

#include "base/runtime/gather.h"
#include "lakeproxy/materialize/snapshot/partial_files.h"

namespace lake::publish {
namespace {

constexpr std::size_t kLooksAtOnce = 8;

base::Task<base::Status> look_into_data_files(base::RequestContext context,
                                              exporter::Exporter* exporter,
                                              model::LakeChanges* changes) {
  const auto wanted = materialize::partial_files_to_read(*changes);
  for (std::size_t begin = 0; begin < wanted.size(); begin += kLooksAtOnce) {
    const std::size_t end = std::min(begin + kLooksAtOnce, wanted.size());
    std::vector<base::Task<base::Result<std::shared_ptr<const model::RowBegins>>>> looks;
    for (std::size_t i = begin; i < end; ++i) {
      looks.push_back(exporter->row_begins(context, &changes->data_files.at(wanted[i])));
    }
    auto results = co_await base::gather(std::move(looks));
    for (std::size_t i = begin; i < end; ++i) {
      auto& result = results[i - begin];
      if (!result) co_return std::move(result).error();
      if (*result) changes->row_begins.emplace(wanted[i], std::move(*result));
    }
  }
  co_return base::Status{};
}

base::Task<base::Status> look_into_delete_files(base::RequestContext context,
                                                exporter::Exporter* exporter,
                                                model::LakeChanges* changes) {
  const auto wanted = materialize::delete_files_to_read(*changes);
  for (std::size_t begin = 0; begin < wanted.size(); begin += kLooksAtOnce) {
    const std::size_t end = std::min(begin + kLooksAtOnce, wanted.size());
    std::vector<base::Task<base::Result<std::shared_ptr<const model::RowEnds>>>> looks;
    for (std::size_t i = begin; i < end; ++i) {
      looks.push_back(exporter->row_ends(context, wanted[i]));
    }
    auto results = co_await base::gather(std::move(looks));
    for (std::size_t i = begin; i < end; ++i) {
      auto& result = results[i - begin];
      if (!result) co_return std::move(result).error();
      changes->row_ends.emplace(wanted[i]->id, std::move(*result));
    }
  }
  co_return base::Status{};
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
