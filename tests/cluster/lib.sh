# Sourced by the scripts beside it, which set $dir: the folder of one cluster.
# Starts, waits for and stops that cluster's processes. Each is recorded in
# $dir/pid with its start time, so that a reused pid is never signalled.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${POINTSMAN_TOOLS:-$HOME/.cache/pointsman/tools}
service_range=10.96.0.0/16 # routed nowhere, but within a node's own network namespace
service_api=10.96.0.1
service_dns=10.96.0.10

die() { echo "${0##*/}: $*" >&2; exit 1; }

tool() { # tool NAME: where that program is; envtest's own folder of them comes first
  if [[ -n ${KUBEBUILDER_ASSETS:-} && -x $KUBEBUILDER_ASSETS/$1 ]]; then
    echo "$KUBEBUILDER_ASSETS/$1"
  else
    echo "$tools/$1"
  fi
}

need() { # need TOOL...: stop early, and say how to get what is missing
  local name
  for name in "$@"; do
    [[ -x $(tool "$name") ]] || die "$name is not in $tools: run build-tools first"
  done
}

start_time() { # start_time PID: of a process that has not ended (one that nobody reaped yet has)
  local stat fields
  { stat=$(< "/proc/$1/stat"); } 2>/dev/null || return 0
  read -ra fields <<< "${stat##*) }" # from the third field on; the second may hold spaces
  if [[ ${fields[0]} != [ZX] ]]; then echo "${fields[19]}"; fi
}

start() { # start NAME COMMAND...: run it in the background, log it, record it
  local name=$1
  shift
  printf '%s\0' "$@" > "$dir/command/$name"
  setsid "$@" >> "$dir/log/$name.log" 2>&1 < /dev/null &
  echo "$! $(start_time $!)" > "$dir/pid/$name"
  disown $!
}

start_again() { # start_again NAME: with the command, and so the ports and the data, it had
  local command
  mapfile -d '' command < "$dir/command/$1"
  start "$1" "${command[@]}"
}

running() { # running NAME: print its pid if that very process still runs
  local pid started
  read -r pid started 2>/dev/null < "$dir/pid/$1" || return 1
  [[ -n $started && $(start_time "$pid") == "$started" ]] || return 1
  echo "$pid"
}

stop() { # stop NAME...: TERM all, then KILL what is left after 2 seconds
  local name pid tries
  for name in "$@"; do
    if pid=$(running "$name"); then kill -TERM "$pid" 2>/dev/null || true; fi
  done
  for name in "$@"; do
    for ((tries = 0; tries < 20; tries++)); do
      running "$name" > /dev/null || break
      sleep 0.1
    done
    if ((tries == 20)) && pid=$(running "$name"); then kill -KILL "$pid" 2>/dev/null || true; fi
    rm -f "$dir/pid/$name"
  done
}

wait_for() { # wait_for SECONDS NAME COMMAND...: until it succeeds, while process NAME runs
  local seconds=$1 name=$2 until
  shift 2
  until=$((SECONDS + seconds))
  until "$@" > /dev/null 2>&1; do
    running "$name" > /dev/null || { tail -n 20 "$dir/log/$name.log" >&2; die "$name stopped by itself"; }
    ((SECONDS < until)) || { tail -n 20 "$dir/log/$name.log" >&2; die "$name not ready in $seconds s ($*)"; }
    sleep 0.1
  done
}

free_ports() { # free_ports N: below the ephemeral range, so that no client socket takes one meanwhile
  local port left=$1
  while ((left > 0)); do
    port=$((20000 + RANDOM % 10000))
    [[ " ${taken-} " != *" $port "* ]] || continue
    taken+=" $port"
    if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue; fi
    echo "$port"
    left=$((left - 1))
  done
}

token() { awk -F, -v user="$1" '$2 == user { print $1 }' "$dir/pki/tokens.csv"; }

kubeconfig() { # kubeconfig USER: how that user reaches this cluster
  cat << YAML
apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:$(cat "$dir/port")
    certificate-authority-data: $(base64 -w0 "$dir/pki/ca.crt")
users:
- name: $1
  user: {token: $(token "$1")}
contexts:
- name: test
  context: {cluster: test, user: "$1"}
YAML
}

get() { # get PATH: ask the API server as its administrator
  KUBECACHEDIR="$dir/kubectl-cache" "$(tool kubectl)" --kubeconfig "$dir/kubeconfig" --request-timeout 5s get --raw "$1"
}

seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }
