#pragma once

// The trail lies in one folder as files named by the number of their first
// line, so that their order follows from their names and a crash between two
// files leaves nothing to guess. Only the last one grows.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::audit {

struct SegmentName {
  std::uint64_t first_seq = 0;
  std::string path;
};

/// "audit-<first seq, 16 digits>.jsonl" in `folder`.
[[nodiscard]] std::string segment_path(const std::string& folder, std::uint64_t first_seq);

/// The segments of a folder in their order; other files are passed over.
/// Errors: kNotFound  no such folder; kUnavailable  it cannot be read.
[[nodiscard]] base::Result<std::vector<SegmentName>> list_segments(const std::string& folder);

/// Holds a folder for one process; a second one is refused. Ends with the
/// process, however that ends.
class FolderLock {
 public:
  /// Makes the folder (mode 0700) when it is not there, and closes to others
  /// what is there: the folder and the files of the trail.
  /// Errors: kConflict  another process writes there; kUnavailable  the folder
  /// cannot be made, closed to others (it is somebody else's) or locked.
  [[nodiscard]] static base::Result<FolderLock> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();
  /// Something there was open to others.
  [[nodiscard]] bool tightened() const { return tightened_; }

 private:
  FolderLock(int fd, bool tightened) : fd_(fd), tightened_(tightened) {}
  int fd_;
  bool tightened_;
};

/// The file that grows. Not thread-safe but for sync().
class Segment {
 public:
  enum class Open : std::uint8_t { kNew, kExisting };

  /// Mode 0600. A new file is made durable with its folder's entry.
  /// Errors: kAlreadyExists  kNew and the file is there; kUnavailable  the
  /// system refuses; the detail says why.
  [[nodiscard]] static base::Result<Segment> open(const std::string& path, Open how);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// All of `bytes` or nothing: a part that got through is cut off again, if
  /// need be before the next append.
  /// Errors: kUnavailable  the system refuses: disk full, over a quota, I/O.
  [[nodiscard]] base::Status append(std::string_view bytes);
  /// Cuts the file to `size` bytes. Errors: kUnavailable.
  [[nodiscard]] base::Status cut_to(std::uint64_t size);
  /// Returns when what was appended before is durable. May run beside append().
  /// Errors: kUnavailable  the data may be lost; do not sync this file again.
  [[nodiscard]] base::Status sync() const;

 private:
  Segment(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  int fd_;
  std::uint64_t size_;
  bool is_ragged_ = false;  // Holds bytes after size_.
};

}  // namespace tool::audit
