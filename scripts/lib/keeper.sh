# Keeps one database server: runs it, and stops it when our standard input ends. It ends when the process that holds
# its other side does, however that happens, so a server never outlives the command that started it. A shell, because
# it survives what kills every node process, and weighs nothing.
#
# $1: the folder to remove afterwards, or nothing   $2: the log   $3: the signal that stops the server   $4…: the server
remove=$1 log=$2 stop=$3
shift 3
exec 3<&0
"$@" </dev/null >"$log" 2>&1 3<&- &
server=$!
{ read -r _; kill -"$stop" $server; } <&3 3<&- >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait $server
code=$?
kill $watch 2>/dev/null
[ -z "$remove" ] || rm -rf -- "$remove"
exit $code
