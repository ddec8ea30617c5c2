@NullMarked
package dev.hopx.agent;

import org.jspecify.annotations.NullMarked;
