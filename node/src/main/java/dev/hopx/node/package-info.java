@NullMarked
package dev.hopx.node;

import org.jspecify.annotations.NullMarked;
