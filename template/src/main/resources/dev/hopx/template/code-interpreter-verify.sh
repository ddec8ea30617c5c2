set -eu
export HOME=/root
test -d /workspace
test -d /.hopx
test ! -e /usr/lib/python3*/EXTERNALLY-MANAGED
python3 - <<'PY'
import importlib, sys
assert sys.version_info >= (3, 11), "Python is older than 3.11"
print("python=%d.%d.%d" % sys.version_info[:3])
for name in ("pandas numpy matplotlib scipy sklearn requests httpx flask fastapi bs4 plotly seaborn "
             "IPython ipykernel jupyter_client pip venv").split():
    module = importlib.import_module(name)
    if name == "flask":
        import importlib.metadata
        version = importlib.metadata.version(name)
    else:
        version = getattr(module, "__version__", "present")
    print("%s=%s" % (name, version))
PY
test "$(python --version)" = "$(python3 --version)"
node -e 'if (+process.versions.node.split(".")[0] < 20) throw new Error("Node is older than 20"); console.log("node=" + process.versions.node)'
echo "npm=$(npm --version)"
go_version="$(go env GOVERSION)"
case "$go_version" in
  go1.2[1-9]* | go1.[3-9][0-9]*) echo "go=${go_version#go}" ;;
  *) echo "Go is older than 1.21: $go_version" >&2; exit 1 ;;
esac
echo "bash=$BASH_VERSION"
echo "git=$(git --version | cut -d ' ' -f 3)"
for tool in curl wget vim nano ps free ping ip less zip unzip file gcc g++ make pip pip3; do
  command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
