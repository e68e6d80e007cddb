#include "http.hpp"

#include <httplib.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "answers.hpp"
#include "live_assets.hpp"
#include "stepcast/base/palette.hpp"

namespace stepcast {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* json_type = "application/json";

/// Takes as long whatever is wrong.
bool same(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

/// A port does not matter for loopback names: a tunnel may begin anywhere.
bool known_host(const std::string& host, const ServeSettings& settings) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  const std::string name = has_port ? host.substr(0, colon) : host;
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return std::ranges::any_of(settings.allowed_hosts, [&](const std::string& allowed) {
    return allowed == host || allowed == name;
  });
}

/// Nothing: the request may go on.
std::optional<ApiAnswer> refusal(const Request& request, const ServeSettings& settings) {
  // Of two, a proxy may have judged the other one.
  for (const char* name : {"Host", "Origin", "Sec-Fetch-Site", "X-Stepcast-Token", "Content-Length",
                           "Content-Type", "Transfer-Encoding", "Content-Encoding"})
    if (request.get_header_value_count(name) > 1)
      return refused(400, "the header " + std::string(name) + " stands twice, allowed: once");
  const std::string host = request.get_header_value("Host");
  if (!known_host(host, settings)) return refused(403, "this name is not served");
  const std::string origin = request.get_header_value("Origin");
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
    return refused(403, "another site asks");
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none" && request.path != "/")
    return refused(403, "another site asks");
  if (request.method != "GET" && request.method != "POST")
    return refused(405, "allowed: GET and POST");
  if (request.path.starts_with("/api/") &&
      !same(request.get_header_value("X-Stepcast-Token"), settings.token))
    return refused(401,
                   "the token is missing or wrong: open the address that stepcast serve printed");
  if (request.has_header("Transfer-Encoding")) return refused(411, "give a Content-Length");
  if (request.has_header("Content-Encoding")) return refused(415, "allowed: no compression");
  if (request.method == "GET") return {};
  const std::string length = request.get_header_value("Content-Length");
  if (length.empty() || !std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; }))
    return refused(411, "give a Content-Length");
  if (length.size() > 8 || std::stoul(length) > most_request_bytes)
    return refused(413, "allowed: 1 MiB");
  if (!request.get_header_value("Content-Type").starts_with(json_type))
    return refused(415, "allowed: application/json");
  return {};
}

void give(Response& response, const ApiAnswer& answer) {
  response.status = answer.status;
  response.set_header("Cache-Control", "no-store");
  response.set_content(answer.json, json_type);
}

void set_limits(httplib::Server& server) {
  // One request per connection: what a refused request did not send is never taken for another.
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  server.set_payload_max_length(most_request_bytes);
  server.set_default_headers(
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
}

}  // namespace

void set_up(httplib::Server& server, Answers& api, const ServeSettings& settings) {
  // Limits and refusals come before any handler and hold for each path.
  set_limits(server);
  server.set_pre_routing_handler([&settings](const Request& request, Response& response) {
    const std::optional<ApiAnswer> no = refusal(request, settings);
    if (!no) return httplib::Server::HandlerResponse::Unhandled;
    give(response, *no);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_exception_handler([](const Request&, Response& response, const std::exception_ptr&) {
    give(response, refused(500, "the question could not be answered"));
  });
  // Only where nothing has answered: refusals have their own text.
  server.set_error_handler([](const Request&, Response& response) {
    if (response.body.empty()) give(response, refused(response.status, "there is nothing here"));
  });
  const auto text = [&](const char* path, std::string_view content, const char* type) {
    server.Get(path, [content, type](const Request&, Response& response) {
      response.set_header("Cache-Control", "no-cache");
      response.set_content(content.data(), content.size(), type);
    });
  };
  text("/", live::html, "text/html; charset=utf-8");
  // Lives as long as the server, which keeps views of it.
  static const std::string style = palette_css() + std::string(live::style);
  text("/live.css", style, "text/css; charset=utf-8");
  text("/live.js", live::script, "text/javascript; charset=utf-8");
  server.Get("/api/hello", [&](const Request&, Response& response) {
    give(response, {200, api.hello()});
  });
  server.Get("/api/preset", [&](const Request& request, Response& response) {
    give(response, api.preset(request.get_param_value("name")));
  });
  for (const char* what :
       {"forecast", "bands", "pipeline", "explain", "scale", "choices", "edit", "import"})
    server.Post(std::string("/api/") + what,
                [&api, what](const Request& request, Response& response) {
                  give(response, api.post(what, request.body));
                });
}

}  // namespace stepcast
