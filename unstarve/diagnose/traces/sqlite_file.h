#pragma once
// An SQLite database that is read: queries row by row.
//
// Ownership: a SqliteFile owns the connection, which its Rows must not outlive; Rows owns its statement.
// Threads:   one.
// Failure:   Error(kIo) if the file cannot be opened or read; Error(kInput) if it is damaged or a query does not fit.
// Cost:      SQLite's page cache, 2 MB.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace unstarve {

class SqliteFile {
 public:
  explicit SqliteFile(const std::string& path);
  // A database in memory, which must outlive this object; `name` is for messages.
  SqliteFile(std::span<const std::uint8_t> bytes, std::string name);

  [[nodiscard]] bool has_table(std::string_view table) const;
  [[nodiscard]] bool has_column(std::string_view table, std::string_view column) const;

  class Rows {
   public:
    // Moves to the next row, at first to the first one. False after the last one.
    [[nodiscard]] bool next();
    // Of the current row; 0 and "" for NULL. Text is valid until the next call of next().
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] std::string_view text(int column) const;
    [[nodiscard]] bool is_null(int column) const;
    // Sets the first parameter and starts again.
    void restart(std::int64_t parameter);

   private:
    friend class SqliteFile;
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const noexcept;
    };
    const SqliteFile* file_ = nullptr;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  };
  [[nodiscard]] Rows query(const std::string& sql) const;

 private:
  [[noreturn]] void fail(int code) const;
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace unstarve
