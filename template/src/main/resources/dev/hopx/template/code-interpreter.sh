set -eu

# The sandbox is the virtual environment: "pip install" works without one (dpkg's path-exclude keeps
# the marker away when Python is upgraded, this removes the one just installed, if any).
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED
cat > /etc/pip.conf <<'CONF'
[global]
root-user-action = ignore
disable-pip-version-check = true
CONF

cat > /etc/npmrc <<'CONF'
prefix=/usr/local
update-notifier=false
fund=false
CONF

# What the first run of every sandbox would otherwise compute again.
export HOME=/root
echo "I: compiling Go's standard packages"
work=/tmp/hopx-warm
mkdir -p "$work"
cat > "$work/main.go" <<'GO'
package main

import (
	_ "archive/zip"
	_ "bufio"
	_ "bytes"
	_ "compress/gzip"
	_ "container/heap"
	_ "container/list"
	_ "context"
	_ "crypto/md5"
	_ "crypto/rand"
	_ "crypto/sha256"
	_ "crypto/sha512"
	_ "database/sql"
	_ "encoding/base64"
	_ "encoding/binary"
	_ "encoding/csv"
	_ "encoding/hex"
	_ "encoding/json"
	_ "encoding/xml"
	_ "errors"
	_ "flag"
	"fmt"
	_ "hash/fnv"
	_ "html/template"
	_ "io"
	_ "log"
	_ "log/slog"
	_ "maps"
	_ "math"
	_ "math/big"
	_ "math/cmplx"
	_ "math/rand"
	_ "math/rand/v2"
	_ "net"
	_ "net/http"
	_ "net/http/httptest"
	_ "net/url"
	_ "os"
	_ "os/exec"
	_ "os/signal"
	_ "path"
	_ "path/filepath"
	_ "reflect"
	_ "regexp"
	_ "runtime/debug"
	_ "slices"
	_ "sort"
	_ "strconv"
	_ "strings"
	_ "sync"
	_ "sync/atomic"
	_ "testing"
	_ "text/tabwriter"
	_ "text/template"
	_ "time"
	_ "unicode"
	_ "unicode/utf8"
)

func main() { fmt.Println("warm") }
GO
(cd "$work" && go run main.go)
# vet's tool set and a module build use other keys of the cache than a single file.
(cd "$work" && go mod init warm >/dev/null 2>&1 && go build -o warm . && go vet . )
rm -rf "$work"
# Go drops what was unused for five days; a template is older than that soon. Files of the future stay.
find /root/.cache/go-build -type f -exec touch -d 2099-01-01 {} +

echo "I: building the font cache"
if command -v fc-cache >/dev/null; then fc-cache -f; fi
python3 -c 'import matplotlib.font_manager, matplotlib.pyplot' >/dev/null

echo "I: byte-compiling Python"
python3 -m compileall -q /usr/lib/python3/dist-packages >/dev/null 2>&1 || true
