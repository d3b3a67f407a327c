#pragma once

// A Task is a coroutine that runs on the event loop that awaits it. I/O is
// written as Task<Result<T>>; everything else is a plain function.
//
// Rules that keep coroutines safe here: take parameters by value; no capturing
// lambda as a coroutine; hold no lock, and no view of something you do not
// own, across co_await; every spawned task has an owner that waits for it.

#include <boost/asio/awaitable.hpp>

#include "base/core/result.h"

namespace base {

template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace base
