#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "toolserver/connectors/files/file_store.h"

namespace tool::files {

using base::ErrorKind;
using base::fail;
using base::Status;

Status FileStore::remove(const RelativePath& path, Effect effect) {
  if (options_.allow_delete != Permission::kAllowed) {
    return fail(ErrorKind::kForbidden, "deleting is not allowed here");
  }
  RETURN_IF_ERROR(check_file_name(path));
  ASSIGN_OR_RETURN(Opened folder, resolver_.open_folder(path.parent()));
  std::scoped_lock lock(names_);
  ASSIGN_OR_RETURN(Opened seen, resolver_.look_in(folder.fd.get(), path.leaf()));
  RETURN_IF_ERROR(require_plain_file(seen.facts));
  if (effect == Effect::kRehearse) return {};
  // The open descriptor keeps the inode number from being used again, so equal
  // numbers are one file.
  ASSIGN_OR_RETURN(FileFacts named, facts_at(folder.fd.get(), path.leaf()));
  if (!same_file(named, seen.facts)) return not_allowed("changed before it was deleted");
  RETURN_IF_ERROR(require_plain_file(named));
  if (::unlinkat(folder.fd.get(), path.leaf().c_str(), 0) != 0) return system_error(errno);
  quota_.give_back(named.size);
  if (::fsync(folder.fd.get()) != 0) {
    return fail(ErrorKind::kOutcomeUnknown, "deleted, but the disk did not confirm it");
  }
  return {};
}

}  // namespace tool::files
