# What other users and terminals get to see. The clauses are run by limits.sh.

check 'With --allow-other, modes and owners are those of the store, and private stays private' \
	'^600 1234:1234 mnt/private.npy
^700 1234:1234 mnt/closed
^400 0:0 mnt/.zarrfs/status.json
^[^ ]*: private.npy: Permission denied
^[^ ]*: closed/a.npy: Permission denied
^[^ ]*: .zarrfs/status.json: Permission denied
^its owner reads it' root setpriv <<'END'
zarrfs create s.zarr private --shape 4 --dtype u1
zarrfs create s.zarr closed/a --shape 4 --dtype u1
chmod 600 s.zarr/private/zarr.json; chmod 700 s.zarr/closed
chown -R 1234:1234 s.zarr/private s.zarr/closed
mkdir mnt; zarrfs mount --allow-other s.zarr mnt
stat -c '%a %u:%g %n' mnt/private.npy mnt/closed mnt/.zarrfs/status.json
cd mnt; setpriv --reuid 65534 --regid 65534 --clear-groups \
	cat private.npy closed/a.npy .zarrfs/status.json || true
setpriv --reuid 1234 --regid 1234 --clear-groups cat private.npy closed/a.npy > ../read
test -s ../read; echo its owner reads it
END

check 'Without --allow-other, nobody else comes in' \
	'cat: mnt/a.npy: Permission denied' root setpriv <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1; mkdir mnt; zarrfs mount s.zarr mnt
setpriv --reuid 65534 --regid 65534 --clear-groups cat mnt/a.npy || true
END

check '-o umask,uid,gid choose other modes and owners' '^640 1234:5678 mnt/a.npy
^750 1234:5678 mnt/g$' root <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1; zarrfs create s.zarr g --group
mkdir mnt; zarrfs mount -o allow_other,umask=027,uid=1234,gid=5678 s.zarr mnt
stat -c '%a %u:%g %n' mnt/a.npy mnt/g
END

check 'Through --allow-other, other users remove what rm -r removes in the store, and no more' \
	'^rm: .*twin/theirs.*: Permission denied
^rm: .*mnt/theirs.*: Permission denied
^both removed mine
^theirs is there' root setpriv <<'END'
for name in theirs mine; do zarrfs create s.zarr $name --shape 4 --dtype u1; done
chmod 777 s.zarr; chmod 755 s.zarr/theirs; chown -R 65534 s.zarr/mine
chmod 666 s.zarr/*/zarr.json
head -c 4 /dev/zero > s.zarr/theirs/c; cp -a s.zarr twin
mkdir mnt; zarrfs mount --allow-other s.zarr mnt
as="setpriv --reuid 65534 --regid 65534 --clear-groups"
$as rm -r twin/theirs || true
$as rm -f mnt/theirs.npy mnt/theirs.raw mnt/theirs.json || true
$as rm -r twin/mine; $as rm mnt/mine.npy mnt/mine.raw mnt/mine.json; test ! -e s.zarr/mine
echo both removed mine
test -e s.zarr/theirs/zarr.json; echo theirs is there
END

check 'Replacing an object keeps its mode, owner and extended attributes' \
	'^640 1234:5678 s.zarr/a/c/0
^600 1234:5678 s.zarr/a/zarr.json
user.mark="kept"
^new$' root setfattr <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1 --codecs none; mkdir mnt; zarrfs mount s.zarr mnt
printf 'old!' > mnt/a.raw
chmod 640 s.zarr/a/c/0; chmod 600 s.zarr/a/zarr.json
chown 1234:5678 s.zarr/a/c/0 s.zarr/a/zarr.json; setfattr -n user.mark -v kept s.zarr/a/c/0
inode=$(stat -c %i s.zarr/a/c/0)
printf 'new\n' | dd of=mnt/a.raw conv=notrunc status=none
setfattr -n user.zarr.attr.units -v K mnt/a.npy
stat -c '%a %u:%g %n' s.zarr/a/c/0 s.zarr/a/zarr.json; getfattr -d s.zarr/a/c/0; cat s.zarr/a/c/0
test $inode != $(stat -c %i s.zarr/a/c/0)
END

check 'umount --force by root ends no process that the mount names and that does not serve it' \
	'mnt is unmounted
^sleep lives' root unshare fsfreeze mkfs.ext4 <<'END'
mkdir disk mnt; truncate -s 64M image; mkfs.ext4 -q image; mount -o loop image disk
zarrfs create disk/s.zarr a --shape 4194304 --dtype u1
sleep 600 & victim=$!
unshare --pid --fork sh -c "echo $((victim - 1)) > /proc/sys/kernel/ns_last_pid
	zarrfs mount --foreground disk/s.zarr mnt & wait" & sleep 1
echo the mount names $(grep pid mnt/.zarrfs/status.json), sleep is $victim
fsfreeze -f disk; head -c 1M /dev/urandom | dd of=mnt/a.raw conv=notrunc status=none & sleep 1
zarrfs umount --force --timeout 2s mnt || echo exit $?
kill -0 $victim; echo sleep lives
fsfreeze -u disk; sleep 1
END

# hostile are commands that make names with an escape, a line break and a mark of direction.
hostile() {
	cat <<'END'
name=$(printf 'x\033[31m\nlevel=ERROR\342\200\256y'); mkdir mnt
zarrfs create s.zarr plain --shape 2 --dtype u1 --dimension-names "$(printf 'x\033[31m')" \
	--attributes '{"\u001b[31m\n\u202e": "\u001b[31m\n\u202e"}'
mkdir -p "s.zarr/$name"; cp s.zarr/plain/zarr.json "s.zarr/$name/"
printf '{' > s.zarr/plain/.zarray
END
}

check 'Names, attributes, dimension names and paths reach no terminal raw' \
	'%1B
plain
^no control characters' < <(hostile; cat <<'END'
zarrfs mount --log $PWD/log s.zarr mnt
(ls -R mnt; zarrfs info s.zarr; zarrfs info s.zarr plain; zarrfs info s.zarr "$name"
zarrfs tree s.zarr; zarrfs tree "nothing$name"; zarrfs info s.zarr "nothing$name"
zarrfs mount s.zarr "nothing$name"; cp s.zarr/plain/.zarray "mnt/$name.json"
cat "mnt/$name.npy"; zarrfs status mnt; zarrfs errors mnt; zarrfs umount mnt) > said 2>&1 || true
grep -v -a '^c[ap]t*:' said | LC_ALL=C grep -a -n -e $'\033' -e $'\342\200\256' -e '^level=' &&
	exit 1; cat -v said | tail -n 30; echo no control characters
END
)

check 'They reach no line of the log raw' \
	'^no control characters' < <(hostile; cat <<'END'
zarrfs mount --log $PWD/log --log-level debug s.zarr mnt
mkdir "mnt/$name.npy" || true
for file in mnt/*; do
	printf '{' > "$file" || true; cat "$file" > /dev/null || true
done 2> /dev/null
touch "mnt/$name.txt"; sleep 4; zarrfs umount mnt 2> /dev/null
LC_ALL=C grep -a -n -e $'\033' -e $'\342\200\256' -e $'\177' -e '^level=' log && exit 1
tail -n 3 log; echo no control characters
END
)
