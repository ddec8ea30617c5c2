@NullMarked
package dev.hopx.guest;

import org.jspecify.annotations.NullMarked;
