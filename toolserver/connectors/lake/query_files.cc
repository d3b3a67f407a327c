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

// A file of so many bytes comes whole; of a larger one so many from its end, which hold most
// footers.
constexpr std::uint64_t kEnd = 64 << 10;

std::uint64_t length_of(const ByteRange& range) { return range.end - range.begin; }

LakeError no_room() {
  return refused(Code::kLimit, "lake: there is no room for the files of the query");
}

// A hole of the whole length, which is filled as parts come. An error number of the system.
int make_hole(const std::string& path, std::uint64_t bytes) {
  const base::files::Descriptor made(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.valid() || ::ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) return errno;
  return 0;
}

bool write_at(const std::string& path, std::string_view bytes, std::uint64_t at) {
  const base::files::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  while (file.valid() && !bytes.empty()) {
    const ssize_t now = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(now));
    at += static_cast<std::uint64_t>(now);
  }
  return file.valid();
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

std::optional<std::uint64_t> footer_bytes(std::string_view last) {
  constexpr std::size_t kLast = 8;
  if (last.size() != kLast || !last.ends_with("PAR1")) return std::nullopt;
  std::uint64_t bytes = 0;
  for (std::size_t i = 4; i-- > 0;) bytes = bytes << 8 | static_cast<std::uint8_t>(last[i]);
  return bytes;
}

QueryFiles::QueryFiles(base::RequestContext context, LakeCatalog& catalog,
                       base::http::LoopClients& store, base::BlockingPool& pool, std::string folder,
                       std::uint64_t most_bytes)
    : context_(context),
      catalog_(catalog),
      store_(store),
      pool_(pool),
      folder_(std::move(folder)),
      most_bytes_(most_bytes) {}

base::Error QueryFiles::fail(LakeError error) {
  if (!failed_) failed_ = std::move(error);
  return base::fail(ErrorKind::kUnavailable, "a file was not brought");
}

std::string QueryFiles::add(File file) {
  file.name = fmt::format("f{}", files_.size());
  by_name_.emplace(file.name, files_.size());
  files_.push_back(std::move(file));
  return files_.back().name;
}

std::string QueryFiles::want_columns(const connectors::QualifiedName& table, const ScanFile& file) {
  return add({.table = table,
              .path = file.path,
              .name = {},
              .bytes = file.bytes,
              .held = file.bytes - std::min(file.bytes, kEnd)});
}

std::string QueryFiles::want_whole(const connectors::QualifiedName& table, const ScanFile& file) {
  File one{.table = table, .path = file.path, .name = {}, .bytes = file.bytes};
  if (file.vector) {
    one.begin = file.vector->offset;
    one.bytes = file.vector->bytes;
  }
  return add(std::move(one));
}

bool QueryFiles::is_whole(const std::string& name) const {
  auto found = by_name_.find(name);
  return found != by_name_.end() && files_[found->second].held == 0;
}

base::Task<base::Status> QueryFiles::open(std::size_t at) {
  File& file = files_[at];
  auto get = co_await catalog_.sign(file.table, file.path);
  if (!get) co_return fail(std::move(get).error());
  file.get = *std::move(get);
  const std::string path = folder_ + "/" + file.name;
  const int error = co_await pool_.run([&] { return make_hole(path, file.bytes); });
  if (error == EFBIG || error == ENOSPC) co_return fail(no_room());
  if (error != 0) {
    co_return fail(refused(Code::kUpstream, "lake: no file can be made for the query",
                           fmt::format("errno {}", error)));
  }
  co_return base::Status{};
}

