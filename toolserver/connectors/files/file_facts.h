#pragma once

// What a file is, asked of the opened file and not of its name: a name can
// change its meaning between two questions, an open file cannot.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace tool::files {

enum class FileKind : std::uint8_t {
  kFile,
  kFolder,
  kLink,   ///< A symbolic link. Never followed.
  kOther,  ///< A pipe, socket or device. Never opened.
};

struct FileFacts {
  FileKind kind = FileKind::kOther;
  std::uint64_t size = 0;   ///< Bytes; of files only.
  std::uint32_t links = 0;  ///< Names that this file has.
  std::uint32_t mode = 0;   ///< Permission bits.
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::optional<std::uint64_t> mount;  ///< Where the kernel tells it.
  base::WallTime modified{};
};

/// Of an open file; `fd` may be an O_PATH descriptor.
/// Errors: as system_error().
[[nodiscard]] base::Result<FileFacts> facts_of(int fd);
/// Of an entry of an open folder. A link is not followed.
/// Errors: as system_error().
[[nodiscard]] base::Result<FileFacts> facts_at(int folder, const std::string& name);

[[nodiscard]] bool same_file(const FileFacts& a, const FileFacts& b);
/// Whether both stand on one mount, as far as the kernel tells; else whether
/// they stand on one device.
[[nodiscard]] bool same_mount(const FileFacts& a, const FileFacts& b);

/// An errno as an error whose message shows no path:
/// kNotFound  no such file, or a part of the path is not a folder;
/// kForbidden  the host refuses it, or it leads over a link or a mount;
/// kAlreadyExists, kTooLarge (a quota or the disk is full), kUnavailable (out
/// of descriptors or memory), kInternal for all others. The detail names it.
[[nodiscard]] base::Error system_error(int code);
/// The one message of every refusal of a place.
[[nodiscard]] base::Error not_allowed(std::string detail);

}  // namespace tool::files
