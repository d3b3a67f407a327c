#pragma once

// Containment: a tool reaches what lies below one folder, and nothing else,
// also while somebody moves folders and plants links under its hands. Checking
// a name and then opening it loses that race; so every opening starts at a
// descriptor of the root, held since the start, and never passes a symbolic
// link, a "..", a magic link of /proc or a mount point.
//
// Two ways give the same guarantees. openat2 lets the kernel refuse all of
// these in one call. Where it is missing or filtered (old kernels, sandboxes),
// the walk opens one component after the other with O_NOFOLLOW and checks each
// opened descriptor.
//
// What remains: who may rename folders out of the root on the host can carry
// away a folder that is open here. What was written into it goes along; no
// file that was outside is ever reached.
// Source: Linux man-pages 6, openat2(2), "RESOLVE_*"; path_resolution(7).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/files/descriptor.h"
#include "toolserver/connectors/files/file_facts.h"
#include "toolserver/connectors/files/files_options.h"
#include "toolserver/connectors/files/relative_path.h"

namespace tool::files {

enum class Mechanism : std::uint8_t { kOpenat2, kWalk };
[[nodiscard]] std::string_view name(Mechanism mechanism);

/// An open file or folder and what it is.
struct Opened {
  base::files::Descriptor fd;
  FileFacts facts;
};

/// Safe to use from any thread. Every error of the opening functions is one of
/// system_error(): kForbidden covers links, mounts and what is neither file
/// nor folder, kUnavailable also a place that changes all the time.
class PathResolver {
 public:
  /// Opens the root. Its own path may lead over links: they are followed now
  /// and never again.
  /// Errors: kInvalid  not an absolute path of an existing folder, "/", or one
  ///                   with "..";
  ///         kUnsupported  `choice` is kOpenat2 and the kernel has none.
  [[nodiscard]] static base::Result<PathResolver> open(const std::string& root,
                                                       MechanismChoice choice);

  [[nodiscard]] Mechanism mechanism() const { return mechanism_; }

  /// A folder, for reading its entries and making new ones.
  [[nodiscard]] base::Result<Opened> open_folder(const RelativePath& path) const;
  /// The folder `name` of an open folder.
  [[nodiscard]] base::Result<Opened> open_folder_in(int folder, const std::string& name) const;
  /// A file or folder `name` of an open folder, to ask what it is: not for
  /// reading. Links and other kinds are kForbidden.
  [[nodiscard]] base::Result<Opened> look_in(int folder, const std::string& name) const;
  /// The regular file `name` of an open folder, for reading. One that has a
  /// second name is kForbidden: the other may lie outside. Pipes and devices
  /// are not even opened, since opening one can act. Errors also: kUnsupported
  /// it is a folder.
  [[nodiscard]] base::Result<Opened> open_file_in(int folder, const std::string& name) const;

 private:
  PathResolver(base::files::Descriptor root, FileFacts facts, Mechanism mechanism)
      : root_(std::move(root)), root_facts_(facts), mechanism_(mechanism) {}
  [[nodiscard]] base::Result<Opened> open_beneath(int from, std::span<const std::string> segments,
                                                  int flags) const;
  [[nodiscard]] base::Result<Opened> walk(int from, std::span<const std::string> segments,
                                          int flags) const;
  [[nodiscard]] base::Result<Opened> checked(base::files::Descriptor fd) const;

  base::files::Descriptor root_;
  FileFacts root_facts_;
  Mechanism mechanism_;
};

/// Errors: kForbidden  it has a second name, or is no file at all;
///         kConflict  it has no name any more;  kUnsupported  it is a folder.
[[nodiscard]] base::Status require_plain_file(const FileFacts& facts);

}  // namespace tool::files
