/* Files and trees. What a sandbox left behind is hostile: links in it are never followed. */
#include "hopx-host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* Directories held open at a time; what lies deeper is first moved up to the tree's root. */
    MAX_DEPTH = 64
};

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* Splits an absolute path. Safe: PARENT has PATH_MAX bytes, longer paths are refused. */
static int split(const char *path, char parent[PATH_MAX], const char **name) {
    size_t length = strlen(path);
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || length >= PATH_MAX || slash[1] == 0 || strcmp(slash, "/.") == 0 ||
        strcmp(slash, "/..") == 0) {
        return failed_with(EINVAL, "accept path", path);
    }
    size_t size = slash == path ? 1 : (size_t)(slash - path);
    memcpy(parent, path, size);
    parent[size] = 0;
    *name = slash + 1;
    return 0;
}

/* The directory above PATH, and the last name; -1 with errno ENOENT kept when it is missing. */
static int open_parent(const char *path, const char **name) {
    char parent[PATH_MAX];
    if (split(path, parent, name) < 0) {
        return -1;
    }
    int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? failed("open directory", parent) : fd;
}

static int own(int fd, const char *path, uint64_t uid, uint64_t gid) {
    if (uid >= UINT32_MAX || gid >= UINT32_MAX) {
        return failed_with(EINVAL, "accept owner", path);
    }
    if (fchownat(fd, "", (uid_t)uid, (gid_t)gid, AT_EMPTY_PATH) < 0) {
        return failed("change owner", path);
    }
    return 0;
}

/* Undone when it cannot be given its owner; one that exists already is a failure. */
int make_directory(const char *path, uint64_t mode, uint64_t uid, uint64_t gid) {
    const char *name;
    if (mode > 07777) {
        return failed_with(EINVAL, "accept mode", path);
    }
    int parent = open_parent(path, &name);
    if (parent < 0) {
        return -1;
    }
    if (mkdirat(parent, name, 0700) < 0) {
        return failed("make directory", path);
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        failed("open directory", path);
    } else if (own(fd, path, uid, gid) == 0) {
        /* After the owner: a change of it clears the setuid and setgid bits. */
        if (fchmod(fd, (mode_t)mode) == 0) {
            return 0;
        }
        failed("change mode", path);
    }
    unlinkat(parent, name, AT_REMOVEDIR);
    return -1;
}

/* A link is changed itself. */
int change_owner(const char *path, uint64_t uid, uint64_t gid) {
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? failed("open", path) : own(fd, path, uid, gid);
}

/*
 * Removal. It must end well on any tree that a hostile guest can make: a million entries, names of
 * 255 bytes, nesting far deeper than PATH_MAX or the limit of open files. It holds at most
 * MAX_DEPTH directories open; a directory found below is renamed to the root of the tree, whose
 * pass comes back to it. Nothing is resolved through more than one name, links are not followed,
 * and another mount (a bind of the same file system as well) is a failure, never entered.
 */
struct removal {
    const char *path;
    int root;
    uint64_t next_name;
};

static int open_inside(int directory, const char *name) {
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
    };
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

static int empty(struct removal *removal, int directory, int depth);

/* Gives NAME, a directory too deep to enter, a fresh name in the root of the tree. */
static int move_up(struct removal *removal, int directory, const char *name) {
    for (;;) {
        char fresh[32];
        snprintf(fresh, sizeof fresh, ".removed-%llu", (unsigned long long)removal->next_name++);
        /* RENAME_NOREPLACE: the guest may have taken the name. */
        if (syscall(SYS_renameat2, directory, name, removal->root, fresh, 1) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return failed("move directory", removal->path);
        }
    }
}

/* Answers 1 when the entry was gone already, so that a damaged directory cannot keep us for ever. */
static int remove_entry(struct removal *removal, int directory, const char *name, int depth) {
    if (unlinkat(directory, name, 0) == 0) {
        return 0;
    }
    if (errno == ENOENT) {
        return 1;
    }
    /* EISDIR is Linux' answer to a directory, EPERM that of POSIX. */
    if (errno != EISDIR && errno != EPERM) {
        return failed("remove file", removal->path);
    }
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0) {
        return 0;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) {
        return failed("remove directory", removal->path);
    }
    if (depth == MAX_DEPTH) {
        return move_up(removal, directory, name);
    }
    int fd = open_inside(directory, name);
    if (fd < 0) {
        return failed(errno == EXDEV ? "remove a tree with a mount in it" : "open directory",
                      removal->path);
    }
    if (empty(removal, fd, depth + 1) < 0) {
        return -1;
    }
    return unlinkat(directory, name, AT_REMOVEDIR) < 0 && errno != ENOENT
               ? failed("remove directory", removal->path)
               : 0;
}

/* Takes over and closes DIRECTORY. */
static int empty(struct removal *removal, int directory, int depth) {
    DIR *stream = fdopendir(directory);
    if (stream == NULL) {
        int error = errno;
        close(directory);
        return failed_with(error, "read directory", removal->path);
    }
    /* Names that came while it was read (moved up, or passed by the cursor) need another pass. */
    int result = 0;
    bool found = true;
    while (result == 0 && found) {
        found = false;
        rewinddir(stream);
        struct dirent *entry;
        while (result >= 0 && (errno = 0, entry = readdir(stream)) != NULL) {
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
                result = remove_entry(removal, directory, entry->d_name, depth);
                found = found || result == 0;
            }
        }
        if (result >= 0) {
            result = errno == 0 ? 0 : failed("read directory", removal->path);
        }
    }
    closedir(stream);
    return result;
}

int remove_tree(const char *path) {
    const char *name;
    char parent_path[PATH_MAX];
    if (split(path, parent_path, &name) < 0) {
        return -1;
    }
    int parent = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return errno == ENOENT ? 0 : failed("open directory", parent_path);
    }
    int root = open_inside(parent, name);
    if (root < 0) {
        if (errno == ENOENT) {
            return 0;
        }
        if (errno == ENOTDIR || errno == ELOOP) {
            return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? failed("remove file", path)
                                                                    : 0;
        }
        return failed(errno == EXDEV ? "remove a tree that is a mount" : "open directory", path);
    }
    /* empty() closes its directory; the root is needed to the end, for what is moved up. */
    int pass = dup(root);
    if (pass < 0) {
        return failed("open directory", path);
    }
    struct removal removal = {.path = path, .root = root, .next_name = 0};
    if (empty(&removal, pass, 1) < 0) {
        return -1;
    }
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT
               ? failed("remove directory", path)
               : 0;
}
