// Removing a tree of any depth with one open directory: the way up is "..", checked against what the
// way down was. Links are never followed, and other file systems not entered.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

struct level {
  struct level *up;
  dev_t device;
  ino_t inode;
  char *names;  // of the sub-directories still to be removed, each with its NUL
  size_t length, capacity, at;
  char name[NAME_MAX + 1];
};

static bool keep_name(struct level *level, const char *name) {
  size_t length = strlen(name) + 1;
  if (level->length + length > level->capacity) {
    size_t capacity = 2 * level->capacity + length + 256;
    char *names = realloc(level->names, capacity);
    if (names == NULL) return false;
    level->names = names;
    level->capacity = capacity;
  }
  memcpy(level->names + level->length, name, length);
  level->length += length;
  return true;
}

static bool is_directory(int directory, const struct dirent *entry) {
  struct stat status;
  if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
  return fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

// Removes the files of a directory and keeps the names of its sub-directories.
static int clear_files(int directory, struct level *level) {
  int copy = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  DIR *entries = copy < 0 ? NULL : fdopendir(copy);
  if (entries == NULL) return errno;
  int error = 0;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(entries);
    if (entry == NULL) {
      error = errno;
      break;
    }
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (is_directory(directory, entry)) {
      if (!keep_name(level, name)) error = ENOMEM;
    } else if (unlinkat(directory, name, 0) < 0 && errno != ENOENT) {
      error = errno;
    }
    if (error != 0) break;
  }
  (void)closedir(entries);
  return error;
}

// Opens `name` in `directory` as the new current one; gives the new directory or -1 with errno.
static int descend(int directory, const char *name, struct level **levels) {
  struct stat status;
  int next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0) return -1;
  struct level *level = calloc(1, sizeof *level);
  int error = level == NULL ? ENOMEM : fstat(next, &status) < 0 ? errno : 0;
  if (error == 0 && *levels != NULL && (*levels)->device != status.st_dev) error = EBUSY;
  if (error != 0) {
    free(level);
    (void)close(next);
    errno = error;
    return -1;
  }
  level->up = *levels;
  level->device = status.st_dev;
  level->inode = status.st_ino;
  (void)strncpy(level->name, name, NAME_MAX);
  *levels = level;
  error = clear_files(next, level);
  if (error != 0) {
    (void)close(next);
    errno = error;
    return -1;
  }
  return next;
}

// Leaves the emptied current directory and removes it; gives its parent or -1 with errno.
static int ascend(int directory, int top, struct level **levels) {
  struct level *level = *levels;
  struct stat status;
  int parent = level->up == NULL ? top : openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  (void)close(directory);
  if (parent < 0) return -1;
  if (level->up != NULL) {
    if (fstat(parent, &status) < 0) return -1;
    if (status.st_dev != level->up->device || status.st_ino != level->up->inode) {
      errno = EBUSY;  // somebody moved it; what is up there now is not ours to remove
      return -1;
    }
  }
  if (unlinkat(parent, level->name, AT_REMOVEDIR) < 0 && errno != ENOENT) return -1;
  *levels = level->up;
  free(level->names);
  free(level);
  return parent;
}

uint32_t remove_tree(int top, const char *name) {
  struct level *levels = NULL;
  int directory = descend(top, name, &levels);
  if (directory < 0) return (uint32_t)errno;
  for (;;) {
    struct level *level = levels;
    if (level->at < level->length) {
      const char *next_name = level->names + level->at;
      level->at += strlen(next_name) + 1;
      int next = descend(directory, next_name, &levels);
      if (next >= 0) {
        (void)close(directory);
        directory = next;
      } else if (errno == ENOTDIR || errno == ELOOP) {
        if (unlinkat(directory, next_name, 0) < 0 && errno != ENOENT) return (uint32_t)errno;
      } else if (errno != ENOENT) {
        return (uint32_t)errno;
      }
      continue;
    }
    bool last = level->up == NULL;
    directory = ascend(directory, top, &levels);
    if (directory < 0) return (uint32_t)errno;
    if (last) return 0;
  }
}
