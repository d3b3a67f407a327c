#include "toolserver/connectors/lake/query_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <filesystem>

#include "base/core/text.h"
#include "base/runtime/gather.h"

namespace tool::lake {
namespace {

using base::ErrorKind;

constexpr std::string_view kPrefix = "query-";
constexpr std::uint64_t kPart = 8ULL << 20;
constexpr std::size_t kAtOnce = 4;

base::Error bad_folder(const std::string& rule) {
  return base::fail(ErrorKind::kInvalid, "connectors.lake.scratch_dir: " + rule);
}

// gather_few() knows errors of base alone; what the lake said goes beside it.
struct Bringing {
  base::RequestContext context;
  LakeCatalog* catalog;
  base::http::LoopClients* store;
  base::BlockingPool* pool;
  std::vector<Wanted> wanted;
  std::string folder;
  std::optional<LakeError> failed = {};
  std::uint64_t bytes = 0;

  base::Error fail(LakeError error) {
    if (!failed) failed = std::move(error);
    return base::fail(ErrorKind::kUnavailable, "a file was not brought");
  }
};

base::Task<base::Result<base::files::Descriptor>> open_new(Bringing* all, std::string path) {
  const int fd = co_await all->pool->run([&path] {
    const int made =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return made < 0 ? -errno : made;
  });
  if (fd < 0) {
    co_return all->fail(refused(Code::kUpstream, "lake: no file can be made for the query",
                                fmt::format("errno {}", -fd)));
  }
  co_return base::files::Descriptor(fd);
}

base::Task<base::Status> bring_one(Bringing* all, std::size_t at) {
  const Wanted& one = all->wanted[at];
  auto get = co_await all->catalog->sign(one.table, one.file.path);
  if (!get) co_return all->fail(std::move(get).error());
  CO_ASSIGN_OR_RETURN(base::files::Descriptor to,
                      co_await open_new(all, all->folder + "/" + one.name));
  auto& client = all->store->of(co_await boost::asio::this_coro::executor);
  for (std::uint64_t from = 0; from < one.file.bytes; from += kPart) {
    const std::uint64_t size = std::min(kPart, one.file.bytes - from);
    base::http::ClientRequest request{.method = base::http::Method::kGet, .target = get->target};
    request.headers = get->headers;
    request.headers.add("Range", fmt::format("bytes={}-{}", from, from + size - 1));
    auto response = co_await client.send(all->context, std::move(request));
    if (!response) co_return all->fail(error_of(response.error()));
    if (response->status != 206 || response->body.size() != size) {
      co_return all->fail(refused(
          Code::kUpstream, "lake: the store did not give a file of the table; ask again",
          fmt::format("status {}, {} of {} bytes", response->status, response->body.size(), size)));
    }
    const bool written = co_await all->pool->run(
        [&] { return base::files::write_all(to.get(), response->body.view()); });
    if (!written) {
      co_return all->fail(
          refused(Code::kLimit, "lake: there is no room for the files of the query"));
    }
    all->bytes += size;
  }
  co_return base::Status{};
}

}  // namespace

base::Result<std::unique_ptr<ScratchFolder>> ScratchFolder::open(std::string path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
    return bad_folder("must be a folder that is there");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return bad_folder("must be closed to others (0700)");
  base::files::Descriptor lock(
      ::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return bad_folder("must be open to be written");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return bad_folder("is another service's: each needs one of its own");
  }
  std::error_code error;
  for (const auto& left : std::filesystem::directory_iterator(path, error)) {
    if (left.path().filename().string().starts_with(kPrefix)) {
      std::filesystem::remove_all(left.path(), error);
    }
  }
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path), std::move(lock)));
}

base::Result<QueryFolder> QueryFolder::make(const ScratchFolder& scratch, base::Random& random) {
  std::string path =
      scratch.path() + "/" + std::string(kPrefix) + base::to_string(base::make_uuid_v4(random));
  if (::mkdir(path.c_str(), 0700) != 0) {
    return base::fail(ErrorKind::kUnavailable, "no folder can be made for the query")
        .with_detail(fmt::format("errno {}", errno));
  }
  return QueryFolder(std::move(path));
}

QueryFolder::~QueryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

base::Task<LakeAnswer<Brought>> bring(base::RequestContext context, LakeCatalog* catalog,
                                      base::http::LoopClients* store, base::BlockingPool* pool,
                                      std::vector<Wanted> wanted, std::string folder) {
  Bringing all{context, catalog, store, pool, std::move(wanted), std::move(folder)};
  auto begin = [&all](std::size_t at) { return bring_one(&all, at); };
  base::Status done = co_await base::gather_few({kAtOnce}, all.wanted.size(), begin);
  if (all.failed) co_return *std::move(all.failed);
  if (!done) co_return error_of(done.error());
  co_return Brought{all.bytes};
}

}  // namespace tool::lake
