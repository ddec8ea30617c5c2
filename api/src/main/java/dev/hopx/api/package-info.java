@NullMarked
package dev.hopx.api;

import org.jspecify.annotations.NullMarked;
