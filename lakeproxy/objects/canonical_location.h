#pragma once

// Hadoop's file systems write "s3a://" and "s3n://" where others write "s3://".
// Whoever asks whether something names an object compares the canonical spelling,
// or an object that is needed looks like nobody's.

#include <string>
#include <string_view>

namespace lake::objects {

/// The location with "s3://" in the place of "s3a://" and "s3n://"; any other text as
/// it is. For PostgreSQL lakeproxy_canonical() does the same
/// (db/migrations/0030_one_spelling.sql).
[[nodiscard]] std::string canonical(std::string_view location);

}  // namespace lake::objects
