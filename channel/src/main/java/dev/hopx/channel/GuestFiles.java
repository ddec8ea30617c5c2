package dev.hopx.channel;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Files of a guest. Paths are absolute guest paths; none is ever resolved on the host. All failures
 * are {@link GuestException}s whose kind says what happened.
 */
public interface GuestFiles {
  FileStat stat(String path, boolean followLinks);

  /** Gives each entry of the directory to {@code entries} as it arrives (flat memory). */
  FileStat list(String path, Consumer<FileStat> entries);

  /** Opens a regular file; {@code length} empty reads to the end. Close it to stop early. */
  GuestFileContent read(String path, long offset, OptionalLong length);

  /**
   * Opens a file for atomic writing: nothing is visible before {@link GuestFileSink#commit()}.
   *
   * @param mode permission bits; empty keeps those of an existing file, else 0644
   * @param createParents missing directories are made (0755)
   * @param exclusive an existing file is {@code EXISTS}
   */
  GuestFileSink write(String path, OptionalInt mode, boolean createParents, boolean exclusive);

  FileStat makeDirectory(String path, int mode, boolean createParents);

  void remove(String path, boolean recursive);

  FileStat rename(String from, String to, boolean replace);

  FileStat changeMode(String path, int mode);

  /** Events below a directory until closed. */
  GuestWatch watch(String path, boolean recursive);

  /** A regular file's metadata and bytes. */
  interface GuestFileContent extends AutoCloseable {
    FileStat stat();

    InputStream content();

    @Override
    void close();
  }

  /** A file being written. Closing without a commit leaves no trace of it. */
  interface GuestFileSink extends AutoCloseable {
    OutputStream content();

    /** Ends the content, waits until the guest has put it in place, and gives its metadata. */
    FileStat commit();

    @Override
    void close();
  }

  /** A running watch. */
  interface GuestWatch extends AutoCloseable {
    /** Waits for the next event; {@link GuestException} {@code LOST} when the guest is gone. */
    FileEvent take() throws InterruptedException;

    @Override
    void close();
  }
}
