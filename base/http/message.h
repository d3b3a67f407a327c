#pragma once

// HTTP messages as plain values, so that no folder above this one sees Beast.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/byte_stream.h"

namespace base::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kDelete, kOther };

[[nodiscard]] std::string_view to_string(Method method);
[[nodiscard]] Method parse_method(std::string_view text);

/// Header fields in the order given; names compare without case.
class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;

    /// Whether this is its name, in whatever case.
    [[nodiscard]] bool is(std::string_view field_name) const;
  };

  void add(std::string name, std::string value) {
    fields_.push_back({std::move(name), std::move(value)});
  }
  void reserve(std::size_t count) { fields_.reserve(count); }
  /// Replaces every field of that name by one.
  void set(std::string_view name, std::string value);
  /// The first field of that name.
  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

/// A list of buffers that several responses may share: a cached document is sent as often as it is
/// asked for and copied never, also with another end for each who asks.
class Body {
 public:
  using Buffer = std::shared_ptr<const std::string>;

  Body() = default;
  Body(std::string text) : first_(std::make_shared<const std::string>(std::move(text))) {}
  Body(Buffer buffer) : first_(std::move(buffer)) {}

  /// `next`, which may be null, follows what is here.
  void append(Buffer next);

  /// The bytes of a body of one buffer at most, as all are that were received. Aborts for others.
  [[nodiscard]] std::string_view view() const;
  /// All bytes, copied.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::size_t size() const;
  /// All bytes go to the end of `out`.
  void append_to(std::string& out) const;
  /// The buffers in their order, which this body keeps.
  [[nodiscard]] std::vector<std::string_view> buffers() const;

 private:
  Buffer first_;
  std::vector<Buffer> more_;
};

/// A name or a value of form encoding, decoded: a space may stand as '+', a plus sign only as
/// "%2B". Nothing when it is broken.
[[nodiscard]] std::optional<std::string> decode_form(std::string_view text);

/// A request as received, whole. `target` is the raw request target.
struct Request {
  Method method = Method::kGet;
  std::string target;
  Headers headers;
  std::string body;
  std::string peer;        ///< Address of the client, without port.
  bool encrypted = false;  ///< Came over TLS.

  /// The target before '?', still percent-encoded.
  [[nodiscard]] std::string_view path() const;
  /// The decoded value of a query parameter, the first of that name; nothing
  /// when absent or broken. '+' is a space, as in form encoding.
  [[nodiscard]] std::optional<std::string> query(std::string_view name) const;
};

struct Response {
  unsigned status = 200;
  Headers headers;
  Body body;
  /// Set: the answer is 101 and the connection leaves HTTP. `headers` names the
  /// protocol in an Upgrade field; the body is not sent.
  Upgrade upgrade = nullptr;
  /// Set: the head is sent, and the body is what this task writes, a chunk with
  /// each write() of its stream and none with write_now(), until it ends; then
  /// the connection closes. `body` is not sent. What the task reads is the next
  /// request of a client that should have waited, or 0 once it is gone.
  Upgrade stream = nullptr;
  /// The peer has shown who it is: see ByteStream::vouch().
  bool vouched = false;
};

}  // namespace base::http
