#include "unstarve/storage/remote/credential_helper.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

constexpr std::size_t kShownOutput = 500;

// For the shell.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

struct Output {
  std::string text;
  int exit_code = 0;
};

// `timeout`, which PATH may lack, ends commands of credential_process that do not return.
Output run_python(const std::string& interpreter, const std::string& argument) {
  const std::string command = "PATH=\"$PATH:/usr/bin:/bin\" exec timeout 120 " + shell_word(interpreter) + " -c " +
                              shell_word(credentials_program()) + " " + argument + " </dev/null 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return {"", 127};
  Output output;
  std::array<char, 4096> piece;
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    output.text.append(piece.data(), count);
  const int status = ::pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

// A value of the reply; empty without. Values that become header lines have no control characters.
std::string value_of(const nlohmann::json& reply, const char* name, const std::string& operation) {
  const std::string value = reply.value(name, std::string());
  if (has_control(value)) {
    throw argument_error("{}: found a control character in '{}'; expected none", operation, name);
  }
  return value;
}

}  // namespace

BucketSettings parse_helper_output(std::string_view output, const std::string& operation) {
  const std::size_t begin = output.rfind("\n{");
  if (begin == std::string_view::npos) {
    throw internal_error("{}: found '{}' as the output of Python; expected credentials as JSON", operation,
                         trim(output).substr(0, kShownOutput));
  }
  const std::string_view line = output.substr(begin + 1, output.find('\n', begin + 1) - begin - 1);
  const auto reply = try_parse_json(line);
  const auto value = [&](const char* name) { return value_of(reply, name, operation); };
  try {
    if (!reply.is_object()) throw internal_error("{}: found invalid JSON as the output of Python", operation);
    if (reply.contains("error")) throw argument_error("{}: {}", operation, value("error"));
    BucketSettings settings;
    if (reply.contains("key")) settings.key = SigningKey{value("key"), value("secret"), value("token")};
    settings.bearer = value("bearer");
    settings.query = value("query");
    settings.why_unsigned = value("unsigned");
    settings.region = value("region");
    settings.endpoint_url = value("endpoint_url");
    settings.addressing_style = value("addressing_style");
    if (const auto expires = reply.value("expires", std::int64_t{0}); expires != 0) {
      settings.expires = std::chrono::system_clock::time_point(std::chrono::seconds(expires));
    }
    return settings;
  } catch (const nlohmann::json::exception&) {  // its text may contain a secret
    throw internal_error("{}: found a value of another type in the output of Python", operation);
  }
}

BucketSettings ask_credential_helper(Scheme scheme) {
  const std::string store = scheme == Scheme::kGs ? "gs" : scheme == Scheme::kAz ? "az" : "s3";
  const std::string operation = "obtain credentials for " + store + "://", interpreter = python_interpreter().string();
  const Output output = run_python(interpreter, store);
  if (output.exit_code == 124) {
    throw Error(ErrorKind::kIo, operation + ": no reply after 120 s. Set credentials in the environment");
  }
  if (output.exit_code != 126 && output.exit_code != 127) return parse_helper_output(output.text, operation);
  BucketSettings none;
  none.why_unsigned = interpreter +
                      " cannot be run; expected Python, which obtains other credentials than those in the "
                      "environment. Set UNSTARVE_PYTHON to an interpreter with the packages of 'unstarve[" +
                      store + "]'";
  return none;
}

}  // namespace unstarve::remote
