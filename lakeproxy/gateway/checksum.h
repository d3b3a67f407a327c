#pragma once

// The checksums that S3 clients put at the end of a body.
// Source: Amazon S3 User Guide, "Checking object integrity".

#include <memory>
#include <string>
#include <string_view>

namespace lake::gateway {

/// Of data that comes in parts. One of crc32, crc32c, crc64nvme, sha1, sha256.
class Checksum {
 public:
  virtual ~Checksum() = default;
  virtual void update(std::string_view part) = 0;
  /// As S3 has it: base64 of the bytes in network order. Once.
  [[nodiscard]] virtual std::string finish() = 0;

  /// For a field such as "x-amz-checksum-crc32c", in whatever case; null for others.
  [[nodiscard]] static std::unique_ptr<Checksum> of_field(std::string_view name);
};

}  // namespace lake::gateway
