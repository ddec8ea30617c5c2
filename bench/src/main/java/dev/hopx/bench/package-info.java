@NullMarked
package dev.hopx.bench;

import org.jspecify.annotations.NullMarked;
