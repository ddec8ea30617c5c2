/* Disks of sandboxes: file system images that are attached as loop devices and mounted. */
#include "hopx-host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOP_MAJOR = 7,
    /* Whoever asks for a free device may lose it to another; so many losses are another fault. */
    MAX_CLAIMS = 256,
    MAX_DEVICE_PATH = 64,
    SETTLE_MILLISECONDS = 10000
};

/*
 * No discard: it punches a hole for each file that is removed, which makes rm -r twenty times as
 * slow; trim_disk does it in one go. The inode tables are not zeroed in the background: it would
 * fill the sparse image. No barriers: a mounted disk does not outlive the host's boot (settle_disk is
 * for those that are to), and a sandbox that calls fsync all the time must not slow the host's real
 * disk down.
 */
static const char mount_options[] = "noinit_itable,barrier=0,errors=remount-ro";

/* Freed space in smaller pieces stays with the image. */
static const uint64_t smallest_trim = 65536;

static int copy_range(int from, int to, off_t start, off_t end, const char *target) {
    off_t in = start;
    off_t out = start;
    while (in < end) {
        ssize_t copied = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);
        if (copied < 0) {
            return failed("copy image", target);
        }
        if (copied == 0) {
            return failed_with(EIO, "copy image", target);
        }
    }
    return 0;
}

/* Shares the blocks where the file system can, otherwise copies those that hold data. */
static int copy_content(int from, int to, off_t size, const char *target) {
    if (ioctl(to, FICLONE, from) == 0) {
        return 0;
    }
    if (ftruncate(to, size) < 0) {
        return failed("set size of image", target);
    }
    off_t end = 0;
    while (end < size) {
        off_t start = lseek(from, end, SEEK_DATA);
        if (start < 0) {
            return errno == ENXIO ? 0 : failed("look for data in image", target);
        }
        end = lseek(from, start, SEEK_HOLE);
        if (end < 0) {
            return failed("look for data in image", target);
        }
        if (copy_range(from, to, start, end, target) < 0) {
            return -1;
        }
    }
    return 0;
}

int copy_image(const char *source, const char *target) {
    int from = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (from < 0 || fstat(from, &status) < 0) {
        return failed("open image", source);
    }
    int to = open(target, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0) {
        return failed("make image", target);
    }
    if (copy_content(from, to, status.st_size, target) < 0) {
        unlink(target);
        return -1;
    }
    return 0;
}

/*
 * Gives what was freed on a mounted disk back to the host, when it is at least so many bytes: what
 * the image takes less what is in use. Does not touch anything inside.
 */
