#pragma once

// The five things that tools do with files, as plain blocking calls on values:
// no JSON and no coroutines here. One file each: read.cc, write.cc, list.cc,
// remove.cc, and stat in file_store.cc.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/connectors/files/byte_quota.h"
#include "toolserver/connectors/files/name_rules.h"
#include "toolserver/connectors/files/path_resolver.h"
#include "toolserver/connectors/files/watch.h"

namespace tool::files {

enum class Encoding : std::uint8_t { kText, kBase64 };
enum class WriteMode : std::uint8_t {
  kCreate,   ///< The name must be free.
  kReplace,  ///< Whatever file has the name gives way; it may also be free.
};
enum class Effect : std::uint8_t { kApply, kRehearse };  ///< kRehearse checks and changes nothing.
enum class Recursion : std::uint8_t { kNo, kYes };

struct ReadRequest {
  RelativePath path;
  std::uint64_t offset = 0;             ///< Bytes.
  std::optional<std::uint64_t> length;  ///< Bytes; to the end when unset.
  Encoding encoding = Encoding::kText;
};
struct ReadAnswer {
  std::string bytes;
  std::uint64_t size = 0;  ///< Of the whole file.
  bool end = false;        ///< Nothing follows these bytes.
};

struct WriteRequest {
  RelativePath path;
  std::string bytes;
  WriteMode mode = WriteMode::kCreate;
  Effect effect = Effect::kApply;
};
struct WriteAnswer {
  bool created = false;  ///< There was no file before.
};

struct ListRequest {
  RelativePath folder = RelativePath::root();
  Recursion recursion = Recursion::kNo;
  std::optional<RelativePath> after;  ///< The last entry of the page before, from the root.
};
struct ListedEntry {
  RelativePath path;
  FileFacts facts;
};
struct ListAnswer {
  std::vector<ListedEntry> entries;  ///< Folders before their contents, names in byte order.
  bool complete = true;              ///< False: go on after the last entry.
};
/// Told the number of entries looked at, from the thread that lists.
using Visited = std::function<void(std::uint64_t)>;

/// What the start found, for the log.
struct StartReport {
  Mechanism mechanism = Mechanism::kWalk;
  std::uint64_t files = 0;    ///< Below the root.
  std::uint64_t bytes = 0;    ///< Of these files.
  std::uint64_t removed = 0;  ///< Left-overs of interrupted writes.
};

/// Safe to use from any thread. Every call blocks. Errors of all calls:
///   kForbidden    the place or the name is not allowed, or the operation is not;
///   kNotFound     there is no such file or folder;
///   kUnsupported  a file where a folder is needed, or the other way round;
///   kTooLarge     over a cap;
///   kTimeout, kCancelled  by the watch;
///   kUnavailable  no room just now; nothing was changed; retry;
///   kInternal     the file system failed.
class FileStore {
 public:
  /// Opens the root, counts its files when there is a quota, and removes what
  /// interrupted writes left when writing is allowed. `random` outlives it.
  /// Errors: kInvalid  an option breaks its rule; kTooLarge  more entries than
  ///         can be counted; kUnsupported  see PathResolver::open.
  [[nodiscard]] static base::Result<std::unique_ptr<FileStore>> open(FilesOptions options,
                                                                     base::Random& random);

  [[nodiscard]] const StartReport& report() const { return report_; }

  /// Errors also: kInvalid  kText, and the bytes are not UTF-8 or the range
  ///              starts within a character; the range lies behind the end.
  [[nodiscard]] base::Result<ReadAnswer> read(const ReadRequest& request, const Watch& watch) const;

  /// Readers see the old file or the new one, whole, also after a crash; when
  /// it returns the new one is on the disk.
  /// Errors also: kAlreadyExists  kCreate, and the name is taken;
  ///              kOutcomeUnknown  the new file stands, and the disk did not
  ///              confirm that it stays.
  [[nodiscard]] base::Result<WriteAnswer> write(const WriteRequest& request, const Watch& watch);

  /// At most list_cap entries and 1 MiB of names. Shows folders and allowed
  /// files only. Files that appear meanwhile may be missed.
  [[nodiscard]] base::Result<ListAnswer> list(const ListRequest& request, const Watch& watch,
                                              const Visited& visited) const;

  [[nodiscard]] base::Result<FileFacts> stat(const RelativePath& path) const;

  /// Deletes the file that was checked: the name must still mean it when the
  /// name is removed. Between this last look and the removal another process
  /// can give the name to another file; that one is then removed. It stands in
  /// the same folder below the root, since the removal names an entry of the
  /// checked folder and follows nothing.
  /// Errors also: kOutcomeUnknown  removed, and not confirmed by the disk.
  [[nodiscard]] base::Status remove(const RelativePath& path, Effect effect);

 private:
  FileStore(FilesOptions options, NameRules rules, PathResolver resolver, base::Random& random,
            StartReport report);
  /// Refuses by the name alone.
  [[nodiscard]] base::Status check_file_name(const RelativePath& path) const;
  [[nodiscard]] base::Status check_folder_name(const RelativePath& path) const;
  /// The file that `path` names now, if any. Errors: as require_plain_file.
  [[nodiscard]] base::Result<std::optional<FileFacts>> replaceable(int folder,
                                                                   const std::string& name) const;
  [[nodiscard]] base::Result<WriteAnswer> publish(int folder, const std::string& temporary,
                                                  const WriteRequest& request);

  FilesOptions options_;
  NameRules rules_;
  PathResolver resolver_;
  base::Random* random_;
  StartReport report_;
  ByteQuota quota_;
  /// Held from the last check of a name to its change, so that our own writers
  /// and deleters do not run into each other there.
  std::mutex names_;
};

}  // namespace tool::files
