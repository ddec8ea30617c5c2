package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class SlotsTest {
  private final Slots slots = new Slots("t-", Subnet.parse("10.0.0.0/29"), 65_536);

  @Test
  void slotsShareNothing() {
    assertThat(slots.take()).isEqualTo(new Slot(0, new IdRange(65_536), "10.0.0.1", "t-0"));
    assertThat(slots.take()).isEqualTo(new Slot(1, new IdRange(131_072), "10.0.0.2", "t-1"));
  }

  @Test
  void aSlotGivenBackComesLast() {
    Slot first = slots.take();
    slots.giveBack(first);
    for (int number = 1; number < 6; number++) {
      assertThat(slots.take().number()).isEqualTo(number);
    }
    assertThat(slots.take()).isEqualTo(first);
  }

  @Test
  void saysWhenAllAreTaken() {
    for (int i = 0; i < slots.count(); i++) {
      slots.take();
    }
    assertThatThrownBy(slots::take)
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("All 6 sandbox slots")
        .hasMessageContaining("10.0.0.0/29");
  }

  @Test
  void aReservedSlotIsNotGivenOut() {
    slots.reserve(new Slot(0, new IdRange(65_536), "10.0.0.1", "t-0"));
    for (int i = 1; i < slots.count(); i++) {
      assertThat(slots.take().number()).isNotZero();
    }
    assertThatThrownBy(slots::take).isInstanceOf(NodeException.class);
  }

  @Test
  void rangesEndBelowTwoToThe31() {
    Slots few = new Slots("t-", Subnet.parse("10.0.0.0/16"), (1L << 31) - 2 * IdRange.SIZE);
    assertThat(few.count()).isEqualTo(2);
    few.take();
    assertThat(few.take().ids().base() + IdRange.SIZE - 1).isEqualTo(IdRange.HIGHEST_ID);
  }
}
