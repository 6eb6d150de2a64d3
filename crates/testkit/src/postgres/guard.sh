# Stops a Postgres server and removes its folder once no test uses it: sh guard.sh FOLDER SECONDS
#
# Standard input is a pipe that every user of the server holds open for writing. The system closes it for a test that
# is killed, so nothing is left running, and there is no lock to go stale. A user of a shared server writes a line as it
# joins; the server then stays for SECONDS after its last user, at most twice that. SIGTERM ends that time early.
folder=$1
seconds=$2
trap 'seconds=' TERM
echo $$ > "$folder/guard.pid"

# `read` fails when the last user has left. It runs in this shell: a child would keep the pipe open if the guard is killed.
joined=yes
while [ -n "$joined" ] && [ -n "$seconds" ]; do
    joined=
    while read -r line; do joined=$line; done
    [ -n "$joined" ] || break
    sleep "$seconds" &
    wait $!
    kill $! 2>/dev/null
done
# From here on no test can join, and those that just did are waited for.
rm -f "$folder/users"
while read -r line; do :; done

# The number in the file of a killed server may belong to another process by now. A server works in its data folder.
runs() {
    [ -e "$folder/data/postmaster.pid" ] || return 1
    if [ -e /proc/self/cwd ]; then
        [ "$(readlink "/proc/$server/cwd")" = "$folder/data" ]
    else
        kill -0 "$server" 2>/dev/null
    fi
}
server=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)
turns=100
while runs && [ "$turns" -gt 0 ]; do
    # Again in each turn: a server that has only begun to start may not listen to the first.
    kill -QUIT "$server" 2>/dev/null
    sleep 0.1
    turns=$((turns - 1))
done
! runs || kill -KILL "$server" 2>/dev/null
rm -rf "$folder"