base::Task<base::Status> QueryFiles::bring_piece(Piece piece) {
  File& file = files_[piece.file];
  auto& client = store_.of(co_await boost::asio::this_coro::executor);
  base::http::ClientRequest request{.method = base::http::Method::kGet, .target = file.get->target};
  request.headers = file.get->headers;
  request.headers.add("Range", fmt::format("bytes={}-{}", file.begin + piece.range.begin,
                                           file.begin + piece.range.end - 1));
  auto response = co_await client.send(context_, std::move(request));
  if (!response) co_return fail(error_of(response.error()));
  const std::uint64_t size = length_of(piece.range);
  if (response->status != 206 || response->body.size() != size) {
    co_return fail(refused(
        Code::kUpstream, "lake: the store did not give a file of the table; ask again",
        fmt::format("status {}, {} of {} bytes", response->status, response->body.size(), size)));
  }
  const std::string_view bytes = response->body.view();
  constexpr std::size_t kLast = 8;
  if (piece.range.end == file.bytes && size >= kLast) file.last = bytes.substr(size - kLast);
  const bool written = co_await pool_.run(
      [&] { return write_at(folder_ + "/" + file.name, bytes, piece.range.begin); });
  if (!written) co_return fail(no_room());
  co_return base::Status{};
}

base::Task<LakeAnswer<Brought>> QueryFiles::bring(std::vector<Piece> pieces) {
  std::vector<Piece> requests;
  for (Piece piece : pieces) {
    // Sizes are a plan's, which may say anything.
    if (length_of(piece.range) > most_bytes_ - bytes_) {
      co_return mistake(
          fmt::format("what the statement reads of these tables has more than {} bytes, which is "
                      "what one query may read (connectors.lake.max_file_bytes): name fewer "
                      "columns, or ask for fewer rows in WHERE",
                      most_bytes_));
    }
    bytes_ += length_of(piece.range);
    for (; length_of(piece.range) > 0;
         piece.range.begin += requests.back().range.end - requests.back().range.begin) {
      requests.push_back(
          {piece.file,
           {piece.range.begin, piece.range.begin + std::min(kPart, length_of(piece.range))}});
    }
  }
  auto begin = [this, &requests](std::size_t at) { return bring_piece(requests[at]); };
  const base::Status done = co_await base::gather_few({kAtOnce}, requests.size(), begin);
  if (failed_) co_return *failed_;
  if (!done) co_return error_of(done.error());
  co_return Brought{};
}

base::Task<LakeAnswer<Brought>> QueryFiles::bring_ends() {
  auto begin = [this](std::size_t at) { return open(at); };
  const base::Status opened = co_await base::gather_few({kAtOnce}, files_.size(), begin);
  if (failed_) co_return *failed_;
  if (!opened) co_return error_of(opened.error());
  std::vector<Piece> ends;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    ends.push_back({i, {files_[i].held, files_[i].bytes}});
  }
  CO_RETURN_IF_ERROR(co_await bring(std::move(ends)));
  std::vector<Piece> footers;
  constexpr std::uint64_t kLast = 8;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    const auto footer = file.held > 0 ? footer_bytes(file.last) : std::nullopt;
    // What is no Parquet file the engine says.
    if (!footer || *footer > file.bytes - kLast) continue;
    const std::uint64_t from = file.bytes - kLast - *footer;
    if (from >= file.held) continue;
    footers.push_back({i, {from, file.held}});
    file.held = from;
  }
  co_return co_await bring(std::move(footers));
}

base::Task<LakeAnswer<Brought>> QueryFiles::bring_parts(std::vector<WantedParts> wanted) {
  std::vector<Piece> pieces;
  for (const WantedParts& one : wanted) {
    auto found = by_name_.find(one.name);
    const File* file = found != by_name_.end() ? &files_[found->second] : nullptr;
    for (ByteRange part : one.parts) {
      if (file == nullptr || part.begin > part.end || part.end > file->bytes) {
        co_return refused(Code::kInternal, "lake: the engine asked for what no file has");
      }
      part.end = std::min(part.end, file->held);
      if (part.begin < part.end) pieces.push_back({found->second, part});
    }
  }
  co_return co_await bring(std::move(pieces));
}

}  // namespace tool::lake
