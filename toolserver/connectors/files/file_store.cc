#include "toolserver/connectors/files/file_store.h"

#include "toolserver/connectors/files/sweep.h"

namespace tool::files {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

FileStore::FileStore(FilesOptions options, NameRules rules, PathResolver resolver,
                     base::Random& random, StartReport report)
    : options_(std::move(options)),
      rules_(std::move(rules)),
      resolver_(std::move(resolver)),
      random_(&random),
      report_(report),
      quota_(options_.quota, report.bytes) {}

Result<std::unique_ptr<FileStore>> FileStore::open(FilesOptions options, base::Random& random) {
  if (options.list_cap == 0) return fail(ErrorKind::kInvalid, "list_cap: must be at least 1");
  ASSIGN_OR_RETURN(NameRules rules, NameRules::make(options));
  ASSIGN_OR_RETURN(PathResolver resolver, PathResolver::open(options.root, options.mechanism));
  StartReport report{.mechanism = resolver.mechanism()};
  if (options.allow_write == Permission::kAllowed) {
    // Without a quota nothing hangs on the count: a root too large to walk
    // keeps its left-overs, which no tool shows.
    auto swept = sweep(resolver, options.allow_write, report);
    bool passing = !options.quota && !swept && swept.error().kind() == ErrorKind::kTooLarge;
    if (!passing) RETURN_IF_ERROR(std::move(swept));
  }
  return std::unique_ptr<FileStore>(
      new FileStore(std::move(options), std::move(rules), std::move(resolver), random, report));
}

Status FileStore::check_folder_name(const RelativePath& path) const {
  if (!rules_.allows_segments(path)) return not_allowed("a hidden or reserved name");
  return {};
}

Status FileStore::check_file_name(const RelativePath& path) const {
  if (path.is_root()) return fail(ErrorKind::kUnsupported, "this is a folder");
  RETURN_IF_ERROR(check_folder_name(path));
  if (!rules_.allows_file(path.leaf())) {
    return fail(ErrorKind::kForbidden, "this extension is not allowed");
  }
  return {};
}

// A missing name with another extension is refused like an existing one: the
// answer tells nothing about files that the tool may not see.
Result<FileFacts> FileStore::stat(const RelativePath& path) const {
  RETURN_IF_ERROR(check_folder_name(path));
  if (path.is_root()) {
    ASSIGN_OR_RETURN(Opened root, resolver_.open_folder(path));
    return root.facts;
  }
  Status name_allowed = check_file_name(path);
  auto seen = [&]() -> Result<Opened> {
    ASSIGN_OR_RETURN(Opened folder, resolver_.open_folder(path.parent()));
    return resolver_.look_in(folder.fd.get(), path.leaf());
  }();
  if (seen && seen->facts.kind == FileKind::kFolder) return seen->facts;
  RETURN_IF_ERROR(std::move(name_allowed));
  if (!seen) return std::move(seen).error();
  RETURN_IF_ERROR(require_plain_file(seen->facts));
  return seen->facts;
}

}  // namespace tool::files
