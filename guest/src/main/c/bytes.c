#include <string.h>

#include "init.h"

// Everything below relies on this one comparison: `length` bytes lie between `at` and `end`.
static bool take(struct reader *reader, size_t length) {
  if (reader->bad || (size_t)(reader->end - reader->at) < length) {
    reader->bad = true;
    return false;
  }
  return true;
}

static uint64_t read_integer(struct reader *reader, size_t size) {
  uint64_t value = 0;
  if (take(reader, size)) {
    for (size_t i = 0; i < size; i++) value = value << 8 | reader->at[i];
    reader->at += size;
  }
  return value;
}

uint8_t read_u8(struct reader *reader) { return (uint8_t)read_integer(reader, 1); }
uint16_t read_u16(struct reader *reader) { return (uint16_t)read_integer(reader, 2); }
uint32_t read_u32(struct reader *reader) { return (uint32_t)read_integer(reader, 4); }
uint64_t read_u64(struct reader *reader) { return read_integer(reader, 8); }

struct text read_text(struct reader *reader) {
  uint32_t length = read_u32(reader);
  struct text text = {reader->at, 0};
  if (take(reader, length)) {
    text.length = length;
    reader->at += length;
  }
  return text;
}

bool reader_finished(const struct reader *reader) {
  return !reader->bad && reader->at == reader->end;
}

bool text_has_nul(struct text text) {
  return text.length > 0 && memchr(text.data, 0, text.length) != NULL;
}

static uint8_t *write_integer(uint8_t *at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; i++) at[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
  return at + size;
}

uint8_t *write_u8(uint8_t *at, uint8_t value) { return write_integer(at, value, 1); }
uint8_t *write_u16(uint8_t *at, uint16_t value) { return write_integer(at, value, 2); }
uint8_t *write_u32(uint8_t *at, uint32_t value) { return write_integer(at, value, 4); }
uint8_t *write_u64(uint8_t *at, uint64_t value) { return write_integer(at, value, 8); }

uint8_t *write_bytes(uint8_t *at, const void *data, size_t length) {
  if (length > 0) memcpy(at, data, length);
  return at + length;
}
