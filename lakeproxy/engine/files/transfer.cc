#include "lakeproxy/engine/files/transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/engine/files/scratch.h"

namespace lake::exporter {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using storage::ObjectKey;
using storage::ObjectStore;

namespace {
const char* content_type(std::string_view location) {
  return location.ends_with(".puffin") ? "application/octet-stream"
                                       : "application/vnd.apache.parquet";
}
}  // namespace

base::Status ByteBudget::take(std::uint64_t bytes) {
  if (bytes > left_) {
    if (whole_ == nullptr) return fail(ErrorKind::kTooLarge, "more bytes than may be read");
    RETURN_IF_ERROR(whole_->take(bytes - left_));
    left_ = bytes;
  }
  left_ -= bytes;
  return {};
}

Result<ObjectKey> key_of(const ObjectStore& store, std::string_view location) {
  auto key = storage::key_in(store.bucket(), location);
  if (!key) return fail(ErrorKind::kCorrupt, "a file of the lake lies outside its bucket");
  return key;
}

Result<ObjectKey> key_below(const ObjectStore& store, const storage::Location& prefix,
                            std::string_view location) {
  auto place = storage::Location::parse(location);
  if (!place || place->bucket() != store.bucket() || !storage::is_under(*place, prefix)) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: not below the catalog's prefix {}", location, prefix.text()));
  }
  return place->key();
}

base::Error as_listed(base::Error error) {
  if (error.kind() != ErrorKind::kNotFound) return error;
  return fail(ErrorKind::kCorrupt, "a file of the lake does not exist").with_detail(error.detail());
}

base::Error as_given(base::Error error, std::string_view location) {
  if (error.kind() != ErrorKind::kNotFound && error.kind() != ErrorKind::kCorrupt) {
    return std::move(error).with_context(location);
  }
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", location, error.message()))
      .with_detail(error.detail());
}

Task<Result<std::int64_t>> upload(Means means, RequestContext context, std::string location,
                                  std::string bytes) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*means.store, location));
  auto size = static_cast<std::int64_t>(bytes.size());
  base::http::Body body(std::move(bytes));
  CO_ASSIGN_OR_RETURN(auto outcome, co_await means.store->put_if_absent(
                                        context, key, std::move(body), content_type(location)));
  if (outcome == storage::PutOutcome::kStored) co_return size;
  CO_ASSIGN_OR_RETURN(auto info, co_await means.store->head(context, key));
  co_return static_cast<std::int64_t>(info.size);
}

Task<Result<std::string>> get_exactly(Means means, RequestContext context, ObjectKey key,
                                      std::uint64_t begin, std::uint64_t length) {
  auto bytes = co_await means.store->get_range(context, std::move(key), begin, length);
  bool is_short = bytes ? bytes->size() != length : bytes.error().kind() == ErrorKind::kInvalid;
  if (is_short) co_return fail(ErrorKind::kCorrupt, "the object is shorter than its metadata says");
  co_return bytes;
}

Task<base::Status> bring(Means means, RequestContext context, ObjectKey key, std::string path,
                         std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    std::uint64_t wanted = std::min(kPartBytes, end - begin);
    CO_ASSIGN_OR_RETURN(std::string part, co_await get_exactly(means, context, key, begin, wanted));
    auto write = [path, begin, bytes = std::move(part)] {
      return write_file_at(path, begin, bytes);
    };
    CO_RETURN_IF_ERROR(co_await means.blocking->run(std::move(write)));
    begin += wanted;
  }
  co_return base::Status{};
}

}  // namespace lake::exporter
