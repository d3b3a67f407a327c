#pragma once

// What an operator decides about the lake tools.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "base/http/client.h"
#include "base/jose/jws.h"
#include "toolserver/isolate/walls.h"

namespace tool::lake {

/// What callers are at the lake: its clients, or users of the identity provider that `issuer` is.
enum class Subjects : std::uint8_t { kClients, kUsers };

struct LakeOptions {
  base::http::Origin catalog;  ///< The lake's Iceberg REST catalog.
  std::string prefix;          ///< Its {prefix}.
  std::string name;            ///< What it calls itself: the issuer of its tokens.
  std::string client_id;       ///< Of this service at the lake.
  base::Secret client_secret;
  base::jose::Signer signer;  ///< Of statements about whom the service asks for.
  base::http::Origin store;   ///< Of the lake's objects.
  bool path_style = true;     ///< The bucket stands in the path of the store's addresses.
  std::string ca_file;        ///< PEM, for both; the system's roots when empty.
  /// Who vouches for the names that the lake knows: others' callers are refused.
  std::string issuer;
  Subjects subjects = Subjects::kClients;
  /// NAMESPACE.TABLE that callers may reach; empty: all that the lake lets them.
  std::vector<std::string> tables;
  /// For the files of one query, in a folder of its own there; of this service alone.
  std::string scratch_dir;
  std::uint64_t file_bytes = 1ULL << 30;  ///< Of all files of one query.
  std::size_t files = 2'000;
  std::uint64_t memory_bytes = 512ULL << 20;
  unsigned threads = 2;
  std::size_t rows = 10'000;
  std::size_t bytes = 8ULL << 20;  ///< Of one answer.
  std::chrono::milliseconds time{60'000};
  std::size_t calls = 4;  ///< At once.
  isolate::Demand demand = isolate::Demand::kWhatThereIs;
};

}  // namespace tool::lake
