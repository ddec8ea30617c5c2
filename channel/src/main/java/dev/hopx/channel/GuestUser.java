package dev.hopx.channel;

/** Identity inside the guest. */
public record GuestUser(int uid, int gid) {
  public static final GuestUser ROOT = new GuestUser(0, 0);

  public GuestUser {
    if (uid < 0 || gid < 0) {
      throw new IllegalArgumentException("uid and gid must not be negative");
    }
  }
}
