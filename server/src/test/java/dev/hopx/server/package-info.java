@NullMarked
package dev.hopx.server;

import org.jspecify.annotations.NullMarked;