int trim_disk(const char *image, const char *target, uint64_t at_least) {
    struct stat status;
    struct statvfs usage;
    int disk = open(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (disk < 0 || fstatvfs(disk, &usage) < 0) {
        return failed("look at disk", target);
    }
    dev_t mounted = status.st_dev;
    if (lstat(image, &status) < 0) {
        return failed("look at image", image);
    }
    if (mounted == status.st_dev) {
        return 0; /* Not mounted, or not any more: the host's own disk is not ours to trim. */
    }
    uint64_t taken = (uint64_t)status.st_blocks * 512;
    uint64_t used = (uint64_t)(usage.f_blocks - usage.f_bfree) * usage.f_frsize;
    if (taken < used + at_least) {
        return 0;
    }
    struct fstrim_range all = {.start = 0, .len = UINT64_MAX, .minlen = smallest_trim};
    return ioctl(disk, FITRIM, &all) < 0 ? failed("trim disk", target) : 0;
}

static int open_device(int number, char path[MAX_DEVICE_PATH]) {
    snprintf(path, MAX_DEVICE_PATH, "/dev/loop%d", number);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        /* Where /dev is not the kernel's own, as in a container. */
        if (mknod(path, S_IFBLK | 0600, makedev(LOOP_MAJOR, (unsigned)number)) < 0 &&
            errno != EEXIST) {
            return -1;
        }
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return fd;
}

/* 1 when the device of this name, e.g. loop3, has the file behind it; 0 when not. */
static int has_behind(const char *name, const struct stat *image) {
    char path[MAX_DEVICE_PATH];
    if (strncmp(name, "loop", 4) != 0 || strspn(name + 4, "0123456789") != strlen(name + 4) ||
        strlen(name) > 12 || strlen(name) == 4) {
        return 0;
    }
    snprintf(path, sizeof path, "/sys/block/%s/loop", name); /* safe: the name has 12 bytes */
    if (access(path, F_OK) < 0) {
        return 0;
    }
    int device = open_device(atoi(name + 4), path);
    struct loop_info64 information;
    int found = device >= 0 && ioctl(device, LOOP_GET_STATUS64, &information) == 0 &&
                information.lo_inode == image->st_ino && information.lo_device == image->st_dev;
    if (device >= 0) {
        close(device);
    }
    return found;
}

/*
 * The kernel lets one image be attached twice, and then each of the two file systems ruins the
 * other. Two guards: the lock below is held by the loop device as long as it holds the file, so it
 * is exact among hopx servers in whatever mount namespace; the search finds what others attached.
 */
static int refuse_attached(int image, const char *path) {
    struct stat status;
    if (flock(image, LOCK_EX | LOCK_NB) < 0) {
        return failed_with(errno == EWOULDBLOCK ? EBUSY : errno, "attach disk, it is in use", path);
    }
    if (fstat(image, &status) < 0) {
        return failed("look at image", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return failed_with(EINVAL, "attach disk, it is no file", path);
    }
    DIR *devices = opendir("/sys/block");
    if (devices == NULL) {
        return failed("list block devices for disk", path);
    }
    int found = 0;
    for (struct dirent *entry = readdir(devices); entry != NULL && !found;
         entry = readdir(devices)) {
        found = has_behind(entry->d_name, &status);
    }
    closedir(devices);
    return found ? failed_with(EBUSY, "attach disk, it is in use", path) : 0;
}

/* The device frees itself when its last user lets go: this process, or later the mount. */
static int attach_image(int image, const char *path, char device_path[MAX_DEVICE_PATH]) {
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) {
        return failed("open loop control for disk", "/dev/loop-control");
    }
    for (int claim = 0; claim < MAX_CLAIMS; claim++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0) {
            return failed("find free loop device for disk", path);
        }
        int device = open_device(number, device_path);
        if (device < 0) {
            return failed("open loop device", device_path);
        }
        struct loop_config configuration = {.fd = (uint32_t)image,
                                            .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
        if (ioctl(device, LOOP_CONFIGURE, &configuration) == 0) {
            return device;
        }
        if (errno != EBUSY) {
            return failed("attach disk", path);
        }
        close(device);
    }
    return failed_with(EBUSY, "find free loop device for disk", path);
}

int mount_disk(const char *image_path, const char *target) {
    int image = open(image_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (image < 0) {
        return failed("open disk", image_path);
    }
    if (refuse_attached(image, image_path) < 0) {
        return -1;
    }
    char device_path[MAX_DEVICE_PATH];
    if (attach_image(image, image_path, device_path) < 0) {
        return -1;
    }
    /* Nobody works on the disk itself; what the overlay above it allows is the overlay's matter. */
    if (mount(device_path, target, "ext4", MS_NODEV | MS_NOSUID | MS_NOEXEC | MS_NOATIME,
              mount_options) < 0) {
        return failed("mount disk", image_path);
    }
    return 0;
}

/*
 * Waits until an image that was unmounted is let go, and puts it on the host's disk. Unmounting
 * detaches, so the last writes may still be under way; the loop device drops its lock of the image
 * after the last of them. When this returns 0, a power cut takes nothing away.
 */
int settle_disk(const char *image_path) {
    int image = open(image_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (image < 0) {
        return failed("open disk", image_path);
    }
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; flock(image, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK) {
            return failed("lock disk", image_path);
        }
        if (i >= SETTLE_MILLISECONDS) {
            return failed_with(EBUSY, "settle disk, it is in use", image_path);
        }
        nanosleep(&pause, NULL);
    }
    return fsync(image) < 0 ? failed("write disk", image_path) : 0;
}
