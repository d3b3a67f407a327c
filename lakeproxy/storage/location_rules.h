#pragma once

// Whoever may write under one prefix must not reach another one by a spelling
// that we and a storage server read differently: "..", "//", an escape, a
// query. Names are therefore parsed once, with every ambiguous form refused;
// what remains compares as text.

#include <compare>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace lake::storage {

/// The name of an object within its bucket: 1 to 1,024 bytes of UTF-8 that
/// XML can carry, in segments divided by '/', none of them empty, "." or "..".
/// Source: Amazon S3 User Guide, "Naming Amazon S3 objects".
class ObjectKey {
 public:
  /// Errors: kInvalid  breaks a rule above.
  [[nodiscard]] static base::Result<ObjectKey> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;

 private:
  explicit ObjectKey(std::string_view text) : text_(text) {}
  std::string text_;
};

/// 3 to 63 lower-case letters, digits, '-' and '.', not shaped like an address.
/// Source: Amazon S3 User Guide, "General purpose bucket naming rules".
[[nodiscard]] bool is_bucket_name(std::string_view text);

/// The location with "s3://" in the place of "s3a://" and "s3n://", which Hadoop's file
/// systems write for the same objects; any other text as it is. Whoever asks whether
/// something names an object compares this spelling, or an object that is needed looks
/// like nobody's. It judges nothing: Location::parse() does. For PostgreSQL
/// lakeproxy_canonical() does the same (db/1_names.sql).
[[nodiscard]] std::string canonical(std::string_view location);

/// A place in a bucket: an object, or a folder that objects lie under.
class Location {
 public:
  /// Takes "s3://bucket/path"; s3a and s3n mean the same place. The path may
  /// be empty (the whole bucket) and may end with '/' (a folder); for the rest
  /// the rules of ObjectKey hold. '%' is an ordinary character: nothing is
  /// decoded. '?' and '#' are refused, since readers disagree about them.
  /// Errors: kInvalid  anything else.
  [[nodiscard]] static base::Result<Location> parse(std::string_view url);

  [[nodiscard]] const std::string& bucket() const { return bucket_; }
  /// Without a leading '/'.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// "s3://bucket/path", whichever scheme it was read with.
  [[nodiscard]] std::string text() const;
  /// The object of that name. Errors: kInvalid  this is a folder.
  [[nodiscard]] base::Result<ObjectKey> key() const;

  friend bool operator==(const Location&, const Location&) = default;

 private:
  Location(std::string_view bucket, std::string_view path) : bucket_(bucket), path_(path) {}
  friend base::Result<Location> join(const Location& folder, std::string_view relative);

  std::string bucket_;
  std::string path_;
};

/// The place `relative` below `folder`, e.g. "data/a.parquet".
/// Errors: kInvalid  `relative` is empty, starts with '/', or breaks a rule.
[[nodiscard]] base::Result<Location> join(const Location& folder, std::string_view relative);

/// The object at `location`. Errors: kInvalid  not a location, or a folder;
///         kForbidden  in another bucket.
[[nodiscard]] base::Result<ObjectKey> key_in(const std::string& bucket, std::string_view location);

/// Whether `place` lies below `folder`, whole segments counted: "a/bc" is not
/// under "a/b", and no place is under itself.
[[nodiscard]] bool is_under(const Location& place, const Location& folder);

}  // namespace lake::storage
