# SPDX-License-Identifier: Apache-2.0
# Completion of the braid command for bash.
_braid() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options=
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "plan run tune report simulate replay diff kernel record devices version help" -- "$word")
        return
    fi
    case $before in
    --device) mapfile -t COMPREPLY < <(compgen -W "cpu cuda hip" -- "$word"); return ;;
    --most) mapfile -t COMPREPLY < <(compgen -S = -W "nodes edges subgraphs members attributes accesses arguments blocks text" -- "$word"); return ;;
    --against) mapfile -t COMPREPLY < <(compgen -W "serial cpu cuda hip" -- "$word"); return ;;
    --type) mapfile -t COMPREPLY < <(compgen -W "float32 float64" -- "$word"); return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W "auto streams graph" -- "$word"); return ;;
    --lanes | --copy-cost | --copy-rate | --edge-cost | --start-cost | --call-cost | --copy-bytes | --memory | --from | --faster | --limit | --sync-cost | --frames | --workers | --time-scale | --budget | --tolerance | --iterations) COMPREPLY=(); return ;;
    --kernels | --tuned | --plan | --save-plan | --places | --costs | --dot | --svg | --trace | --report | --out | --json) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    esac
    case $command in
    plan) options="--lanes --sync-cost --start-cost --call-cost --costs --places --copy-cost --copy-rate --edge-cost --most --table --dot --svg --trace --json --verbose --help" ;;
    run) options="--frames --lanes --device --places --workers --mode --time-scale --most --tuned --plan --save-plan --costs --profile --svg --trace --report --json --help" ;;
    tune) options="--budget --lanes --device --workers --time-scale --most --out --help" ;;
    report) options="--out --json --frame --unwatched --setter --lanes --sync-cost --most --help" ;;
    simulate) options="--lanes --faster --sync-cost --places --copy-cost --copy-rate --edge-cost --most --ranks --pattern --network --workers --hosts --svg --json --help" ;;
    replay) options="--device --against --audit --kernels --lanes --iterations --tolerance --type --json --help" ;;
    diff) options="--limit --help" ;;
    kernel) options="--json --help" ;;
    record) options="--out --from --frames --marks --frames-by-range --memory --times --copy-bytes --help" ;;
    devices) options="--json --help" ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [ "$command" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "plan run tune report simulate replay diff kernel record devices files pictures status" -- "$word")
    elif [ "$command" = replay ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [ "$command" = diff ]; then
        mapfile -t COMPREPLY < <(compgen -f -X '!*.json' -- "$word"; compgen -d -S / -- "$word")
    elif [ "$command" = kernel ]; then
        mapfile -t COMPREPLY < <(compgen -f -X '!*.ptx' -- "$word"; compgen -d -S / -- "$word")
    elif [ "$command" = plan ] || [ "$command" = run ] || [ "$command" = report ] ||
        [ "$command" = tune ] || [ "$command" = simulate ]; then
        mapfile -t COMPREPLY < <(compgen -f -X '!*.@(dot|gv)' -- "$word"; compgen -d -S / -- "$word")
    fi
}
complete -o filenames -F _braid braid
