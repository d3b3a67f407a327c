#pragma once

// An identity provider on a free loopback port: a real HTTPS server with a
// certificate of its own, whose next answers the test decides.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>

#include "base/core/clock.h"
#include "base/http/server.h"
#include "base/testing/child_process.h"

namespace base::jose::testing {

namespace asio = boost::asio;
using std::chrono::milliseconds;

class TestClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return time_; }
  void advance(std::chrono::seconds by) { time_ += by; }

 private:
  WallTime time_{std::chrono::seconds(1'795'251'600)};
};

/// A certificate that is its own root, for the given names.
class Certificate {
 public:
  explicit Certificate(const std::string& names) {
    EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    const unsigned char common_name[] = "identity provider";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, NID_subject_alt_name, names);
    X509_sign(certificate, key, EVP_sha256());
    write(files().certificate_chain, [&](FILE* to) { PEM_write_X509(to, certificate); });
    write(files().private_key,
          [&](FILE* to) { PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  [[nodiscard]] http::TlsFiles files() const {
    return {folder_.path() + "/chain.pem", folder_.path() + "/key.pem"};
  }

 private:
  static void add_extension(X509* certificate, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class Write>
  static void write(const std::string& path, Write write_to) {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    write_to(file);
    std::fclose(file);
  }

  base::testing::TemporaryFolder folder_;
};

enum class Holds { kNo, kUntilReleased };

struct Reply {
  unsigned status = 200;
  std::string body;
  std::string location;
  Holds holds = Holds::kNo;
};

class Provider {
 public:
  /// Plain HTTP without a certificate.
  explicit Provider(const Certificate* certificate) : plain_(certificate == nullptr), workers_(1) {
    http::ServerOptions options;
    if (certificate != nullptr)
      options.tls = std::make_unique<http::TlsFiles>(certificate->files());
    std::vector<http::Handler> handlers{
        [this](RequestContext, http::Request request) { return serve(this, std::move(request)); }};
    auto started = http::Server::start(
        std::move(options), workers_, std::move(handlers),
        [](unsigned status, std::string_view) { return http::Response{.status = status}; });
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }
  ~Provider() { release(); }

  void answer(Reply reply) {
    std::scoped_lock lock(mutex_);
    reply_ = std::move(reply);
  }
  void release() { released_ = true; }
  /// Stops to listen, as if the machine had gone.
  void stop() {
    release();
    server_->shutdown(milliseconds(1000));
  }

  [[nodiscard]] std::string url(std::string_view host = "127.0.0.1",
                                std::string_view path = "/keys?v=1") const {
    return fmt::format("{}://{}:{}{}", plain_ ? "http" : "https", host, server_->port(), path);
  }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int holding() const { return holding_; }
  [[nodiscard]] http::Request last() {
    std::scoped_lock lock(mutex_);
    return last_;
  }

 private:
  static Task<http::Response> serve(Provider* self, http::Request request) {
    Reply reply = self->note(std::move(request));
    if (reply.holds == Holds::kUntilReleased) {
      ++self->holding_;
      asio::steady_timer timer(co_await asio::this_coro::executor);
      while (!self->released_) {
        timer.expires_after(milliseconds(1));
        auto [ended] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        if (ended) break;
      }
    }
    http::Response response{.status = reply.status, .body = http::Body(reply.body)};
    if (!reply.location.empty()) response.headers.add("Location", reply.location);
    co_return response;
  }
  Reply note(http::Request request) {
    ++requests_;
    std::scoped_lock lock(mutex_);
    last_ = std::move(request);
    return reply_;
  }

  bool plain_;
  std::atomic<int> requests_ = 0;
  std::atomic<int> holding_ = 0;
  std::atomic<bool> released_ = false;
  std::mutex mutex_;
  Reply reply_;
  http::Request last_;
  Workers workers_;
  std::unique_ptr<http::Server> server_;
};

/// The event loop of the code under test, run by the test's own thread.
class LoopTest : public ::testing::Test {
 protected:
  template <class T>
  static Task<void> keep(Task<T> task, std::shared_ptr<std::optional<T>> into) {
    into->emplace(co_await std::move(task));
  }
  template <class T>
  std::shared_ptr<std::optional<T>> spawn(Task<T> task) {
    auto into = std::make_shared<std::optional<T>>();
    asio::co_spawn(loop, keep(std::move(task), into), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    return into;
  }
  /// Runs the loop until `done()`, at most ten seconds.
  template <class Done>
  void run_until(Done done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    loop.restart();
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      loop.run_one_for(milliseconds(2));
      if (loop.stopped()) loop.restart();
    }
  }
  template <class T>
  T run(Task<T> task) {
    auto result = spawn(std::move(task));
    run_until([&] { return result->has_value(); });
    return std::move(result->value());
  }
  void run_to_end(Task<void> task) {
    auto ended = std::make_shared<bool>(false);
    asio::co_spawn(loop, std::move(task), [ended](std::exception_ptr) { *ended = true; });
    run_until([&] { return *ended; });
  }

  asio::io_context loop;
  TestClock clock;
  Certificate certificate{"IP:127.0.0.1"};
};

}  // namespace base::jose::testing
