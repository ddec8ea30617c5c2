@NullMarked
package dev.hopx.channel;

import org.jspecify.annotations.NullMarked;
