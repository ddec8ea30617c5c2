@NullMarked
package dev.hopx.http;

import org.jspecify.annotations.NullMarked;
