@NullMarked
package dev.hopx.compat;

import org.jspecify.annotations.NullMarked;
