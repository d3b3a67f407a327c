#include "toolserver/client/token_source.h"

#include <utility>

namespace tool::client {
namespace {

Fault token_fault(const base::Error& error) {
  Code code = Code::kUpstream;
  if (error.kind() == base::ErrorKind::kUnauthenticated) code = Code::kAuth;
  if (error.kind() == base::ErrorKind::kTimeout) code = Code::kTimeout;
  if (error.kind() == base::ErrorKind::kCancelled) code = Code::kCancelled;
  Fault fault = refuse(code, error.message());
  fault.detail = error.detail();
  return fault;
}

}  // namespace

Outcome<std::shared_ptr<TokenSource>> TokenSource::create(boost::asio::any_io_executor loop,
                                                          const ClientOptions& options,
                                                          const base::Clock& clock) {
  if (!options.provider && !options.fresh_token) return nullptr;
  auto made = std::make_shared<TokenSource>();
  if (options.provider) {
    auto provider =
        base::jose::ClientCredentials::create(std::move(loop), *options.provider, clock);
    if (!provider) return to_fault(std::move(provider).error());
    made->provider_ = std::move(*provider);
  } else {
    made->asked_ = options.fresh_token;
  }
  return made;
}

base::Task<Outcome<base::Secret>> TokenSource::fresh(base::RequestContext context) {
  if (!provider_) {
    auto token = co_await asked_();
    if (!token) co_return token_fault(token.error());
    co_return std::move(*token);
  }
  provider_->forget();
  auto token = co_await provider_->token(context);
  if (!token) co_return token_fault(token.error());
  co_return std::move(token->value);
}

base::Task<void> TokenSource::wait() {
  if (provider_) co_await provider_->wait();
}

}  // namespace tool::client
