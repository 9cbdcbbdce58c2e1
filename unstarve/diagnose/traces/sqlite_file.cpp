#include "unstarve/diagnose/traces/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {

void SqliteFile::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
void SqliteFile::Rows::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

SqliteFile::SqliteFile(const std::string& path) : path_(path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(code);
}

SqliteFile::SqliteFile(std::span<const std::uint8_t> bytes, std::string name) : path_(std::move(name)) {
  sqlite3* database = nullptr;
  int code = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(code);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  code = sqlite3_deserialize(database, "main", const_cast<unsigned char*>(bytes.data()), size, size,
                             SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) fail(code);
}

void SqliteFile::fail(int code) const {
  const bool damaged = code != SQLITE_CANTOPEN && code != SQLITE_IOERR && code != SQLITE_PERM && code != SQLITE_BUSY &&
                       code != SQLITE_LOCKED && code != SQLITE_NOMEM;
  throw Error(damaged ? ErrorKind::kInput : ErrorKind::kIo,
              fmt::format("read trace {}: {}; expected an SQLite database of Nsight Systems", path_,
                          database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code)));
}

SqliteFile::Rows SqliteFile::query(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()) + 1, &statement, nullptr);
  Rows rows;
  rows.file_ = this;
  rows.statement_.reset(statement);
  if (code != SQLITE_OK) fail(code);
  return rows;
}

bool SqliteFile::Rows::next() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) file_->fail(code);
  return code == SQLITE_ROW;
}

std::int64_t SqliteFile::Rows::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view SqliteFile::Rows::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool SqliteFile::Rows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void SqliteFile::Rows::restart(std::int64_t parameter) {
  sqlite3_reset(statement_.get());
  sqlite3_bind_int64(statement_.get(), 1, parameter);
}

bool SqliteFile::has_table(std::string_view table) const {
  Rows rows = query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')");
  while (rows.next())
    if (rows.text(0) == table) return true;
  return false;
}

bool SqliteFile::has_column(std::string_view table, std::string_view column) const {
  Rows rows = query(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
  while (rows.next())
    if (rows.text(0) == column) return true;
  return false;
}

}  // namespace unstarve
