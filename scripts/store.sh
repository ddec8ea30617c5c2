# shellcheck shell=bash
# Looks into the template store without Java.

# template_root STORE NAME: root file system of the newest build of a template.
template_root() {
    local directory newest=
    for directory in "$1"/sha256-*; do
        if [ -e "$directory/complete" ] && grep -q "\"name\" : \"$2\"" "$directory/recipe.json"; then
            if [ -z "$newest" ] || [ "$directory" -nt "$newest" ]; then newest=$directory; fi
        fi
    done
    [ -n "$newest" ] || return 1
    printf '%s' "$newest/rootfs"
}

# stored_templates STORE: "NAME ready" lines.
stored_templates() {
    local directory
    for directory in "$1"/sha256-*; do
        [ ! -e "$directory/complete" ] ||
            sed -n 's/^ *"name" : "\(.*\)".*/\1 ready/p' "$directory/recipe.json"
    done | sort -u
}
