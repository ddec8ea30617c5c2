@NullMarked
package dev.hopx.template;

import org.jspecify.annotations.NullMarked;
