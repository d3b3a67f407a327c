#pragma once

// What an operator decides about a folder that tools may reach.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "toolserver/model/capability.h"

namespace tool::files {

enum class Permission : std::uint8_t { kRefused, kAllowed };

/// How a path is walked; see path_resolver.h. kBest takes kOpenat2 where the
/// kernel has it.
enum class MechanismChoice : std::uint8_t { kBest, kOpenat2, kWalk };

struct FilesOptions {
  std::string root;                     ///< Absolute path of an existing folder, not "/".
  std::vector<std::string> extensions;  ///< Allowed ones, without dot: "csv". Not empty.
  std::string space = "files";          ///< The namespace of the tools' names.
  Permission allow_write = Permission::kRefused;
  Permission allow_delete = Permission::kRefused;
  Permission allow_hidden = Permission::kRefused;  ///< Names that start with a dot.
  std::uint64_t read_cap = 10 << 20;               ///< Bytes that one read returns.
  std::uint64_t write_cap = 5 << 20;               ///< Bytes of one file written.
  std::size_t list_cap = 10'000;                   ///< Entries of one page of a listing.
  std::size_t calls = 4;                           ///< At once.
  std::optional<std::uint64_t> quota;  ///< Bytes of all files below the root, for writes.
  ConsentRule write_consent = ConsentRule::kFirst;
  ConsentRule delete_consent = ConsentRule::kAlways;
  MechanismChoice mechanism = MechanismChoice::kBest;
};

}  // namespace tool::files
