@NullMarked
package dev.hopx.control;

import org.jspecify.annotations.NullMarked;
