-- A client that thinks before it asks again: each connection pauses `think_ms`
-- milliseconds (the first argument) before each request.
local think_ms = 1

function init(args)
  think_ms = tonumber(args[1]) or think_ms
end

function delay()
  return think_ms
end
